// SPDX-License-Identifier: Apache-2.0
#include "hosts.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "option_table.h"
#include "values.h"

namespace weft::launch {
namespace {

bool is_own_address(const std::string& text) {
  in6_addr wanted{};
  const int family = text.find(':') != std::string::npos ? AF_INET6 : AF_INET;
  if (inet_pton(family, text.c_str(), &wanted) != 1) return false;
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return false;
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(all, freeifaddrs);
  for (const ifaddrs* at = all; at != nullptr; at = at->ifa_next) {
    if (at->ifa_addr == nullptr || at->ifa_addr->sa_family != family) continue;
    const void* address =
        family == AF_INET
            ? static_cast<const void*>(&reinterpret_cast<sockaddr_in*>(at->ifa_addr)->sin_addr)
            : &reinterpret_cast<sockaddr_in6*>(at->ifa_addr)->sin6_addr;
    if (std::memcmp(address, &wanted, family == AF_INET ? sizeof(in_addr) : sizeof wanted) == 0)
      return true;
  }
  return false;
}

/// It becomes a word of the command that starts an agent there.
void check_name(const std::string& option, const std::string& name) {
  if (name.empty() || name[0] == '-' || name.find_first_of(" \t'\"\\$`;&|<>()*?!") != name.npos)
    unexpected(option, "names of hosts", name);
}

}  // namespace

bool is_this_machine(const std::string& name) {
  char own[256] = "";
  gethostname(own, sizeof own - 1);
  const auto is_address = [](const std::string& host) {
    return host.find_first_not_of("0123456789.") == std::string::npos;
  };
  const auto brief = [](const std::string& host) { return host.substr(0, host.find('.')); };
  return name == "localhost" || name == own || (!is_address(name) && brief(name) == brief(own)) ||
         name.rfind("127.", 0) == 0 || is_own_address(name);
}

Host read_host(const std::string& option, const std::string& text) {
  const std::size_t colon = text.find(':');
  const bool is_ipv6 = colon != text.npos && text.find(':', colon + 1) != text.npos;
  Host host{text.substr(0, is_ipv6 ? text.npos : colon), {}, 0};
  check_name(option, host.name);
  if (colon != text.npos && !is_ipv6)
    host.slots = take_number(option, "after a host's colon a number of ranks", 1, most_ranks,
                             text.substr(colon + 1));
  return host;
}

std::vector<Host> read_hosts(const std::string& option, const std::string& text) {
  std::vector<Host> out;
  for (const std::string& word : take_list(option, text)) out.push_back(read_host(option, word));
  return out;
}

std::vector<Host> read_host_file(const std::string& option, const std::string& path) {
  std::ifstream in(path);
  if (!in) mistake(option + ": cannot read the host file " + shown(path));
  std::vector<Host> out;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) continue;
    out.push_back(read_host(option, word));
    while (words >> word)
      if (word.rfind("slots=", 0) == 0)
        out.back().slots =
            take_number(option, "after slots= a number of ranks", 1, most_ranks, word.substr(6));
  }
  if (out.empty()) mistake(option + ": the host file " + shown(path) + " names no host");
  return out;
}

std::vector<Host> merged(const std::vector<Host>& hosts) {
  std::vector<Host> out;
  for (const Host& host : hosts) {
    const bool is_here = is_this_machine(host.name);
    const auto same = std::find_if(out.begin(), out.end(), [&](const Host& other) {
      return other.name == host.name || (is_here && is_this_machine(other.name));
    });
    if (same == out.end())
      out.push_back(host);
    else if (same->slots || host.slots)
      same->slots = same->slots.value_or(1) + host.slots.value_or(1);
    else
      same->slots = 2;  // named twice, MPICH's way of saying so
  }
  return out;
}

bool are_all_here(const std::vector<Host>& hosts) {
  return std::all_of(hosts.begin(), hosts.end(),
                     [](const Host& host) { return is_this_machine(host.name); });
}

std::int64_t slots_of(const std::vector<Host>& hosts) {
  std::int64_t all = 0;
  for (const Host& host : hosts) all += host.slots.value_or(1);
  return all;
}

void share_out(std::vector<Host>& hosts, int ranks) {
  while (ranks > 0)
    for (Host& host : hosts) {
      const int more = std::min(ranks, host.slots.value_or(1));
      host.ranks += more;
      ranks -= more;
    }
}

}  // namespace weft::launch
