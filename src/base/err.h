// SPDX-License-Identifier: Apache-2.0
//
// Errors as values. The first function that knows a cause says it in one sentence a user can act
// on (what was passed, what was expected, what to try) with fail(); everybody else passes the Err
// on. The call's name and the rank are added where the error is raised (abi/raise).
#pragma once

#include <mpi.h>

namespace weft {

/// An MPI error class, 0 for success. The sentence that belongs to it is last_error_text().
struct [[nodiscard]] Err {
  int cls = 0;
  constexpr explicit operator bool() const { return cls != 0; }
};

inline constexpr Err ok{};

/// Make an error of MPI class `cls` and keep its sentence for the calling thread.
[[gnu::cold, gnu::format(printf, 2, 3)]] Err fail(int cls, const char* format, ...);

/// The sentence of this thread's newest error if it was of class `cls`, else nullptr.
const char* last_error_text(int cls);

/// Errors made while it lives are told to somebody else: what last_error_text() was, it is again.
class [[nodiscard]] ErrorsAside {
 public:
  ErrorsAside();
  ~ErrorsAside();
  ErrorsAside(const ErrorsAside&) = delete;
  ErrorsAside& operator=(const ErrorsAside&) = delete;

 private:
  void* kept_;
};

/// A value or an error.
template <class T>
struct [[nodiscard]] Result {
  T value{};
  Err err{};
  Result(T v) : value(static_cast<T&&>(v)) {}
  Result(Err e) : err(e) {}
  explicit operator bool() const { return !err; }
};

}  // namespace weft

/// Return the error of `expr` to the caller, if it has one.
#define WEFT_TRY(expr)                              \
  do {                                              \
    if (::weft::Err weft_e = (expr)) return weft_e; \
  } while (0)
