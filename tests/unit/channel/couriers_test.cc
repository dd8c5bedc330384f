// SPDX-License-Identifier: Apache-2.0
#include "channel/couriers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/params.h"
#include "channel/row.h"

namespace weft::channel {
namespace {

/// A job of one rank, for the couriers' words.
memory::Job& job() {
  static const Params params;
  static memory::Job* const made = memory::Job::create(1, 2, params).value;
  return *made;
}

/// A row in memory of its own, whose sender delegates.
class Line final : public Delivery::Row {
 public:
  Line(std::int64_t bytes, std::int64_t k, sync::ParkWord* word)
      : shape_(bytes, k),
        memory_(static_cast<std::byte*>(
                    std::aligned_alloc(64, static_cast<std::size_t>(shape_.row_bytes()))),
                std::free),
        word_(word) {
    std::memset(memory_.get(), 0, static_cast<std::size_t>(shape_.row_bytes()));
    sending_.emplace(memory_.get(), shape_);
    receiving_.emplace(memory_.get(), shape_);
    // Not make_shared: its vtable would be the library's, which has no type for UBSan to look at.
    delivery.reset(new Delivery(*this, static_cast<std::uint64_t>(k) + 1));
  }
  bool has_room() override { return sending_->has_room(); }
  bool is_deserted() const override { return sending_->is_deserted(); }
  void carry(const void* message) override {
    std::copy_n(static_cast<const std::byte*>(message), shape_.bytes, sending_->buffer());
    sending_->publish();
  }
  void tell_sender() override {}

  /// Wait for a number, and look whether all of the message is of it.
  void receive(std::uint64_t number) {
    while (!receiving_->has_message()) std::this_thread::yield();
    const std::byte* message = receiving_->take();
    for (std::int64_t i = 0; i < shape_.bytes; ++i) wrong += message[i] != std::byte(number % 251);
    receiving_->release();
    ring(*word_);
  }
  void leave() { receiving_->leave(); }
  std::uint64_t received() const {
    return sending_->words().received.load(std::memory_order_acquire);
  }

  std::shared_ptr<Delivery> delivery;
  std::uint64_t wrong = 0;

