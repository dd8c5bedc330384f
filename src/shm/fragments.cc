// SPDX-License-Identifier: Apache-2.0
#include "shm/fragments.h"

namespace weft::shm {

void Fragments::reserve() {
  const bool is_there = lasting_.start != nullptr && *lasting_.start != 0;
  if (is_there) count_ = std::min(count_, static_cast<std::uint32_t>(*lasting_.count));
  const std::uint64_t start = is_there ? *lasting_.start : job_->extend(count_ * bytes, page);
  if (start == 0) {  // no memory: pieces travel in the ring
    count_ = 0;
    return;
  }
  if (lasting_.start != nullptr) {
    *lasting_.start = start;
    *lasting_.count = count_;
  }
  first_ = static_cast<std::uint32_t>(start / page);
  home_.resize(count_);
  for (std::uint32_t i = 0; i < count_; ++i) give(first_ + i * pages);
  new_ = count_;
}

}  // namespace weft::shm
