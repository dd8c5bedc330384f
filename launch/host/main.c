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

// ThreadSanitizer's runtime asks the executable. It knows files by their descriptors' numbers;
// ranks have the same numbers for different files, and it would report a race where one is made or
// ended.
// clang-format off
#define FILES(f) "race:^" f "$\nrace:^__interceptor_" f "$\nrace:^___interceptor_" f "$\n"
static const char suppressions[] =
    FILES("open") FILES("open64") FILES("openat") FILES("openat64") FILES("creat")
    FILES("creat64") FILES("close") FILES("dup") FILES("dup2") FILES("dup3")
    FILES("pipe") FILES("pipe2") FILES("socket") FILES("socketpair") FILES("accept")
    FILES("accept4") FILES("eventfd") FILES("signalfd") FILES("inotify_init") FILES("inotify_init1")
    FILES("epoll_create") FILES("epoll_create1") FILES("fopen") FILES("fopen64") FILES("freopen")
    FILES("freopen64") FILES("fdopen") FILES("fclose") FILES("opendir") FILES("closedir")
    FILES("tmpfile") FILES("tmpfile64") FILES("popen") FILES("pclose");
// clang-format on

__attribute__((visibility("default"))) const char* __tsan_default_suppressions(void) {
  return suppressions;
}

int main(int argc, char** argv) {
  return weft_rankhost_main(argc, argv);
}
