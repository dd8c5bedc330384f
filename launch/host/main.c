// SPDX-License-Identifier: Apache-2.0
//
// The executable of the rank host. Everything it does is in libweft_host.so, because an
// executable's thread-local data lies directly below the thread pointer, on every thread, and that
// place must be free: code of a program that runs as a rank expects its own data there. The array
// keeps it free. No other thread-local object may get into this file; so it is C and links no C++
// library.
int weft_rankhost_main(int argc, char** argv);

// sizes: tls_reserve_bytes and tls_reserve_align in plan.h
__thread char tls_reserve[64 * 1024] __attribute__((aligned(4096), used));

int main(int argc, char** argv) {
  return weft_rankhost_main(argc, argv);
}
