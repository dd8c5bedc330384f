// SPDX-License-Identifier: Apache-2.0
#include "seats.h"

#include <algorithm>

namespace weft::launch {
namespace {

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    out.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

bool is_same(const std::string& name, const Host& host) {
  return name == host.name || (is_this_machine(name) && is_this_machine(host.name));
}

}  // namespace

Seating::Seating(const Options& options, int started, int places)
    : options_(options),
      started_(started),
      taken_(static_cast<std::size_t>(std::max(0, places - started))) {
  for (const Host& host : options.hosts) room_.push_back(host.slots.value_or(1) - host.ranks);
  if (!room_.empty()) return;
  room_.assign(static_cast<std::size_t>(options.pretended_nodes), 0);
  for (const std::int32_t node : options.node_of()) --room_[static_cast<std::size_t>(node)];
}

/// The nodes that a command's info key host names.
std::vector<bool> Seating::allowed(const std::string& hosts) const {
  std::vector<bool> out(room_.size(), hosts.empty());
  if (hosts.empty()) return out;
  std::string all;
  for (const Host& host : options_.hosts) all += (all.empty() ? "" : ", ") + host.name;
  for (const std::string& name : words_of(hosts)) {
    bool found = false;
    for (std::size_t node = 0; node < out.size(); ++node) {
      const bool is_it =
          options_.hosts.empty() ? is_this_machine(name) : is_same(name, options_.hosts[node]);
      if (is_it) out[node] = found = true;
    }
    if (!found)
      throw Failure{1,
                    "info key host is \"" + hosts + "\"; ranks can be spawned on " +
                        (all.empty() ? "this host (localhost)" : "the job's hosts (" + all + ")") +
                        " only"};
  }
  return out;
}

void Seating::spread(const memory::Command& command, std::vector<int>& room,
                     std::vector<std::int32_t>& node_of) const {
  const std::vector<bool> may = allowed(command.hosts);
  std::vector<int> count(room.size());
  for (int i = 0; i < command.ranks; ++i) {
    std::size_t best = room.size();
    for (std::size_t node = 0; node < room.size(); ++node)
      if (may[node] && (best == room.size() || (room[best] <= 0 && room[node] > room[best])))
        best = node;
    --room[best];
    ++count[best];
  }
  for (std::size_t node = 0; node < count.size(); ++node)
    node_of.insert(node_of.end(), static_cast<std::size_t>(count[node]),
                   static_cast<std::int32_t>(node));
}

Seats Seating::reserve(const std::vector<memory::Command>& commands) {
  std::size_t n = 0;
  for (const memory::Command& command : commands) n += static_cast<std::size_t>(command.ranks);
  if (n == 0) throw Failure{1, "its order to spawn ranks cannot be read"};
  const auto at = std::search_n(taken_.begin(), taken_.end(), n, false);
  if (at == taken_.end())
    throw Failure{1, "there are no " + std::to_string(n) + " places in a row for more ranks, of " +
                         std::to_string(taken_.size()) +
                         "; set WEFT_SPAWN_PLACES=NUMBER where mpiexec is called"};
  std::vector<int> room = room_;
  Seats out;
  for (const memory::Command& command : commands) spread(command, room, out.node_of);
  room_ = std::move(room);
  std::fill_n(at, n, true);
  out.world = {started_ + static_cast<int>(at - taken_.begin()), static_cast<int>(n)};
  return out;
}

void Seating::free(const Seats& seats) {
  std::fill_n(taken_.begin() + (seats.world.first - started_), seats.world.size, false);
  for (const std::int32_t node : seats.node_of) ++room_[static_cast<std::size_t>(node)];
}

}  // namespace weft::launch
