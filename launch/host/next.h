// SPDX-License-Identifier: Apache-2.0
//
// libc's own function behind an interposer: Next<int(int)> real{"putchar"}; … real(c). Looked up at
// the first call, because interposers run before any constructor of this library.
#pragma once

#include <dlfcn.h>

#include <atomic>

namespace weft::host {

template <class F>
class Next;

template <class R, class... Args>
class Next<R(Args...)> {
 public:
  constexpr explicit Next(const char* name) : name_(name) {}
  R operator()(Args... args) {
    auto* f = function_.load(std::memory_order_relaxed);  // the same value from every thread
    if (!f) {
      f = reinterpret_cast<R (*)(Args...)>(dlsym(RTLD_NEXT, name_));
      if (!f) __builtin_trap();  // libc without this function: a link-time mistake of ours
      function_.store(f, std::memory_order_relaxed);
    }
    return f(args...);
  }

 private:
  const char* name_;
  std::atomic<R (*)(Args...)> function_{nullptr};
};

}  // namespace weft::host
