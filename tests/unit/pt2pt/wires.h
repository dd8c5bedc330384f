// SPDX-License-Identifier: Apache-2.0
//
// A network for tests: packets wait in queues of one process until their receiver looks. A rank has
// few packets to fill, as a real network does.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "wire/network.h"

namespace weft::pt2pt {

struct alignas(64) Packet {
  static constexpr std::uint32_t most = 64 << 10;
  std::byte bytes[sizeof(wire::Cell) + most];
};
using PacketPtr = std::unique_ptr<Packet>;

struct Wires {
  explicit Wires(int ranks) : to(static_cast<std::size_t>(ranks)) {}
  std::mutex mutex;
  std::vector<std::deque<PacketPtr>> to;
  int in_flight = 0;
  std::map<std::uint64_t, std::vector<std::byte>> announced;  // by tag
};

class TestNetwork : public wire::Network {
 public:
  static constexpr int most_packets = 16;
  TestNetwork(Wires& wires, int me) : wires_(wires), me_(me) {}

  void meet(int) override {}
  void forget(int) override {}
  std::uint32_t payload_max() const override { return Packet::most; }
  std::uint32_t lent_max() const override { return lends ? Packet::most : 0; }
  void abandon(int) override {}
  void begin_row() override {}
  void end_row() override {}
  wire::Cell* take(int, std::uint32_t) override {
    const std::lock_guard guard(wires_.mutex);
    if (wires_.in_flight >= most_packets) return nullptr;
    ++wires_.in_flight;
    return new (new Packet) wire::Cell;
  }
  void send(wire::Cell* cell, std::uint32_t, int world_rank) override {
    const std::lock_guard guard(wires_.mutex);
    wires_.to[static_cast<std::size_t>(world_rank)].emplace_back(reinterpret_cast<Packet*>(cell));
  }
  void send_from(wire::Cell* cell, std::span<const std::byte> payload, int world_rank,
                 void (*finished)(void* state), void* state) override {
    std::memcpy(static_cast<void*>(cell + 1), payload.data(), payload.size());
    send(cell, static_cast<std::uint32_t>(payload.size()), world_rank);
    lent.push_back({finished, state});
  }
  std::uint32_t announced_max() const override { return announces ? 4 * Packet::most : 0; }
  bool may_announce(int) override { return true; }
  void announce(wire::Cell* cell, std::span<const std::byte> payload, int world_rank,
                void (*finished)(void* state), void* state) override {
    const auto tag = reinterpret_cast<std::uint64_t>(cell);
    std::memcpy(static_cast<void*>(cell + 1), &tag, sizeof tag);
    {
      const std::lock_guard guard(wires_.mutex);
      wires_.announced[tag] = {payload.begin(), payload.end()};
    }
    send(cell, sizeof tag, world_rank);
    lent.push_back({finished, state});
  }
  void await(std::span<std::byte> memory, int, std::uint64_t tag, void (*finished)(void* state),
             void* state) override {
    awaited.push_back({memory, tag, finished, state});
  }
  bool show(std::uint32_t name, std::span<const std::byte> memory, wire::Place* out) override {
    if (!reaches_memory) return false;
    shown.insert(name);
    *out = {reinterpret_cast<std::uint64_t>(memory.data()), name, memory.size()};
    return true;
  }
  void hide(std::uint32_t name) override { shown.erase(name); }
  bool read(std::span<std::byte> memory, int, const wire::Place& from,
            void (*finished)(void* state), void* state) override {
    if (refuses_reads) return false;
    EXPECT_LE(memory.size(), from.bytes);
    readings_.push_back({memory, from, finished, state});
    return true;
  }
  bool open_memory(std::span<std::byte>, wire::Place*) override { return false; }
  void close_memory(std::uint64_t) override {}
  std::int64_t reach_min() const override { return 1; }
  bool write(std::span<const std::byte>, int, const wire::Place&, void (*)(void*), void*) override {
    return false;
  }
  bool look(void (*arrived)(void* state, const wire::Cell& cell), void* state, bool) override {
    bool any = false;
    for (; !readings_.empty(); any = true) {
      const Reading reading = readings_.front();
      readings_.pop_front();
      std::memcpy(reading.memory.data(), reinterpret_cast<const void*>(reading.from.address),
                  reading.memory.size());
      reading.finished(reading.state);
    }
    for (; !holds_awaited && !awaited.empty(); any = true) {
      const Awaited is = awaited.front();
      awaited.pop_front();
      {
        const std::lock_guard guard(wires_.mutex);
        const std::vector<std::byte>& data = wires_.announced.at(is.tag);
        EXPECT_EQ(data.size(), is.memory.size());
        std::memcpy(is.memory.data(), data.data(), data.size());
        wires_.announced.erase(is.tag);
      }
      is.finished(is.state);
    }
    for (; !keeps_lent && !lent.empty(); any = true) {
      const Lent back = lent.front();
      lent.pop_front();
      back.finished(back.state);
    }
    for (PacketPtr packet = next(); packet != nullptr; packet = next()) {
      arrived(state, *reinterpret_cast<const wire::Cell*>(packet->bytes));
      any = true;
    }
    return any;
  }
  bool arm() override { return true; }
  bool is_watched() const override { return false; }
  std::int64_t nap_ns() const override { return 100'000; }
  bool is_idle() const override { return readings_.empty() && awaited.empty(); }

  struct Awaited {
    std::span<std::byte> memory;
    std::uint64_t tag;
    void (*finished)(void* state);
    void* state;
  };
  std::deque<Awaited> awaited;
  bool announces = false, holds_awaited = false;
  struct Lent {
    void (*finished)(void* state);
    void* state;
  };
  bool reaches_memory = false, refuses_reads = false, lends = false;
  bool keeps_lent = false;  // what is sent does not leave
  std::deque<Lent> lent;
  std::set<std::uint32_t> shown;

 private:
  struct Reading {
    std::span<std::byte> memory;
    wire::Place from;
    void (*finished)(void* state);
    void* state;
  };
  PacketPtr next() {
    const std::lock_guard guard(wires_.mutex);
    auto& queue = wires_.to[static_cast<std::size_t>(me_)];
    if (queue.empty()) return nullptr;
    PacketPtr packet = std::move(queue.front());
    queue.pop_front();
    --wires_.in_flight;
    return packet;
  }

  Wires& wires_;
  const int me_;
  std::deque<Reading> readings_;
};

}  // namespace weft::pt2pt
