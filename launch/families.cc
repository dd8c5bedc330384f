// SPDX-License-Identifier: Apache-2.0
#include "families.h"

#include <algorithm>

#include "packing.h"
#include "spawn_frames.h"

namespace weft::launch {

Families::Families(const Options& options, memory::Job& job, Parent& parent, Send send)
    : options_(options),
      job_(job),
      parent_(parent),
      send_(std::move(send)),
      orders_(job),
      seating_(options, job.size(), job.places()) {}

template <class T>
void Families::send(FrameKind kind, const T& value) {
  send_(kind, packed(value));
}

void Families::serve(std::uint64_t at) {
  if (send_) return pass_on(at);
  memory::Order& order = memory::order_at(job_, at);
  const std::vector<memory::Command> commands = memory::commands_of(memory::text_of(job_, order));
  std::string why;
  try {
    const Seats seats = seating_.reserve(commands);
    job_.occupy(seats.world, seats.node_of);
    for (int r = seats.world.first; r < seats.world.end(); ++r) job_.entry(r).order = at;
    why = start(at, commands, seats);
    if (why.empty()) return memory::confirm(order, seats.world.first);
    vacate(seats);
  } catch (const Failure& failure) {
    why = failure.text;
  }
  memory::refuse(order, why);
  memory::leave_order(job_, at);
}

/// To mpiexec, or from there.
void Families::pass_on(std::uint64_t at) {
  memory::Order& order = memory::order_at(job_, at);
  // relaxed: acquired with the order
  const memory::Order::State state = order.state.load(std::memory_order_relaxed);
  if (state == memory::Order::State::withdrawn) return withdraw(at);
  if (state == memory::Order::State::placed) return start_placed(at);
  const std::string text = memory::text_of(job_, order);
  if (order.what == memory::Ask::spawn)
    return send(FrameKind::spawn,
                Wanted{at, order.world, order.link, memory::parents_of(job_, order), text});
  auto [name, value] = memory::question_of(text);
  send(FrameKind::question,
       Question{at, static_cast<std::uint32_t>(order.what), std::move(name), std::move(value)});
}

void Families::start_placed(std::uint64_t at) {
  memory::Order& order = memory::order_at(job_, at);
  const std::string why = start(at, memory::commands_of(memory::text_of(job_, order)),
                                {{order.first, order.ranks}, {}});
  send(FrameKind::placed, StartOutcome{order.serial, why.substr(0, longest_reason)});
  if (!why.empty()) send(FrameKind::ended, order.serial);
}

/// What runs of it ends, which is told as always; and that the order's memory may go.
void Families::withdraw(std::uint64_t at) {
  const memory::Order& order = memory::order_at(job_, at);
  const auto is_it = [at](const Family& family) { return family.order == at; };
  parent_.kill_spawned({order.first, order.ranks});
  if (std::erase_if(families_, is_it) > 0) send(FrameKind::ended, order.serial);
  send(FrameKind::ended, order.serial);
}

/// All processes of an order that run here. "", or why they cannot be started; then none runs.
std::string Families::start(std::uint64_t at, const std::vector<memory::Command>& commands,
                            Seats seats) {
  Plan plan;
  try {
    plan = plan_order(options_, commands, seats.world, job_, "");
  } catch (const Failure& failure) {
    return failure.text.substr(failure.text.starts_with("weft: ") ? 6 : 0);
  }
  const int count = static_cast<int>(plan.processes.size());
  std::string why = parent_.start_spawned(std::move(plan.processes));
  if (why.empty()) families_.push_back({std::move(seats), at, count});
  return why;
}

void Families::take_end(int rank) {
  const auto whose = std::find_if(families_.begin(), families_.end(), [rank](const Family& family) {
    return rank >= family.seats.world.first && rank < family.seats.world.end();
  });
  if (whose == families_.end() || --whose->running > 0) return;
  const Family family = std::move(*whose);
  families_.erase(whose);
  if (send_) return send(FrameKind::ended, memory::order_at(job_, family.order).serial);
  memory::leave_order(job_, family.order);
  vacate(family.seats);
}

void Families::vacate(const Seats& seats) {
  for (int r = seats.world.first; r < seats.world.end(); ++r)
    // release: nobody waits for it any more (world/connected.cc)
    job_.entry(r).state.store(memory::RankState::exited, std::memory_order_release);
  seating_.free(seats);
}

}  // namespace weft::launch
