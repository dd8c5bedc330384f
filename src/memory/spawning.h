// SPDX-License-Identifier: Apache-2.0
//
// Orders to spawn: a rank asks the launcher to start ranks. An order lies in the job's memory: who
// asks, what the new ranks have to know of their parents, and what to start. The launcher answers
// in it, and keeps it until the last of the new ranks has ended; they find it by their entry.
//
// Where each node has a memory of its own the launcher is an agent's, which passes the order on to
// mpiexec. mpiexec places the new ranks, and each agent writes a placed order into its memory. The
// names of a job's directory (world/directory.h) are asked for in the same way there.
//
// Orders form a stack, of which the launcher takes all at once; so there is no ABA. Who gives one
// wakes the launcher by a counter on which it sleeps (futex).
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/err.h"
#include "memory/job.h"

namespace weft::memory {

/// Ranks of one program, to be started.
struct Command {
  std::vector<std::string> argv;
  int ranks = 0;
  std::string directory;  // info key wdir; "": the launcher's
  std::string path;       // info key path: directories where programs are looked for first
  std::string mode;       // "process", "thread", "auto"; "": as the ranks of the start
  std::string hosts;      // info key host: where they may run, separated by commas; "": anywhere
};

/// What a launcher is asked for.
/// guest: the number of a guest's place, the same for whoever asks (mpiexec alone).
enum class Ask : std::uint32_t { spawn, add, find, remove, guest };

struct Order {
  /// placed: by mpiexec, for the agent's launcher; withdrawn: such ranks are to end.
  enum class State : std::uint32_t { given, refused, started, placed, withdrawn };
  std::atomic<State> state;
  Ask what;
  std::uint64_t next;    // in the stack
  std::uint64_t serial;  // of a placed one, among all of the job
  std::int32_t by;       // the rank that asks
  std::int32_t ranks;    // to be started
  std::int32_t first;    // the place of the first of them
  std::int32_t parents;
  std::uint64_t world, link;  // numbers of MPI_COMM_WORLD, and of the way to the parents
  std::uint64_t members, text, text_bytes;  // offsets in the job's memory
  char why[message_bytes];                  // answer: why it was refused, or what was found
};

/// What is to be started and for whom. `number`: one that no other order has.
struct OrderText {
  std::uint64_t number, world, link;
  int by;
  const std::vector<std::int32_t>& parents;
  const std::vector<Command>& commands;
};

/// A rank: give an order; its place in the job's memory. The giver lets go of it by leave_order().
Result<std::uint64_t> give_order(Job& job, const OrderText& text);
/// The same for a name of the directory. `number`: as of an order.
Result<std::uint64_t> give_question(Job& job, std::uint64_t number, Ask what,
                                    const std::string& name, const std::string& value);
Order& order_at(Job& job, std::uint64_t at);
std::vector<std::int32_t> parents_of(Job& job, const Order& order);
void leave_order(Job& job, std::uint64_t at);

/// Launcher: those that were given since it was asked last, in their order.
std::vector<std::uint64_t> take_orders(Job& job);
std::string text_of(Job& job, const Order& order);
/// What is to be started; empty: that cannot be read.
std::vector<Command> commands_of(std::string_view text);
/// Name and value of a question.
std::pair<std::string, std::string> question_of(std::string_view text);
void refuse(Order& order, const std::string& why);
/// The new ranks have the places from `first` on.
void confirm(Order& order, int first);
/// A question is answered.
void answer(Order& order, const std::string& text);

/// An agent: an order of another node. It is there, in all memories, while its ranks are.
struct Placement {
  std::uint64_t serial, world, link;
  int first, ranks;
  const std::vector<std::int32_t>& parents;
  const std::string& text;
};
Result<std::uint64_t> place_order(Job& job, const Placement& placement);
/// Its launcher is to take it (once more).
void push_order(Job& job, std::uint64_t at);
/// A thread of the launcher: sleep until another number of orders than `seen` has been given.
std::uint32_t await_order(Job& job, std::uint32_t seen);
/// Wake it.
void stir(Job& job);

}  // namespace weft::memory
