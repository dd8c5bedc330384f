// SPDX-License-Identifier: Apache-2.0
//
// What a run charges: the accesses of weft's code (charged.cc) and of the C library in its place
// (system.cc), to the clock of the fiber that makes them. There is one at a time.
//
// The library is compiled from the same sources as ever, with -fsanitize=thread: the compiler puts
// a call before each access of memory and in place of each atomic operation. The functions called
// are not ThreadSanitizer's but ours. So no line of the library knows of the simulation, and each
// access of its state counts, not only those of locks.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "fibers.h"
#include "machine.h"

namespace weft::simulator {

/// What takes time beside lines that move. Orders of magnitude, as those of model::built_in().
struct Costs {
  double access_ns = 0.5;       // an access that hits, with the instructions around it
  double atomic_ns = 6;         // an atomic read-modify-write that hits
  double pause_ns = 15;         // of a spin loop
  double clock_ns = 25;         // reading it
  double yield_ns = 300;        // sched_yield with nobody else on the core
  double system_call_ns = 400;  // futex
  double wake_ns = 3000;        // from the waker's call until the thread that slept runs
};

enum Phase { outside, issue, wait };  // what the program does: starts operations, waits, neither
inline constexpr int phases = 3;

/// Lines that moved to a rank's cores, by the level of the machine over which they came.
using Moves = std::array<std::array<std::uint64_t, 16>, phases>;

class Simulation {
 public:
  explicit Simulation(const Machine& machine);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;
  /// The one, or nullptr; and only while a fiber runs.
  static Simulation* declared();
  static Simulation* now();

  const Machine& machine() const { return machine_; }
  Fibers& fibers() { return fibers_; }
  const Costs& costs() const { return costs_; }

  /// Before an access by the current fiber.
  void read(const void* at, std::size_t bytes) { access(at, bytes, Access::read); }
  void write(const void* at, std::size_t bytes) { access(at, bytes, Access::write); }
  void modify(const void* at, std::size_t bytes) { access(at, bytes, Access::modify); }
  void fence();
  void copy(void* to, const void* from, std::size_t bytes);
  void spend(double ns) { fibers_.current().now_ns += ns; }
  const Moves& moves(int rank) const { return moves_[static_cast<std::size_t>(rank)]; }

 private:
  enum class Access { read, write, modify };
  void access(const void* at, std::size_t bytes, Access how);
  /// Charges a line; returns the level over which it came.
  int touch(std::uintptr_t line, Access how, bool streamed);
  void stream(const void* at, std::size_t bytes, Access how);

  const Machine& machine_;
  const Costs costs_;
  Lines lines_;
  Fibers fibers_;
  std::vector<Moves> moves_;
};

}  // namespace weft::simulator
