// SPDX-License-Identifier: Apache-2.0
//
// The reduction loops use the vector units: a child process runs one, its parent counts the
// instructions step by step. A loop over single elements takes at least six each (two loads, the
// operation, a store, the counter, a jump); a change that keeps the compiler from vectorising one
// is seen here, and no clock is asked.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "datatype/kernels/kernels.h"

namespace weft::datatype::test {
namespace {

constexpr std::int64_t elements = 512;
alignas(64) char in[elements * 16], inout[elements * 16];

/// Instructions of a reduction, or -1 where a process may not be traced.
long instructions(kernels::Loop run, std::int64_t n) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) != 0) _exit(1);
    raise(SIGSTOP);
    run({in, inout, inout, n});
    raise(SIGSTOP);
    _exit(0);
  }
  int status = 0;
  long steps = 0;
  waitpid(child, &status, 0);
  if (!WIFSTOPPED(status)) return -1;
  do {
    if (ptrace(PTRACE_SINGLESTEP, child, 0, 0) != 0) break;
    waitpid(child, &status, 0);
    ++steps;
  } while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
  kill(child, SIGKILL);
  waitpid(child, &status, 0);
  return steps;
}

/// Instructions for each element, as measured with g++ 12 and a third more.
double most(Basic basic) {
  switch (basic) {
    case Basic::f16:
      return 12;  // two conversions, and one back
    case Basic::c16:
      return 30;
    case Basic::c64:
      return 6.7;
    default:
      return 4.7;  // a 64-bit product is three 32-bit ones
  }
}

TEST(Vectorised, EveryLoopOfAvx2) {
#if defined(__SANITIZE_ADDRESS__) || !defined(__x86_64__)
  GTEST_SKIP() << "instrumented code is not counted";
#else
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this processor has no AVX2";
  if (instructions(kernels::avx2_loop(Operation::sum, Basic::f64), 0) < 0)
    GTEST_SKIP() << "this machine lets nobody trace a process";
  using enum Basic;
  int loops = 0;
  for (const Basic basic : {i8,  i16, i32, i64, u8,  u16,      u32,      u64,      f16,      bf16,
                            f32, f64, c16, c32, c64, logical1, logical2, logical4, logical8, byte})
    for (int i = static_cast<int>(Operation::sum); i <= static_cast<int>(Operation::lxor); ++i) {
      const auto op = static_cast<Operation>(i);
      if (!is_defined(op, basic)) continue;
      const double each =
          static_cast<double>(instructions(kernels::avx2_loop(op, basic), elements)) /
          static_cast<double>(elements);
      EXPECT_LE(each, most(basic)) << "operation " << i << " type " << static_cast<int>(basic);
      ++loops;
    }
  EXPECT_GT(loops, 100);
#endif
}

}  // namespace
}  // namespace weft::datatype::test
