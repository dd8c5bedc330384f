// SPDX-License-Identifier: Apache-2.0
//
// What the compiler calls in code that is compiled with -fsanitize=thread, in place of
// ThreadSanitizer's own run time: charge the access, then do it. The names and arguments are those
// of the compilers' interface (compiler-rt, tsan_interface.h and tsan_interface_atomic.h). Only one
// fiber runs at a time, so plain accesses are atomic here.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "simulation.h"

namespace {

using weft::simulator::Simulation;

void read(const void* at, std::size_t bytes) {
  if (Simulation* s = Simulation::now()) s->read(at, bytes);
}
void write(const void* at, std::size_t bytes) {
  if (Simulation* s = Simulation::now()) s->write(at, bytes);
}
template <class T>
T* modify(volatile T* at) {
  if (Simulation* s = Simulation::now()) s->modify(const_cast<T*>(at), sizeof(T));
  return const_cast<T*>(at);
}

template <class T>
int compare_exchange(volatile T* at, T* expected, T desired) {
  T* word = modify(at);
  if (*word == *expected) {
    *word = desired;
    return 1;
  }
  *expected = *word;
  return 0;
}

}  // namespace

#define ACCESS(bytes)                                 \
  void __tsan_read##bytes(void* at) {                 \
    read(at, bytes);                                  \
  }                                                   \
  void __tsan_write##bytes(void* at) {                \
    write(at, bytes);                                 \
  }                                                   \
  void __tsan_unaligned_read##bytes(void* at) {       \
    read(at, bytes);                                  \
  }                                                   \
  void __tsan_unaligned_write##bytes(void* at) {      \
    write(at, bytes);                                 \
  }                                                   \
  void __tsan_read_write##bytes(void* at) {           \
    write(at, bytes);                                 \
  }                                                   \
  void __tsan_unaligned_read_write##bytes(void* at) { \
    write(at, bytes);                                 \
  }

#define FETCH(bits, name, expression)                                                \
  std::uint##bits##_t __tsan_atomic##bits##_##name(volatile std::uint##bits##_t* at, \
                                                   std::uint##bits##_t value, int) { \
    std::uint##bits##_t* word = modify(at);                                          \
    const std::uint##bits##_t old = *word;                                           \
    *word = static_cast<std::uint##bits##_t>(expression);                            \
    return old;                                                                      \
  }

#define ATOMIC(bits)                                                                            \
  std::uint##bits##_t __tsan_atomic##bits##_load(const volatile std::uint##bits##_t* at, int) { \
    read(const_cast<const std::uint##bits##_t*>(at), sizeof *at);                               \
    return *at;                                                                                 \
  }                                                                                             \
  void __tsan_atomic##bits##_store(volatile std::uint##bits##_t* at, std::uint##bits##_t value, \
                                   int order) {                                                 \
    if (order == __ATOMIC_SEQ_CST) {                                                            \
      *modify(at) = value;                                                                      \
      return;                                                                                   \
    }                                                                                           \
    write(const_cast<std::uint##bits##_t*>(at), sizeof *at);                                    \
    *at = value;                                                                                \
  }                                                                                             \
  FETCH(bits, exchange, value)                                                                  \
  FETCH(bits, fetch_add, old + value)                                                           \
  FETCH(bits, fetch_sub, old - value)                                                           \
  FETCH(bits, fetch_and, old& value)                                                            \
  FETCH(bits, fetch_or, old | value)                                                            \
  FETCH(bits, fetch_xor, old ^ value)                                                           \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile std::uint##bits##_t* at,           \
                                                    std::uint##bits##_t* expected,              \
                                                    std::uint##bits##_t desired, int, int) {    \
    return compare_exchange(at, expected, desired);                                             \
  }                                                                                             \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile std::uint##bits##_t* at,             \
                                                  std::uint##bits##_t* expected,                \
                                                  std::uint##bits##_t desired, int, int) {      \
    return compare_exchange(at, expected, desired);                                             \
  }

extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_read(void** at) {
  read(at, sizeof *at);
}
void __tsan_vptr_update(void** at, void*) {
  write(at, sizeof *at);
}
void __tsan_read_range(void* at, std::size_t bytes) {
  if (bytes > 0) read(at, bytes);
}
void __tsan_write_range(void* at, std::size_t bytes) {
  if (bytes > 0) write(at, bytes);
}
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)
// clang's name for these; system.cc charges memcpy.
void* __tsan_memcpy(void* to, const void* from, std::size_t bytes) {
  return std::memcpy(to, from, bytes);
}
void* __tsan_memmove(void* to, const void* from, std::size_t bytes) {
  return std::memmove(to, from, bytes);
}
void* __tsan_memset(void* to, int value, std::size_t bytes) {
  return std::memset(to, value, bytes);
}
void __tsan_atomic_thread_fence(int) {
  if (Simulation* s = Simulation::now()) s->fence();
}
void __tsan_atomic_signal_fence(int) {}
}
