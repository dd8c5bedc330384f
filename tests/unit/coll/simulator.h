// SPDX-License-Identifier: Apache-2.0
//
// Runs the schedules of p simulated ranks in one process, with messages matched in memory. Two
// ways, the extremes of what the rules of a round allow:
//   eager       sends are copied when posted, local steps run before anything is received
//   rendezvous  data is read when the receiver takes it, a round's local steps run after its
//   receives,
//               and a send is not done before it is taken
// A correct schedule gives the same result in both. The eager way also measures T = a*alpha +
// b*beta + c*gamma with one message at a time per rank and direction.
//
// Types are described by the test (segments of 4-byte words), not by the datatype room.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "coll/messages/algorithms.h"

namespace weft::coll::sim {

/// A type of 4-byte words at `offsets` from an element's origin.
struct Words {
  const char* name;
  Type type{};
  std::vector<std::int64_t> offsets;

  Words(const char* the_name, std::vector<std::int64_t> where, std::int64_t extent, bool dense)
      : name(the_name), offsets(std::move(where)) {
    type.size = static_cast<std::int64_t>(offsets.size()) * 4;
    type.true_lb = *std::min_element(offsets.begin(), offsets.end());
    type.true_extent = *std::max_element(offsets.begin(), offsets.end()) + 4 - type.true_lb;
    type.lb = type.true_lb;
    type.extent = extent;
    type.dense = dense;
  }
  Words(const Words&) = delete;
};

/// Memory for n elements of a type; words that hold no data keep a canary.
class Array {
 public:
  static constexpr int canary = 0x5a5a5a5a;
  Array(const Words& words, std::int64_t n) : words_(&words), n_(n) {
    const std::int64_t reach = std::abs(words.type.extent) * (n + 1) + 64;
    memory_.assign(static_cast<std::size_t>(2 * reach / 4), canary);
    origin_ = reach / 4 * 4;
  }
  void* data() { return reinterpret_cast<std::byte*>(memory_.data()) + origin_; }
  int& word(std::int64_t i, std::size_t k) {
    const std::int64_t at = origin_ + i * words_->type.extent + words_->offsets[k];
    return memory_[static_cast<std::size_t>(at / 4)];
  }
  /// Element i := value, value + 1, ... (one per word).
  void set(std::int64_t i, int value) {
    for (std::size_t k = 0; k < words_->offsets.size(); ++k)
      word(i, k) = value + static_cast<int>(k);
  }
  Buffer buffer(std::int64_t first, std::int64_t count) {
    return {element(data(), first, words_->type), count, &words_->type};
  }
  bool operator==(const Array& other) const { return memory_ == other.memory_; }
  const Words& words() const { return *words_; }
  std::int64_t size() const { return n_; }

 private:
  const Words* words_;
  std::int64_t n_;
  std::vector<int> memory_;
  std::int64_t origin_ = 0;
};

enum class Way { eager, rendezvous };

struct Prices {
  double alpha = 0, beta = 0, gamma = 0;
};

class Simulator {
 public:
  using Combine = std::function<void(const int* in, int* inout)>;  // one element's words

  Simulator(int ranks, std::vector<const Words*> types, Combine combine = nullptr)
      : combine_(std::move(combine)) {
    for (int i = 0; i < ranks; ++i) ranks_.push_back(std::make_unique<Rank>());
    for (const Words* words : types) words_[&words->type] = words;
  }
  Schedule& schedule(int rank) { return ranks_[static_cast<std::size_t>(rank)]->schedule; }
  /// When a rank was done, after run().
  double time(int rank) const { return ranks_[static_cast<std::size_t>(rank)]->time; }
  /// For an intercommunicator: the first `p` ranks are one group, the others the other one.
  void split_groups(int p) { first_group_ = p; }

  /// Run all schedules; returns the time of the last rank. Fails if they cannot finish.
  double run(Way way, const Prices& prices = {}) {
    for (auto& rank : ranks_) rank->schedule.next_round();
    for (;;) {
      bool moved = false, all_done = true;
      for (int r = 0; r < size(); ++r) {
        moved |= step(r, way, prices);
        all_done &= ranks_[static_cast<std::size_t>(r)]->finished();
      }
      if (all_done) break;
      if (!moved) {
        ADD_FAILURE() << "the schedules wait for each other";
        return -1;
      }
    }
    double last = 0;
    for (auto& rank : ranks_) last = std::max(last, rank->time);
    for (auto& [ends, queue] : channels_)
      EXPECT_TRUE(queue.empty()) << "a message was never received";
    return last;
  }

 private:
  struct Message {
    std::vector<std::byte> data;  // eager
    ConstBuffer source;           // rendezvous
    std::int64_t bytes;
    double arrival;
    int* open_sends;  // of the sender
  };
  struct Rank {
    Schedule schedule;
    std::size_t next = 0, end = 0;
    bool posted = false;
    std::vector<const Step*> receives;
    int open_sends = 0;
    double time = 0, send_port = 0, local = 0;
    std::vector<std::pair<double, double>> arrivals;  // time, cost
    bool finished() const { return !posted && next == schedule.steps().size(); }
  };

  int size() const { return static_cast<int>(ranks_.size()); }
  int global(int me, int peer) const {
    if (first_group_ == 0) return peer;
    return me < first_group_ ? first_group_ + peer : peer;
  }

