// SPDX-License-Identifier: Apache-2.0
#include "option_takers.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <memory>
#include <sstream>

#include "values.h"

namespace weft::launch {
namespace {

struct Host {
  std::string name;
  std::optional<int> slots;
};

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

bool is_this_machine(const std::string& name) {
  char own[256] = "";
  gethostname(own, sizeof own - 1);
  const auto brief = [](const std::string& host) { return host.substr(0, host.find('.')); };
  return name == "localhost" || name == own || brief(name) == brief(own) ||
         name.rfind("127.", 0) == 0 || is_own_address(name);
}

/// "node", "node:4"; an address of IPv6 has colons of its own.
Host read_host(const Given& given, const std::string& text) {
  const std::size_t colon = text.find(':');
  if (colon == std::string::npos || text.find(':', colon + 1) != std::string::npos)
    return {text, {}};
  return {text.substr(0, colon), take_number(given.name, "after a host's colon a number of ranks",
                                             1, most_ranks, text.substr(colon + 1))};
}

void add(Section& section, const Given& given, const Host& host) {
  if (!is_this_machine(host.name))
    mistake("weft runs on this machine only, and " + shown(host.name) + " is another one; leave " +
            given.name + " out");
  if (host.slots) section.slots = section.slots.value_or(0) + *host.slots;
}

}  // namespace

void take_hosts(Section& section, const Given& given) {
  for (const std::string& text : take_list(given.name, given.value()))
    add(section, given, read_host(given, text));
}

void take_host_file(Section& section, const Given& given) {
  std::ifstream in(given.value());
  if (!in) mistake(given.name + ": cannot read the host file " + shown(given.value()));
  int hosts = 0;
  for (std::string line; std::getline(in, line); ++hosts) {
    std::istringstream words(line.substr(0, line.find('#')));
    std::string word;
    if (!(words >> word)) {
      --hosts;
      continue;
    }
    Host host = read_host(given, word);
    while (words >> word)
      if (word.rfind("slots=", 0) == 0)
        host.slots = take_number(given.name, "after slots= a number of ranks", 1, most_ranks,
                                 word.substr(6));
    add(section, given, host);
  }
  if (hosts == 0)
    mistake(given.name + ": the host file " + shown(given.value()) + " names no host");
}

}  // namespace weft::launch
