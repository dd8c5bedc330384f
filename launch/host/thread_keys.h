// SPDX-License-Identifier: Apache-2.0
//
// Thread-specific data. A process has 1,024 keys, so ranks that are threads would run out of them
// together (200 ranks with six each). Every rank has 1,024 of its own; rank_functions.cc gives
// these functions to ranks' code.
#pragma once

#include <pthread.h>

#include <atomic>
#include <mutex>

namespace weft::host {

struct Rank;

class ThreadKeys {
 public:
  static constexpr pthread_key_t most = 1024;
  using Destructor = void (*)(void*);

  int create(pthread_key_t* key, Destructor destructor);
  int destroy(pthread_key_t key);
  void* get(pthread_key_t key) const;
  int set(pthread_key_t key, const void* value);
  /// The calling thread ends: give each of its values to the key's destructor.
  void run_destructors();

 private:
  struct Key {
    std::atomic<unsigned> generation{0};  // odd while the key exists
    std::atomic<Destructor> destructor{nullptr};
  };
  bool exists(pthread_key_t key) const;
  /// The keys; nullptr before the first was made.
  Key* keys() const { return keys_.load(std::memory_order_acquire); }  // pairs with create

  std::mutex lock_;
  std::atomic<Key*> keys_{nullptr};
};

/// The functions of POSIX and C on the calling rank's keys.
int key_create(pthread_key_t* key, void (*destructor)(void*));
int key_delete(pthread_key_t key);
void* get_specific(pthread_key_t key);
int set_specific(pthread_key_t key, const void* value);
int tss_create_key(pthread_key_t* key, void (*destructor)(void*));
void tss_delete_key(pthread_key_t key);
int tss_set_value(pthread_key_t key, void* value);

}  // namespace weft::host
