// SPDX-License-Identifier: Apache-2.0
// A library whose thread-local data must be static (initial-exec).
static int calls;
__thread int fixed __attribute__((tls_model("initial-exec"))) = 4;
static __thread char pad[PAD] __attribute__((tls_model("initial-exec")));

int from_two(void) {
  pad[0] = (char)fixed;
  return ++calls;
}
