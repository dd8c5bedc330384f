// SPDX-License-Identifier: Apache-2.0
#include "simulation.h"

#include <algorithm>

namespace weft::simulator {
namespace {

constexpr std::uintptr_t line_bytes = 64;
constexpr std::uintptr_t most_charged_one_by_one = 512;  // lines of a copy
Simulation* the_one = nullptr;

}  // namespace

Simulation::Simulation(const Machine& machine) : machine_(machine), lines_(machine), moves_(2) {
  the_one = this;
}
Simulation::~Simulation() {
  the_one = nullptr;
}
Simulation* Simulation::declared() {
  return the_one;
}
Simulation* Simulation::now() {
  return the_one != nullptr && the_one->fibers_.inside() ? the_one : nullptr;
}

int Simulation::touch(std::uintptr_t line, Access how, bool streamed) {
  fibers_.settle();
  Fiber& me = fibers_.current();
  const Transfer moved = how == Access::read    ? lines_.read(line, me.core, me.now_ns, streamed)
                         : how == Access::write ? lines_.write(line, me.core, me.now_ns, streamed)
                                                : lines_.modify(line, me.core, me.now_ns);
  me.now_ns = moved.ready_ns;
  if (moved.level == from_nowhere) return moved.level;
  auto& by_level = moves_[static_cast<std::size_t>(me.rank)][static_cast<std::size_t>(me.phase)];
  ++by_level[static_cast<std::size_t>(moved.level)];
  return moved.level;
}

void Simulation::access(const void* at, std::size_t bytes, Access how) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  touch(address / line_bytes, how, false);
  const std::uintptr_t last = (address + bytes - 1) / line_bytes;
  for (std::uintptr_t line = address / line_bytes + 1; line <= last; ++line) touch(line, how, true);
  spend(how == Access::modify ? costs_.atomic_ns : costs_.access_ns);
}

void Simulation::fence() {
  Fiber& me = fibers_.current();
  me.now_ns = std::max(me.now_ns, lines_.drained_ns(me.core)) + costs_.atomic_ns;
}

/// One side of a copy. Of a long one the first line stands for all.
void Simulation::stream(const void* at, std::size_t bytes, Access how) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const std::uintptr_t first = address / line_bytes, last = (address + bytes - 1) / line_bytes;
  const int level = touch(first, how, false);
  const std::uintptr_t charged = std::min(last, first + most_charged_one_by_one);
  for (std::uintptr_t line = first + 1; line <= charged; ++line) touch(line, how, true);
  if (level == from_nowhere) return;
  spend(static_cast<double>(last - charged) * machine_.price(level).b * 1e9);
}

void Simulation::copy(void* to, const void* from, std::size_t bytes) {
  if (bytes == 0) return;
  stream(from, bytes, Access::read);
  stream(to, bytes, Access::write);
  spend(model::lines_of(static_cast<std::int64_t>(bytes)) * model::built_in().copy * 1e9 +
        costs_.access_ns);
}

}  // namespace weft::simulator
