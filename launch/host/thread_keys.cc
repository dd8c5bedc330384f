// SPDX-License-Identifier: Apache-2.0
//
// See thread_keys.h. A thread notes with each value which life of the key it was set in, so a key
// that is deleted and made again has no value anywhere.
#include "thread_keys.h"

#include <errno.h>
#include <limits.h>
#include <threads.h>

#include <cstdlib>

#include "rank.h"

namespace weft::host {
namespace {

struct Value {
  unsigned generation;
  void* value;
};
struct Values {
  Value* list = nullptr;
  pthread_key_t size = 0;
};
thread_local Values values;

bool make_room(pthread_key_t key) {
  if (key < values.size) return true;
  const pthread_key_t size = (key / 32 + 1) * 32;
  auto* list = static_cast<Value*>(realloc(values.list, size * sizeof(Value)));
  if (!list) return false;
  for (pthread_key_t i = values.size; i < size; i++) list[i] = {};
  values = {list, size};
  return true;
}

}  // namespace

bool ThreadKeys::exists(pthread_key_t key) const {
  const Key* all = keys();
  return all && key < most && (all[key].generation.load(std::memory_order_relaxed) & 1);
}

int ThreadKeys::create(pthread_key_t* key, Destructor destructor) {
  std::scoped_lock guard(lock_);
  if (!keys()) keys_.store(new Key[most], std::memory_order_release);  // pairs with keys()
  for (pthread_key_t i = 0; i < most; i++) {
    if (exists(i)) continue;
    keys()[i].destructor.store(destructor, std::memory_order_relaxed);
    keys()[i].generation.fetch_add(1, std::memory_order_relaxed);  // the caller hands the key on
    *key = i;
    return 0;
  }
  return EAGAIN;
}

int ThreadKeys::destroy(pthread_key_t key) {
  std::scoped_lock guard(lock_);
  if (!exists(key)) return EINVAL;
  keys()[key].generation.fetch_add(1, std::memory_order_relaxed);
  return 0;
}

void* ThreadKeys::get(pthread_key_t key) const {
  if (key >= values.size) return nullptr;  // so are those that never were made
  const Value& v = values.list[key];
  return v.generation == keys()[key].generation.load(std::memory_order_relaxed) ? v.value : nullptr;
}

int ThreadKeys::set(pthread_key_t key, const void* value) {
  if (!exists(key)) return EINVAL;
  if (!make_room(key)) return ENOMEM;
  values.list[key] = {keys()[key].generation.load(std::memory_order_relaxed),
                      const_cast<void*>(value)};
  return 0;
}

void ThreadKeys::run_destructors() {
  bool any = true;
  for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS && std::exchange(any, false); round++)
    for (pthread_key_t key = 0; key < values.size; key++) {
      void* value = exists(key) ? get(key) : nullptr;
      const Destructor destructor = keys()[key].destructor.load(std::memory_order_relaxed);
      if (!value || !destructor) continue;
      values.list[key].value = nullptr;
      any = true;
      destructor(value);
    }
  free(values.list);
  values = {};
}

// On a thread of no rank, which the C library made, a rank's code has no data of its own.
int key_create(pthread_key_t* key, void (*destructor)(void*)) {
  Rank* rank = current();
  return rank ? rank->keys.create(key, destructor) : EAGAIN;
}
int key_delete(pthread_key_t key) {
  Rank* rank = current();
  return rank ? rank->keys.destroy(key) : EINVAL;
}
void* get_specific(pthread_key_t key) {
  const Rank* rank = current();
  return rank ? rank->keys.get(key) : nullptr;
}
int set_specific(pthread_key_t key, const void* value) {
  Rank* rank = current();
  return rank ? rank->keys.set(key, value) : EINVAL;
}

int tss_create_key(pthread_key_t* key, void (*destructor)(void*)) {
  return key_create(key, destructor) == 0 ? thrd_success : thrd_error;
}
void tss_delete_key(pthread_key_t key) {
  key_delete(key);
}
int tss_set_value(pthread_key_t key, void* value) {
  return set_specific(key, value) == 0 ? thrd_success : thrd_error;
}

}  // namespace weft::host
