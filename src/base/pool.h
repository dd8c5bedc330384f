// SPDX-License-Identifier: Apache-2.0
//
// Where MPI objects live. All objects of a process come from one reserved address region, in chunks
// of one kind, and start with a header that names the kind while the object lives. So any handle a
// user passes (null, freed, of another kind, garbage) can be told from a live one by a range check
// and one load, without following it anywhere dangerous.
//
// Memory of a freed object is reused for objects of the same kind only, oldest last; chunks are
// never returned. A Pool is guarded by its owner's lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace weft {

/// Kinds of MPI objects; the value is the live header word of an object of that kind.
enum class Kind : std::uint32_t {
  dead = 0,
  comm = 0x574d4f43,
  group = 0x50524f47,
  datatype = 0x45505954,
  op = 0x5f504f5f,
  request = 0x51455253,
  info = 0x4f464e49,
  errhandler = 0x48525245,
  message = 0x5347534d,
  session = 0x53534553,
  win = 0x4e49575f,
  file = 0x454c4946,
  cvar_handle = 0x52415643,
  pvar_handle = 0x52415650,
  pvar_session = 0x53565050,
  channel = 0x4e414843,  // of weft (weft/channel.h)
};

/// First member (base) of every MPI object.
struct Object {
  Kind kind;
  std::int32_t refs;  // owners of the object
};

/// One more owner; `shared`: threads that hold different locks may count at once.
inline void add_owner(const Object& object, bool shared) {
  std::int32_t& refs = const_cast<Object&>(object).refs;
  if (!shared) {
    ++refs;
  } else {
    // relaxed: who adds an owner is one, or holds what keeps one
    std::atomic_ref(refs).fetch_add(1, std::memory_order_relaxed);
  }
}
/// One owner less; true if it was the last.
inline bool drop_owner(const Object& object, bool shared) {
  std::int32_t& refs = const_cast<Object&>(object).refs;
  if (!shared) return --refs == 0;
  // acq_rel: the last one sees what all others did to the object; pairs with itself
  return std::atomic_ref(refs).fetch_sub(1, std::memory_order_acq_rel) == 1;
}

namespace pool_detail {
inline constexpr std::size_t chunk_bytes = 64 * 1024;
/// Take the next chunk of the process's object region (thread-safe). Aborts when memory is gone.
void* take_chunk();
/// The region: where it begins (written once, before the first chunk is handed out), and how much
/// of it is in use.
extern constinit std::atomic<std::uintptr_t> region_base;
extern constinit std::atomic<std::size_t> region_used;
}  // namespace pool_detail

/// Is `handle` a live object of kind `kind` of this process? Safe for any bit pattern. hot: two
/// loads that are always cached, and the object's header.
[[gnu::always_inline]] inline bool is_live(const void* handle, Kind kind) {
  // acquire: where there are chunks the base is known. pairs with take_chunk()
  const std::size_t used = pool_detail::region_used.load(std::memory_order_acquire);
  const std::uintptr_t base = pool_detail::region_base.load(std::memory_order_relaxed);
  const std::uintptr_t at = reinterpret_cast<std::uintptr_t>(handle) - base;
  if (at >= used || at % 64 != 0) return false;
  return reinterpret_cast<const Object*>(base + at)->kind == kind;
}

/// A small positive number for an object of this process and back (MPI_Comm_toint and its
/// siblings); object_at(n) is nullptr where no object can be.
int object_index(const void* object);
void* object_at(int index);

/// Objects of one type, created and destroyed at O(1) without system calls once warm.
template <class T, Kind K>
class Pool {
 public:
  static constexpr std::size_t stride = (sizeof(T) + 63) / 64 * 64;
  static_assert(stride <= pool_detail::chunk_bytes);

  Pool() = default;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  template <class... Args>
  T* create(Args&&... args) {
    if (free_ == nullptr) refill();
    Free* slot = free_;
    free_ = slot->next;
    T* object = new (static_cast<void*>(slot)) T(std::forward<Args>(args)...);
    object->kind = K;
    object->refs = 1;
    ++live_;
    return object;
  }

  void destroy(T* object) {
    object->~T();
    auto* slot = new (static_cast<void*>(object)) Free{Kind::dead, 0, free_};
    free_ = slot;
    --live_;
  }

  std::size_t live() const { return live_; }

  /// Calls look(object) for each that is there; which may destroy it, and no other.
  template <class Look>
  void for_each(Look&& look) {
    for (std::byte* chunk : chunks_)
      for (std::size_t at = 0; at + stride <= pool_detail::chunk_bytes; at += stride) {
        auto* object = reinterpret_cast<T*>(chunk + at);
        if (reinterpret_cast<const Object*>(object)->kind == K) look(*object);
      }
  }

 private:
  struct Free {
    Kind kind;  // overlays Object::kind, so that a freed handle is recognised
    std::int32_t refs;
    Free* next;
  };

  void refill() {
    auto* chunk = static_cast<std::byte*>(pool_detail::take_chunk());
    chunks_.push_back(chunk);
    for (std::size_t at = pool_detail::chunk_bytes / stride; at-- > 0;)
      free_ = new (static_cast<void*>(chunk + at * stride)) Free{Kind::dead, 0, free_};
  }

  Free* free_ = nullptr;
  std::size_t live_ = 0;
  std::vector<std::byte*> chunks_;  // that it has taken
};

}  // namespace weft
