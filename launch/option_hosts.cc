// SPDX-License-Identifier: Apache-2.0
#include "option_takers.h"
#include "values.h"

namespace weft::launch {
namespace {

void add(Section& section, const std::vector<Host>& hosts) {
  section.hosts.insert(section.hosts.end(), hosts.begin(), hosts.end());
}

}  // namespace

void take_hosts(Section& section, const Given& given) {
  add(section, read_hosts(given.name, given.value()));
}

void take_host_file(Section& section, const Given& given) {
  add(section, read_host_file(given.name, given.value()));
}

void take_launch_agent(Section& section, const Given& given) {
  if (given.value().find_first_not_of(" \t") == std::string::npos)
    unexpected(given.name, "a command that runs another one on a host, like ssh", given.value());
  section.options.launch_agent = given.value();
}

}  // namespace weft::launch