 private:
  RowShape shape_;
  std::unique_ptr<std::byte, void (*)(void*)> memory_;
  sync::ParkWord* word_;
  std::optional<Sending> sending_;
  std::optional<Receiving> receiving_;
};

sync::Policy policy(bool sleeps_at_once) {
  sync::Policy p;
  p.membarrier = sync::permit_fences();
  p.spin_ns = sleeps_at_once ? 0 : 20000;
  p.yield_ns = sleeps_at_once ? 0 : 20000;
  return p;
}

/// One sender and one receiver for several lines, any number of couriers; the sender helps.
void traffic(int threads, int lines, std::int64_t bytes, std::int64_t k, bool sleeps_at_once,
             std::uint64_t messages) {
  CourierSets sets;
  Couriers* couriers = nullptr;
  ASSERT_FALSE(sets.join(job(), policy(sleeps_at_once), {"test", threads, {}}, &couriers));
  auto* word = reinterpret_cast<sync::ParkWord*>(job().at(couriers->word_at()));
  std::vector<std::unique_ptr<Line>> all;
  for (int i = 0; i < lines; ++i) {
    all.push_back(std::make_unique<Line>(bytes, k, word));
    couriers->add(all.back()->delivery);
  }
  std::thread receiver([&] {
    for (std::uint64_t n = 1; n <= messages; ++n)
      for (auto& line : all) line->receive(n);
  });
  const std::size_t buffers = static_cast<std::size_t>(k) + 1;
  std::vector<std::vector<std::byte>> data(buffers * all.size());
  for (auto& buffer : data) buffer.resize(static_cast<std::size_t>(bytes));
  for (std::uint64_t n = 1; n <= messages; ++n)
    for (std::size_t i = 0; i < all.size(); ++i) {
      Delivery& delivery = *all[i]->delivery;
      while (n - 1 - all[i]->received() > static_cast<std::uint64_t>(k)) {
        if (n % 3 == 0) delivery.carry();
        std::this_thread::yield();
      }
      auto& buffer = data[i * buffers + n % buffers];
      while (delivery.posted() - delivery.carried() >= buffers) std::this_thread::yield();
      std::fill(buffer.begin(), buffer.end(), static_cast<std::byte>(n % 251));
      delivery.post(buffer.data());
      couriers->ring();
    }
  receiver.join();
  for (auto& line : all) {
    EXPECT_EQ(line->wrong, 0U);
    EXPECT_FALSE(line->delivery->is_pending());
    couriers->remove(line->delivery.get());
    line->delivery->retire();
  }
  sets.leave(*couriers);
}

TEST(Couriers, CarryInOrderHoweverManyThereAre) {
  for (const int threads : {1, 2, 4})
    for (const bool sleeps_at_once : {false, true}) {
      traffic(threads, 1, 8, 1, sleeps_at_once, 500);
      traffic(threads, 3, 1000, 3, sleeps_at_once, 300);
      traffic(threads, 2, 0, 1, sleeps_at_once, 300);
    }
}

TEST(Couriers, OfOneNameAreShared) {
  CourierSets sets;
  Couriers *first = nullptr, *second = nullptr, *other = nullptr;
  ASSERT_FALSE(sets.join(job(), policy(true), {"a", 1, {}}, &first));
  ASSERT_FALSE(sets.join(job(), policy(true), {"a", 3, {}}, &second));
  ASSERT_FALSE(sets.join(job(), policy(true), {"b", 2, {}}, &other));
  EXPECT_EQ(first, second);
  EXPECT_NE(first, other);
  const std::uint64_t word = other->word_at();
  sets.leave(*other);
  ASSERT_FALSE(sets.join(job(), policy(true), {"c", 1, {}}, &other));
  EXPECT_EQ(other->word_at(), word);  // used again
  sets.leave(*other);
  sets.leave(*first);
  sets.leave(*second);
}

/// A word is given to other couriers when those before sleep on it no more: else one of them would
/// take back what another has announced, who sleeps then for ever.
TEST(Couriers, ComeAndGoWhileOthersDo) {
  CourierSets sets;
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 4; ++rank)
    ranks.emplace_back([&sets, name = std::to_string(rank)] {
      for (int i = 0; i < 1000; ++i) {
        Couriers* own = nullptr;
        ASSERT_FALSE(sets.join(job(), policy(true), {name, 1, {}}, &own));
        if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
        sets.leave(*own);
      }
    });
  for (std::thread& rank : ranks) rank.join();
}

TEST(Couriers, WithoutACpuAreRefused) {
  CourierSets sets;
  Couriers* made = nullptr;
  const Err error = sets.join(job(), policy(true), {"far", 1, {1023}}, &made);
  EXPECT_EQ(error.cls, MPI_ERR_OTHER);
  EXPECT_NE(std::string(last_error_text(error.cls)).find("communication thread 1 of 1 of 'far'"),
            std::string::npos);
}

TEST(Delivery, DropsWhatIsForNobody) {
  sync::ParkWord word{0};
  Line line(8, 3, &word);
  const std::uint64_t data = 0x0101010101010101;
  line.delivery->post(&data);
  EXPECT_TRUE(line.delivery->carry());
  EXPECT_FALSE(line.delivery->carry());
  line.receive(1);
  line.leave();
  line.delivery->post(&data);
  line.delivery->post(&data);
  EXPECT_TRUE(line.delivery->carry());
  EXPECT_EQ(line.delivery->carried(), 3U);
  EXPECT_FALSE(line.delivery->is_dropped(1));
  EXPECT_TRUE(line.delivery->is_dropped(2));
  EXPECT_EQ(line.wrong, 0U);
}

}  // namespace
}  // namespace weft::channel