  // memcpy, as the sanitizers' builds do not optimize these loops, where most of the time is spent.
  std::vector<std::byte> pack(const ConstBuffer& from) const {
    const auto* base = static_cast<const std::byte*>(from.data);
    std::vector<std::byte> out(static_cast<std::size_t>(from.bytes()));
    if (from.type == &byte_type()) {
      if (!out.empty()) std::memcpy(out.data(), base, out.size());
      return out;
    }
    std::byte* to = out.data();
    const std::vector<std::int64_t>& offsets = words_.at(from.type)->offsets;
    for (std::int64_t i = 0; i < from.count; ++i, base += from.type->extent)
      for (const std::int64_t offset : offsets) {
        std::memcpy(to, base + offset, 4);
        to += 4;
      }
    return out;
  }
  void unpack(const std::vector<std::byte>& in, const Buffer& to) const {
    ASSERT_EQ(static_cast<std::int64_t>(in.size()), to.bytes())
        << "message and buffer differ in size";
    auto* base = static_cast<std::byte*>(to.data);
    if (to.type == &byte_type()) {
      if (!in.empty()) std::memcpy(base, in.data(), in.size());
      return;
    }
    const std::byte* word = in.data();
    const std::vector<std::int64_t>& offsets = words_.at(to.type)->offsets;
    for (std::int64_t i = 0; i < to.count; ++i, base += to.type->extent)
      for (const std::int64_t offset : offsets) {
        std::memcpy(base + offset, word, 4);
        word += 4;
      }
  }
  void run_local(const Step& step) const {
    if (step.what == Step::What::copy) return unpack(pack(step.source()), step.target());
    const std::vector<std::byte> in = pack(step.source());
    std::vector<std::byte> inout = pack(Buffer{step.to, step.count, step.type});
    for (std::size_t i = 0; i < in.size(); i += static_cast<std::size_t>(step.type->size))
      combine_(reinterpret_cast<const int*>(&in[i]), reinterpret_cast<int*>(&inout[i]));
    unpack(inout, {step.to, step.count, step.type});
  }

  bool step(int r, Way way, const Prices& prices) {
    Rank& rank = *ranks_[static_cast<std::size_t>(r)];
    if (rank.finished()) return false;
    const auto& steps = rank.schedule.steps();
    bool moved = false;
    if (!rank.posted) {
      rank.end = rank.next;
      while (!steps[rank.end++].ends_round) {
      }
      rank.send_port = rank.local = rank.time;
      rank.arrivals.clear();
      for (std::size_t i = rank.next; i < rank.end; ++i) post(r, rank, steps[i], way, prices);
      rank.posted = moved = true;
    }
    for (std::size_t i = 0; i < rank.receives.size();)
      moved |= receive(r, rank, i, prices) || (++i, false);
    if (!rank.receives.empty() || rank.open_sends > 0) return moved;
    if (way == Way::rendezvous)
      for (std::size_t i = rank.next; i < rank.end; ++i)
        if (steps[i].what >= Step::What::copy) run_local(steps[i]);
    double receive_port = rank.time;
    std::sort(rank.arrivals.begin(), rank.arrivals.end());
    for (const auto& [arrival, cost] : rank.arrivals)
      receive_port = std::max(arrival, receive_port + cost);
    rank.time = std::max({receive_port, rank.send_port, rank.local});
    rank.next = rank.end;
    rank.posted = false;
    return true;
  }

  void post(int r, Rank& rank, const Step& step, Way way, const Prices& prices) {
    switch (step.what) {
      case Step::What::recv:
        rank.receives.push_back(&step);
        break;
      case Step::What::send: {
        rank.send_port += prices.alpha + prices.beta * static_cast<double>(step.source().bytes());
        Message m{{}, step.source(), step.source().bytes(), rank.send_port, nullptr};
        if (way == Way::eager) {
          m.data = pack(step.source());
        } else {
          m.open_sends = &rank.open_sends;
          ++rank.open_sends;
        }
        channels_[{r, global(r, step.peer)}].push_back(std::move(m));
        break;
      }
      default:
        if (step.what == Step::What::reduce)
          rank.local += prices.gamma * static_cast<double>(step.count * step.type->size);
        if (way == Way::eager) run_local(step);
    }
  }

  /// Take the message for rank.receives[i], if it is there and no earlier receive wants it.
  bool receive(int r, Rank& rank, std::size_t i, const Prices& prices) {
    const Step& want = *rank.receives[i];
    for (std::size_t k = 0; k < i; ++k)
      if (rank.receives[k]->peer == want.peer) return false;
    auto& queue = channels_[{global(r, want.peer), r}];
    if (queue.empty()) return false;
    Message m = std::move(queue.front());
    queue.pop_front();
    unpack(m.open_sends != nullptr ? pack(m.source) : m.data, want.target());
    if (m.open_sends != nullptr) --*m.open_sends;
    rank.arrivals.push_back({m.arrival, prices.alpha + prices.beta * static_cast<double>(m.bytes)});
    rank.receives.erase(rank.receives.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }

  std::vector<std::unique_ptr<Rank>> ranks_;
  std::map<const Type*, const Words*> words_;
  std::map<std::pair<int, int>, std::deque<Message>> channels_;
  Combine combine_;
  int first_group_ = 0;
};

// The types that every test runs with.
inline const std::vector<const Words*>& all_types() {
  static const Words dense("dense", {0, 4}, 8, true);
  static const Words gaps("gaps", {4, 12}, 24, false);
  static const Words negative_bound("negative lower bound", {-8, 4}, 16, false);
  static const Words backwards("negative extent", {0, 4}, -12, false);
  static const std::vector<const Words*> all{&dense, &gaps, &negative_bound, &backwards};
  return all;
}
inline constexpr int max_ranks = 17;
inline constexpr Way both_ways[] = {Way::eager, Way::rendezvous};

}  // namespace weft::coll::sim
