// SPDX-License-Identifier: Apache-2.0
#include "fibers.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "world/rank.h"

// Save the registers that a call preserves, change the stack, restore.
asm(R"(
.text
.type weft_simulator_switch, @function
weft_simulator_switch:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size weft_simulator_switch, . - weft_simulator_switch
)");
extern "C" void weft_simulator_switch(void** save, void* load);

namespace weft::simulator {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr std::size_t stack_bytes = std::size_t{256} << 10;
Fibers* running = nullptr;  // the only one; for begin(), which has no arguments

}  // namespace

Fiber& Fibers::add(int rank, int core, double start_ns, std::function<void()> body) {
  all_.push_back(std::make_unique<Fiber>());
  Fiber& f = *all_.back();
  f.number = static_cast<int>(all_.size()) - 1;
  f.core = core;
  f.rank = rank;
  f.now_ns = start_ns;
  f.body = std::move(body);
  f.stack = std::make_unique<std::byte[]>(stack_bytes);
  // As weft_simulator_switch leaves it: six registers, and where to return to.
  auto top = reinterpret_cast<std::uintptr_t>(f.stack.get() + stack_bytes) & ~std::uintptr_t{63};
  auto** at = reinterpret_cast<void**>(top) - 2;
  *at = reinterpret_cast<void*>(&Fibers::begin);
  f.stack_pointer = at - 6;
  return f;
}

double Fibers::now_ns() const {
  if (current_ != nullptr) return current_->now_ns;
  double latest = 0;
  for (const auto& f : all_) latest = std::max(latest, f->now_ns);
  return latest;
}

/// Leaves are winners of themselves: winners_[leaves_ + i] = i.
void Fibers::set_time(int number, double ns) {
  times_[static_cast<std::size_t>(number)] = ns;
  for (auto node = static_cast<std::size_t>(leaves_ + number) / 2; node >= 1; node /= 2)
    winners_[node] = earlier(winners_[2 * node], winners_[2 * node + 1]);
  earliest_ns_ = times_[static_cast<std::size_t>(winners_[1])];
}

bool Fibers::run() {
  leaves_ = 2;
  while (leaves_ < static_cast<int>(all_.size())) leaves_ *= 2;
  times_.assign(static_cast<std::size_t>(leaves_), never);
  winners_.resize(2 * static_cast<std::size_t>(leaves_));
  std::iota(winners_.begin() + leaves_, winners_.end(), 0);
  for (int node = leaves_ - 1; node > 0; --node)
    winners_[static_cast<std::size_t>(node)] = winners_[static_cast<std::size_t>(2 * node)];
  for (const auto& f : all_) set_time(f->number, f->now_ns);
  running = this;
  Fiber* first = all_[static_cast<std::size_t>(winners_[1])].get();
  set_time(first->number, never);
  current_ = first;
  world::this_thread_rank = static_cast<Rank*>(first->rank_of_library);
  weft_simulator_switch(&outside_, first->stack_pointer);
  current_ = nullptr;
  return std::all_of(all_.begin(), all_.end(), [](const auto& f) { return f->finished; });
}

void Fibers::begin() {
  Fibers& all = *running;
  all.current_->body();
  all.current_->finished = true;
  all.give_way();
}

/// To the earliest; the current fiber comes back at its time, unless it sleeps or has ended.
void Fibers::give_way() {
  Fiber& me = *current_;
  if (me.sleeps_on == nullptr && !me.finished) set_time(me.number, me.now_ns);
  if (earliest_ns_ == never) {  // nobody is left
    void* forgotten;
    return weft_simulator_switch(&forgotten, outside_);
  }
  switch_to(all_[static_cast<std::size_t>(winners_[1])].get());
}

void Fibers::switch_to(Fiber* next) {
  Fiber& me = *current_;
  next->now_ns = std::max(next->now_ns, times_[static_cast<std::size_t>(next->number)]);
  set_time(next->number, never);
  if (next == &me) return;
  me.rank_of_library = world::this_thread_rank;
  current_ = next;
  world::this_thread_rank = static_cast<Rank*>(next->rank_of_library);
  weft_simulator_switch(&me.stack_pointer, next->stack_pointer);
}

bool Fibers::sleep(const void* word, double limit_ns) {
  Fiber& me = *current_;
  me.sleeps_on = word;
  me.timed_out = false;
  if (limit_ns > 0) set_time(me.number, me.now_ns + limit_ns);
  give_way();
  me.timed_out = me.sleeps_on != nullptr;  // nobody woke it
  me.sleeps_on = nullptr;
  return !me.timed_out;
}

int Fibers::wake(const void* word, int most, double at_ns) {
  for (int woken = 0;; ++woken) {
    Fiber* first = nullptr;  // who fell asleep first
    for (const auto& f : all_)
      if (f->sleeps_on == word && (first == nullptr || f->now_ns < first->now_ns)) first = f.get();
    if (first == nullptr || woken == most) return woken;
    first->sleeps_on = nullptr;
    first->now_ns = std::max(first->now_ns, at_ns);
    set_time(first->number, first->now_ns);
  }
}

}  // namespace weft::simulator
