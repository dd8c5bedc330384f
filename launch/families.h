// SPDX-License-Identifier: Apache-2.0
//
// Worlds that ranks spawn, in mpiexec's worker process (Run, run.cc). Owns the orders that ranks
// give, the seats of spawned ranks where all are here, and what is known of each world until its
// last process here has ended: its places, its order, how many processes run. The processes are
// the run's: it starts and kills them when it is told to, and tells when one has ended by itself.
//
// Without an agent orders are decided here. An agent's worker passes them on to mpiexec, and takes
// those that mpiexec has placed (spawn_frames.h).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "frames.h"
#include "orders.h"
#include "seats.h"

namespace weft::launch {

class Families {
 public:
  /// Who has the processes. Does not call back.
  class Parent {
   public:
    /// All of them. "", or why one cannot be started; then none runs.
    virtual std::string start_spawned(std::vector<Process> processes) = 0;
    /// Spawned ones with ranks of a world, at once. How they end is nobody's business.
    virtual void kill_spawned(const memory::World& world) = 0;

   protected:
    ~Parent() = default;
  };
  using Send = std::function<void(FrameKind kind, std::string_view payload)>;

  /// `send`: to mpiexec, by an agent's worker; empty: all ranks are here.
  Families(const Options& options, memory::Job& job, Parent& parent, Send send);

  /// For poll: readable when there are orders; -1: there never are.
  int fd() const { return orders_.fd(); }
  std::vector<std::uint64_t> take() { return orders_.take(); }
  void serve(std::uint64_t order);
  /// A process has ended by itself, whose first rank this is. The last of its world gives the
  /// world's places back.
  void take_end(int rank);
  /// Some run here.
  bool are_there() const { return !families_.empty(); }

 private:
  /// The ranks of one order while some run here.
  struct Family {
    Seats seats;
    std::uint64_t order = 0;
    int running = 0;  // processes
  };

  void pass_on(std::uint64_t at);
  void start_placed(std::uint64_t at);
  void withdraw(std::uint64_t at);
  std::string start(std::uint64_t at, const std::vector<memory::Command>& commands, Seats seats);
  void vacate(const Seats& seats);
  template <class T>
  void send(FrameKind kind, const T& value);

  const Options& options_;
  memory::Job& job_;
  Parent& parent_;
  Send send_;
  Orders orders_;
  Seating seating_;
  std::vector<Family> families_;
};

}  // namespace weft::launch
