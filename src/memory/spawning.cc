// SPDX-License-Identifier: Apache-2.0
//
// An order is a shared block of the heap with two users, the giver and the launcher: it goes when
// both have left it. Behind its head are the parents' places, then the commands as words that end
// with a zero byte.
#include "memory/spawning.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace weft::memory {
namespace {

// No communicator has so many blocks.
constexpr std::uint64_t order_block = ~std::uint64_t{0}, placed_block = ~std::uint64_t{3};

std::string packed(const std::vector<Command>& commands) {
  std::string out;
  const auto add = [&out](const std::string& word) { out.append(word.c_str(), word.size() + 1); };
  for (const Command& command : commands) {
    add(std::to_string(command.ranks));
    add(command.directory);
    add(command.path);
    add(command.mode);
    add(command.hosts);
    add(std::to_string(command.argv.size()));
    for (const std::string& word : command.argv) add(word);
  }
  return out;
}

/// Words of a text, one after the other; "" behind the last.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}
  bool more() const { return !text_.empty(); }
  std::string next() {
    const std::string word(text_.substr(0, text_.find('\0')));
    text_.remove_prefix(std::min(text_.size(), word.size() + 1));
    return word;
  }

 private:
  std::string_view text_;
};

}  // namespace

namespace {

/// An order with what is behind it; 0: no memory is left.
std::uint64_t make_order(Job& job, BlockName name, int users,
                         const std::vector<std::int32_t>& parents, const std::string& words) {
  const std::size_t members_bytes = parents.size() * sizeof(std::int32_t);
  const std::uint64_t at =
      job.shared_block(name, sizeof(Order) + members_bytes + words.size(), sizeof(Order), users);
  if (at == 0) return 0;
  Order& order = order_at(job, at);
  order.parents = static_cast<std::int32_t>(parents.size());
  order.members = at + sizeof(Order);
  order.text = order.members + members_bytes;
  order.text_bytes = words.size();
  if (members_bytes > 0) std::memcpy(job.at(order.members), parents.data(), members_bytes);
  std::memcpy(job.at(order.text), words.data(), words.size());
  return at;
}

Err no_memory() {
  return fail(MPI_ERR_NO_MEM, "no shared memory is left for an order of ranks");
}

}  // namespace

Result<std::uint64_t> give_order(Job& job, const OrderText& text) {
  const std::uint64_t at =
      make_order(job, {text.number, order_block}, 2, text.parents, packed(text.commands));
  if (at == 0) return no_memory();
  Order& order = order_at(job, at);
  order.by = text.by;
  order.world = text.world;
  order.link = text.link;
  for (const Command& command : text.commands) order.ranks += command.ranks;
  push_order(job, at);
  return at;
}

Result<std::uint64_t> give_question(Job& job, std::uint64_t number, Ask what,
                                    const std::string& name, const std::string& value) {
  const std::string words = name + '\0' + value + '\0';
  const std::uint64_t at = make_order(job, {number, order_block}, 2, {}, words);
  if (at == 0) return no_memory();
  order_at(job, at).what = what;
  push_order(job, at);
  return at;
}

Result<std::uint64_t> place_order(Job& job, const Placement& placement) {
  const std::uint64_t at =
      make_order(job, {placement.serial, placed_block}, 1, placement.parents, placement.text);
  if (at == 0) return no_memory();
  Order& order = order_at(job, at);
  order.serial = placement.serial;
  order.world = placement.world;
  order.link = placement.link;
  order.first = placement.first;
  order.ranks = placement.ranks;
  order.state.store(Order::State::placed, std::memory_order_relaxed);  // released by push_order()
  return at;
}

void push_order(Job& job, std::uint64_t at) {
  Order& order = order_at(job, at);
  JobHeader& h = job.header();
  order.next = h.orders.load(std::memory_order_relaxed);
  // release: the order; pairs with take_orders()
  while (!h.orders.compare_exchange_weak(order.next, at, std::memory_order_release,
                                         std::memory_order_relaxed)) {
  }
  stir(job);
}

Order& order_at(Job& job, std::uint64_t at) {
  return *reinterpret_cast<Order*>(job.at(at));
}

std::vector<std::int32_t> parents_of(Job& job, const Order& order) {
  std::vector<std::int32_t> out(static_cast<std::size_t>(order.parents));
  std::memcpy(out.data(), job.at(order.members), out.size() * sizeof out[0]);
  return out;
}

void leave_order(Job& job, std::uint64_t at) {
  job.leave_shared_block(at);
}

std::vector<std::uint64_t> take_orders(Job& job) {
  std::vector<std::uint64_t> out;
  std::uint64_t at = job.header().orders.exchange(0, std::memory_order_acquire);
  for (; at != 0; at = order_at(job, at).next) out.push_back(at);
  std::reverse(out.begin(), out.end());
  return out;
}

std::string text_of(Job& job, const Order& order) {
  return {reinterpret_cast<const char*>(job.at(order.text)), order.text_bytes};
}

std::pair<std::string, std::string> question_of(std::string_view text) {
  Words words(text);
  std::string name = words.next();
  return {std::move(name), words.next()};
}

std::vector<Command> commands_of(std::string_view text) {
  std::vector<Command> out;
  Words words(text);
  while (words.more()) {
    Command& command = out.emplace_back();
    command.ranks = std::atoi(words.next().c_str());
    command.directory = words.next();
    command.path = words.next();
    command.mode = words.next();
    command.hosts = words.next();
    int argc = std::atoi(words.next().c_str());
    while (argc-- > 0 && words.more()) command.argv.push_back(words.next());
    if (command.argv.empty() || command.ranks < 1) return {};
  }
  return out;
}

void refuse(Order& order, const std::string& why) {
  std::snprintf(order.why, sizeof order.why, "%s", why.c_str());
  // release: the text; pairs with the giver's looks (world/comm_spawn.cc)
  order.state.store(Order::State::refused, std::memory_order_release);
}

void answer(Order& order, const std::string& text) {
  std::snprintf(order.why, sizeof order.why, "%s", text.c_str());
  order.state.store(Order::State::started, std::memory_order_release);  // as refuse()
}

void confirm(Order& order, int first) {
  order.first = first;
  // release: the place; pairs as above
  order.state.store(Order::State::started, std::memory_order_release);
}

std::uint32_t await_order(Job& job, std::uint32_t seen) {
  std::atomic<std::uint32_t>& count = job.header().order_count;
  // acquire: pairs with stir(); what it is about is read under its own pair
  while (count.load(std::memory_order_acquire) == seen)
    syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&count), FUTEX_WAIT, seen, nullptr, nullptr,
            0);
  return count.load(std::memory_order_acquire);
}

// No order is lost: a waiter that has read the old count sleeps only while the word still has it,
// which the kernel looks at under its lock.
void stir(Job& job) {
  std::atomic<std::uint32_t>& count = job.header().order_count;
  count.fetch_add(1, std::memory_order_release);
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&count), FUTEX_WAKE, INT_MAX, nullptr,
          nullptr, 0);
}

}  // namespace weft::memory
