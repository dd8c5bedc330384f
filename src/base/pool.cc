// SPDX-License-Identifier: Apache-2.0
//
// The process's object region: reserved once, committed by the kernel page by page as chunks are
// touched. It is as large as the machine's memory, so that memory runs out first; where that much
// may not be reserved (ulimit -v) a smaller region is tried.
#include "base/pool.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <atomic>

#include "base/assert.h"

// The region is not the heap's, so a leak checker must be told that what lives here is reachable.
extern "C" [[gnu::weak, gnu::visibility("default")]] void __lsan_register_root_region(
    const void* at, std::size_t bytes);

namespace weft {
namespace pool_detail {

constinit std::atomic<std::uintptr_t> region_base{0};
constinit std::atomic<std::size_t> region_used{0};

}  // namespace pool_detail

using pool_detail::region_base;
using pool_detail::region_used;

namespace {

/// Bytes of the machine's memory and swap; not more than object_index() can number.
std::size_t memory_there_is() {
  constexpr std::size_t least = std::size_t{16} << 30, most = std::size_t{120} << 30;
  struct sysinfo info {};
  if (sysinfo(&info) != 0) return least;
  return std::clamp((info.totalram + info.totalswap) * std::size_t{info.mem_unit}, least, most);
}

/// Reserve the region; returns its size. It is never given back: objects outlive static
/// destruction.
std::size_t reserve() {
  for (std::size_t want = memory_there_is(); want >= (std::size_t{64} << 20); want /= 4) {
    void* at = mmap(nullptr, want, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) continue;
    region_base.store(reinterpret_cast<std::uintptr_t>(at), std::memory_order_relaxed);
    return want;
  }
  return 0;
}

}  // namespace

void* pool_detail::take_chunk() {
  static const std::size_t bytes = reserve();
  // release: the base is known. pairs with is_live()
  const std::size_t at = region_used.fetch_add(chunk_bytes, std::memory_order_release);
  errno = ENOMEM;
  if (at + chunk_bytes > bytes) out_of_memory("MPI objects", chunk_bytes);
  void* chunk = reinterpret_cast<void*>(region_base.load(std::memory_order_relaxed) + at);
  // Only what is in use is readable: leak checkers (valgrind's too) would look through all of it.
  if (mprotect(chunk, chunk_bytes, PROT_READ | PROT_WRITE) != 0)
    out_of_memory("MPI objects", chunk_bytes);
  if (__lsan_register_root_region != nullptr) __lsan_register_root_region(chunk, chunk_bytes);
  return chunk;
}

// Numbers start above the constants of the ABI (which are below 4096).
constexpr int first_index = 4096;

int object_index(const void* object) {
  const auto at =
      reinterpret_cast<std::uintptr_t>(object) - region_base.load(std::memory_order_relaxed);
  return static_cast<int>(at / 64) + first_index;
}

void* object_at(int index) {
  const auto at = (static_cast<std::int64_t>(index) - first_index) * 64;
  if (at < 0 || static_cast<std::size_t>(at) >= region_used.load(std::memory_order_relaxed))
    return nullptr;
  return reinterpret_cast<void*>(region_base.load(std::memory_order_relaxed) +
                                 static_cast<std::size_t>(at));
}

}  // namespace weft
