// SPDX-License-Identifier: Apache-2.0
//
// The process's object region: reserved once, committed by the kernel page by page as chunks are
// touched. 16 GiB of address space hold 16 million requests; where that much may not be reserved
// (ulimit -v) a smaller region is tried.
#include "base/pool.h"

#include <sys/mman.h>

#include <atomic>

#include "base/assert.h"

namespace weft {
namespace {

struct Region {
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
  std::atomic<std::size_t> used{0};

  Region() {
    for (std::size_t want = std::size_t{16} << 30; want >= (std::size_t{64} << 20); want /= 4) {
      void* at = mmap(nullptr, want, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (at == MAP_FAILED) continue;
      base = reinterpret_cast<std::uintptr_t>(at);
      bytes = want;
      return;
    }
  }
};

Region& region() {
  static Region the_region;  // never destroyed: objects outlive static destruction
  return the_region;
}

}  // namespace

void* pool_detail::take_chunk() {
  Region& r = region();
  // relaxed: the counter only hands out disjoint chunks
  const std::size_t at = r.used.fetch_add(chunk_bytes, std::memory_order_relaxed);
  WEFT_CHECK(at + chunk_bytes <= r.bytes);
  return reinterpret_cast<void*>(r.base + at);
}

bool is_live(const void* handle, Kind kind) {
  const Region& r = region();
  const auto at = reinterpret_cast<std::uintptr_t>(handle);
  if (at - r.base >= r.used.load(std::memory_order_relaxed) || at % 64 != 0) return false;
  return static_cast<const Object*>(handle)->kind == kind;
}

// Numbers start above the constants of the ABI (which are below 4096).
constexpr int first_index = 4096;

int object_index(const void* object) {
  const auto at = reinterpret_cast<std::uintptr_t>(object) - region().base;
  return static_cast<int>(at / 64) + first_index;
}

void* object_at(int index) {
  const Region& r = region();
  const auto at = (static_cast<std::int64_t>(index) - first_index) * 64;
  if (at < 0 || static_cast<std::size_t>(at) >= r.used.load(std::memory_order_relaxed)) return nullptr;
  return reinterpret_cast<void*>(r.base + static_cast<std::size_t>(at));
}

}  // namespace weft
