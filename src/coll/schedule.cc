// SPDX-License-Identifier: Apache-2.0
//
// Building schedules: compact steps, and scratch memory that is kept from one use to the next so
// that a repeated collective allocates nothing.
#include "coll/schedule.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

#include "base/assert.h"
#include "coll/boards/board.h"
#include "coll/limits.h"

namespace weft::coll {
namespace {

constexpr std::int64_t line = 64;

Step bare(Step::What what, int peer, const void* from, std::int64_t count) {
  return {.what = what,
          .ends_round = false,
          .peer = peer,
          .from = from,
          .to = nullptr,
          .count = count,
          .type = &byte_type(),
          .op = nullptr,
          .to_type = nullptr};
}

}  // namespace

Scratch::~Scratch() {
  for (const Chunk& chunk : chunks_) std::free(chunk.data);
}

std::byte* Scratch::take(std::int64_t bytes) {
  bytes = (std::max<std::int64_t>(bytes, 1) + line - 1) / line * line;
  while (at_ < chunks_.size() && chunks_[at_].size - used_ < bytes) {
    if (used_ == 0) {  // an idle chunk of an earlier use, too small
      std::free(chunks_[at_].data);
      chunks_.erase(chunks_.begin() + static_cast<std::ptrdiff_t>(at_));
    } else {
      ++at_;
      used_ = 0;
    }
  }
  if (at_ == chunks_.size()) {
    auto* data = static_cast<std::byte*>(
        std::aligned_alloc(static_cast<std::size_t>(line), static_cast<std::size_t>(bytes)));
    WEFT_CHECK(data != nullptr);
    chunks_.push_back({data, bytes});
    used_ = 0;
  }
  std::byte* piece = chunks_[at_].data + used_;
  used_ += bytes;
  return piece;
}

void Scratch::clear() {
  at_ = 0;
  used_ = 0;
  std::int64_t kept = 0;
  std::size_t keep = 0;
  while (keep < chunks_.size() && kept + chunks_[keep].size <= kept_bytes_max)
    kept += chunks_[keep++].size;
  for (std::size_t i = keep; i < chunks_.size(); ++i) std::free(chunks_[i].data);
  chunks_.resize(keep);
}

void Schedule::send(const ConstBuffer& what, int to) {
  if (what.bytes() == 0) return;
  steps_.push_back({.what = Step::What::send,
                    .ends_round = false,
                    .peer = rank_of(to),
                    .from = what.data,
                    .to = nullptr,
                    .count = what.count,
                    .type = what.type,
                    .op = nullptr,
                    .to_type = nullptr});
}

void Schedule::recv(const Buffer& into, int from) {
  if (into.bytes() == 0) return;
  steps_.push_back({.what = Step::What::recv,
                    .ends_round = false,
                    .peer = rank_of(from),
                    .from = nullptr,
                    .to = into.data,
                    .count = into.count,
                    .type = into.type,
                    .op = nullptr,
                    .to_type = nullptr});
}

void Schedule::notify(int to) {
  steps_.push_back(bare(Step::What::send, rank_of(to), nullptr, 0));
}

void Schedule::await(int from) {
  steps_.push_back(bare(Step::What::recv, rank_of(from), nullptr, 0));
}

void Schedule::copy(const ConstBuffer& from, const Buffer& to) {
  if (from.bytes() == 0 || to.bytes() == 0) return;
  Step step = bare(Step::What::copy, -1, from.data, from.count);
  step.type = from.type;
  step.to = to.data;
  step.to_type = to.type;
  step.to_count = to.count;
  steps_.push_back(step);
}

void Schedule::reduce(const void* in, void* inout, std::int64_t count, const Type& type,
                      const Op& op) {
  if (count == 0) return;
  Step step = bare(Step::What::reduce, -1, in, count);
  step.to = inout;
  step.type = &type;
  step.op = &op;
  steps_.push_back(step);
}

void Schedule::compare(const void* all, int ranks) {
  steps_.push_back(bare(Step::What::compare, -1, all, ranks));
}

void Schedule::show(int what, std::span<const ConstBuffer> views) {
  const auto count = static_cast<std::int64_t>(views.size());
  ConstBuffer* const kept = this->views(count);
  std::copy(views.begin(), views.end(), kept);
  Step step = bare(Step::What::show, -1, kept, count);
  step.what_shown = static_cast<std::int8_t>(what);
  steps_.push_back(step);
}

void Schedule::signal(std::int64_t phase) {
  steps_.push_back(bare(Step::What::signal, -1, nullptr, first_phase_ + phase));
}

void Schedule::wake(int rank) {
  if (imagined_ != 0) return;  // nobody sleeps
  steps_.push_back(bare(Step::What::wake, rank, nullptr, 0));
}

void Schedule::await_phase(int rank, std::int64_t phase) {
  steps_.push_back(bare(Step::What::await, rank, nullptr, first_phase_ + phase));
}

void Schedule::meet(std::int64_t folded, bool looks) {
  Step step = bare(Step::What::meet, -1, nullptr, looks);
  step.bytes = folded;
  steps_.push_back(step);
}

void Schedule::label(std::byte* at, std::int64_t length) {
  Step step = bare(Step::What::label, -1, nullptr, 0);
  step.to = at;
  step.bytes = length;
  steps_.push_back(step);
}

void Schedule::expect(int rank, std::int64_t n, const std::byte* label) {
  Step step = bare(Step::What::expect, rank, label, 0);
  step.bytes = n;
  steps_.push_back(step);
}

void Schedule::give(const ConstBuffer& from, const Source& to, const std::byte* label) {
  Step step = bare(Step::What::give, to.rank, from.data, from.count);
  step.type = from.type;
  step.what_shown = to.what;
  step.index = to.index;
  step.bytes = from.bytes();
  step.to = const_cast<std::byte*>(label);
  steps_.push_back(step);
}

void Schedule::fetch(const Source& from, std::int64_t at, std::int64_t n, const Buffer& to) {
  if (n == 0) return;
  Step step = bare(Step::What::fetch, from.rank, from.here.data, from.here.count);
  if (from.here.type != nullptr) step.type = from.here.type;
  step.what_shown = from.what;
  step.index = from.index;
  step.to = to.data;
  step.to_count = to.count;
  step.to_type = to.type;
  step.at = at;
  step.bytes = n;
  steps_.push_back(step);
}

void Schedule::fold(const Source& in, std::int64_t at, void* inout, std::int64_t count,
                    const Type& type, const Op& op) {
  if (count == 0) return;
  Step step = bare(Step::What::fold, in.rank, in.here.data, count);
  step.what_shown = in.what;
  step.index = in.index;
  step.to = inout;
  step.type = &type;
  step.op = &op;
  step.at = at;
  step.bytes = count * type.size;
  steps_.push_back(step);
}

std::byte* Schedule::bytes(std::int64_t n) {
  if (imagined_ == 0) return scratch_.take(n);
  imagined_ += (n + line - 1) / line * line;
  return reinterpret_cast<std::byte*>(imagined_ - n);
}

ConstBuffer* Schedule::views(std::int64_t n) {
  return reinterpret_cast<ConstBuffer*>(scratch_.take(n * std::int64_t{sizeof(ConstBuffer)}));
}

void Schedule::flush_beside() {
  if (beside_ != nullptr) std::exchange(beside_, nullptr)(beside_state_);
}

void Schedule::later(std::function<void()> emit) {
  next_round();
  if (is_imagined()) return emit();
  later_ = std::move(emit);
  steps_.push_back(bare(Step::What::later, -1, nullptr, 0));
  next_round();
}

void Schedule::emit_behind(std::size_t at) {
  if (later_ == nullptr) return;  // a start of a persistent operation, not its first
  const std::vector<Step> rest(steps_.begin() + static_cast<std::ptrdiff_t>(at) + 1, steps_.end());
  steps_.erase(steps_.begin() + static_cast<std::ptrdiff_t>(at) + 1, steps_.end());
  std::exchange(later_, nullptr)();
  next_round();
  steps_.insert(steps_.end(), rest.begin(), rest.end());
}

void Schedule::next_round() {
  if (!steps_.empty() && !steps_.back().ends_round) flush_beside();
  if (!steps_.empty()) steps_.back().ends_round = true;
}

void* Schedule::elements(std::int64_t count, const Type& type) {
  if (count == 0) return nullptr;
  const std::int64_t last = (count - 1) * type.extent;
  const std::int64_t low = std::min<std::int64_t>(0, last) + type.true_lb;
  const std::int64_t high = std::max<std::int64_t>(0, last) + type.true_lb + type.true_extent;
  return bytes(high - low) - low;
}

void Schedule::clear() {
  steps_.clear();
  scratch_.clear();
  if (owns_boards_) delete boards_;
  boards_ = nullptr;
  owns_boards_ = false;
  length_ = imagined_ = first_phase_ = 0;
  among_ = {};
  later_ = nullptr;
  next_ = round_ = posted_ = 0;
  error_ = ok;
}

int log2_ceil(int p) {
  return p <= 1 ? 0 : std::bit_width(static_cast<unsigned>(p - 1));
}
int log2_floor(int p) {
  return std::bit_width(static_cast<unsigned>(p)) - 1;
}

}  // namespace weft::coll
