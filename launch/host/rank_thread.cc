// SPDX-License-Identifier: Apache-2.0
//
// The life of a rank's main thread: bind to the rank, enter the program as a kernel would, catch
// its call of __libc_start_main to learn where `main` is (stripped programs do not say), run
// constructors and main, and come back here from exit, from however deep.
//
// The program's thread-local data: its code was linked for an executable and finds it at a fixed
// distance below the thread pointer. There lies the reserve of weft-rankhost (main.cc), on every
// thread of the process, so filling it with the rank's initial values is all that is needed.
#include <alloca.h>
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <weft/host.h>

#include <cerrno>
#include <cstring>

#include "base/limits.h"
#include "host.h"
#include "machine.h"
#include "next.h"
#include "settings.h"
#include "writable.h"

#pragma weak weft_host_attach
#pragma weak weft_host_rank_exited

namespace weft::host {

thread_local Rank* current_rank = nullptr;

namespace {

void attach(int world) {
  if (weft_host_attach) weft_host_attach(world);
}

/// The rank has ended.
void finish(Rank& rank) {
  if (rank.status != 0) {
    int none = 0;
    the_host->first_failure.compare_exchange_strong(none, rank.status);
  }
  drop_files(rank);
  if (weft_host_rank_exited) weft_host_rank_exited(rank.world, rank.status, rank.how);
  rank.thread_id = 0;
  attach(-1);
  current_rank = nullptr;
}

/// As a process whose main thread calls pthread_exit (or is cancelled): it exits with 0 when the
/// last thread ends, or as one of them says.
[[gnu::noinline]] void wait_for_other_threads(Rank& rank) {
  if (!rank.members.main_leaves()) return;  // the thread that called exit has run the handlers
  if (setjmp(rank.end) == 0) exit(0);
}

// Runs when a thread of a rank ends, however it ends: a destructor of thread-specific data.
void unbind(void* p) {
  Rank& rank = *static_cast<Rank*>(p);
  rank.keys.run_destructors();
  if (!in_host_process()) return;
  if (pthread_equal(pthread_self(), rank.thread)) {
    wait_for_other_threads(rank);
    finish(rank);
  } else {
    attach(-1);
    current_rank = nullptr;
    rank.members.leave();
  }
}

pthread_key_t unbind_key() {
  static const pthread_key_t key = [] {
    pthread_key_t k;
    pthread_key_create(&k, unbind);
    return k;
  }();
  return key;
}

void bind(Rank& rank) {
  pthread_setspecific(unbind_key(), &rank);
  fill_thread_local_data(rank);
  rank.members.enter();
  attach(rank.world);  // before current_rank: the library may still read the process's environment
  current_rank = &rank;
  use_locale_of_rank(rank);
}

/// What a garbage collector takes for the end of the stack to search.
void set_stack_end(Rank& rank, void* end) {
  if (rank.variables[var_stack_end] == &rank.own_variables[var_stack_end]) return;
  const Writable writable(the_host->plan.program(), rank.program->base);
  rank.variable<void*>(var_stack_end) = end;
}

[[gnu::noinline]] void find_main(Rank& rank) {
  // argc, argv…, 0, environment…, 0, auxiliary vector {AT_NULL, 0}
  const std::size_t argc = rank.arguments.size() - 1;
  const std::size_t count = 1 + rank.arguments.size() + rank.environment.size() + 2;
  auto** words = static_cast<void**>(alloca((count + 2) * sizeof(void*)));
  words = reinterpret_cast<void**>((reinterpret_cast<std::uintptr_t>(words) + 15) &
                                   ~std::uintptr_t{15});
  void** w = words;
  *w++ = reinterpret_cast<void*>(argc);
  for (char* a : rank.arguments) *w++ = a;
  for (char* e : rank.environment) *w++ = e;
  *w++ = nullptr;
  *w++ = nullptr;
  set_stack_end(rank, words);
  if (setjmp(rank.begin) == 0) machine::enter(rank.entry, words);  // comes back from our
}  // __libc_start_main

[[gnu::noinline]] void run(Rank& rank) {
  if (setjmp(rank.end) != 0) return;
  find_main(rank);
  run_constructors(rank);
  char** arguments = rank.arguments.data();
  exit(rank.main(static_cast<int>(rank.arguments.size()) - 1, arguments, rank.environ_array()));
}

// As debuggers and top show it: the program and the rank, cut to the kernel's 15 letters.
void name_thread(const Rank& rank) {
  const std::string number = "." + std::to_string(rank.world);
  const std::string name = std::string(program_invocation_short_name).substr(0, 15 - number.size());
  pthread_setname_np(pthread_self(), (name + number).c_str());
}

std::uintptr_t find_stack_end() {
  pthread_attr_t attributes;
  void* lowest = nullptr;
  std::size_t bytes = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  pthread_attr_getstack(&attributes, &lowest, &bytes);
  pthread_attr_destroy(&attributes);
  return reinterpret_cast<std::uintptr_t>(lowest);
}

void* rank_thread(void* argument) {
  Rank& rank = *static_cast<Rank*>(argument);
  name_thread(rank);
  rank.thread = pthread_self();
  rank.thread_id = static_cast<pid_t>(syscall(SYS_gettid));
  the_host->descriptors.isolate(rank.standard);
  for (int i = 0; i < 3; i++) rank.streams[i]->_fileno = i;  // libc has no function for this
  the_host->isolated++;
  the_host->isolated.notify_one();
  the_host->may_run.wait(false);
  // So that a stack overflow can be reported; a sanitizer has made a stack for that already.
  stack_t stack{}, old{};
  sigaltstack(nullptr, &old);
  stack.ss_sp = rank.fault_stack;
  stack.ss_size = sizeof rank.fault_stack;
  if (old.ss_flags & SS_DISABLE) sigaltstack(&stack, nullptr);
  rank.stack_end = find_stack_end();
  rank.members.expect();
  bind(rank);
  run(rank);
  pthread_setspecific(unbind_key(), nullptr);
  finish(rank);
  return nullptr;
}

}  // namespace

void fill_thread_local_data(const Rank& rank) {
  if (rank.tls_bytes == 0) return;
  char* at = machine::thread_pointer() - machine::tls_distance(rank.tls_bytes, rank.tls_align);
  std::memcpy(at, rank.tls_image, rank.tls_file_bytes);
  std::memset(at + rank.tls_file_bytes, 0, rank.tls_bytes - rank.tls_file_bytes);
}

void adopt_thread(Rank& rank) {
  bind(rank);
}

void run_constructors(Rank& rank) {
  const int argc = static_cast<int>(rank.arguments.size()) - 1;
  char** argv = rank.arguments.data();
  if (!rank.loaded.front().initialised)
    for (auto f : rank.program->preinit) f(argc, argv, rank.environ_array());
  for (Loaded& l : rank.loaded) {  // one may load more, and initialises it itself
    if (std::exchange(l.initialised, true)) continue;
    if (l.init) l.init();
    for (auto f : l.constructors) f(argc, argv, rank.environ_array());
  }
}

void run_destructors(Loaded& l) {
  while (!l.destructors.empty()) {
    auto f = l.destructors.back();
    l.destructors.pop_back();
    f();
  }
  if (auto f = std::exchange(l.fini, nullptr)) f();
}

void run_exit_handlers(Rank& rank) {
  // Destructors of this thread's thread_local objects; exit is the only way to them from outside.
  static auto* thread_destructors =
      reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "__call_tls_dtors"));
  if (thread_destructors) thread_destructors();
  // Each entry is taken off before it is called: it may call exit itself.
  for (;;) {
    std::unique_lock guard(rank.lock);
    if (rank.exit_handlers.empty()) break;
    const ExitHandler h = rank.exit_handlers.back();
    rank.exit_handlers.pop_back();
    guard.unlock();
    if (h.plain) h.plain(h.argument);
    if (h.with_status) h.with_status(rank.status, h.argument);
  }
  for (auto l = rank.loaded.rbegin(); l != rank.loaded.rend(); ++l) run_destructors(*l);
  flush_at_exit(rank);
}

namespace {

int create(Rank& rank, const std::vector<int>& cpus) {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  int e = pthread_attr_setstacksize(&attributes, the_host->stack_bytes);
  if (e == 0) e = pthread_attr_setguardsize(&attributes, stack_guard_bytes);
  if (e == 0 && !cpus.empty()) {
    cpu_set_t set;
    CPU_ZERO(&set);
    for (int c : cpus) CPU_SET(c, &set);
    e = pthread_attr_setaffinity_np(&attributes, sizeof set, &set);
  }
  if (e == 0) e = pthread_create(&rank.thread, &attributes, rank_thread, &rank);
  pthread_attr_destroy(&attributes);
  return e;
}

}  // namespace

std::string start(Rank& rank) {
  int e = create(rank, parse_cpus(rank.cpus));
  // CPUs that the process may not use, or a sandbox: no reason not to run.
  if (e != 0 && e != EAGAIN && !rank.cpus.empty()) e = create(rank, {});
  if (e == 0) return {};
  return "the thread of rank " + std::to_string(rank.world) + " with a stack of " +
         std::to_string(the_host->stack_bytes >> 10) +
         " KiB could not be made: " + std::strerror(e) + limit_behind(e) +
         (e == EAGAIN ? "; try fewer ranks or a smaller stack (--stack 1M)" : "");
}

}  // namespace weft::host

extern "C" [[gnu::visibility("default")]] void weft_host_arguments(int world_rank, int* argc,
                                                                   char*** argv) {
  for (auto& rank : weft::host::the_host->ranks)
    if (rank->world == world_rank) {
      *argc = static_cast<int>(rank->arguments.size()) - 1;
      *argv = rank->arguments.data();
    }
}

extern "C" [[gnu::visibility("default")]] void weft_host_flush() {
  weft::host::Rank* rank = weft::host::current();
  FILE* out = rank ? rank->stream(weft::host::var_stdout) : stdout;
  if (!out || ftrylockfile(out) != 0) return;
  fflush_unlocked(out);
  funlockfile(out);
}

// A program's own _start calls this with its main; on a rank's thread that is all we want of it.
extern "C" [[gnu::visibility("default")]] int __libc_start_main(int (*main)(int, char**, char**),
                                                                int argc, char** argv,
                                                                void (*init)(), void (*fini)(),
                                                                void (*rtld_fini)(),
                                                                void* stack_end) {
  using namespace weft::host;
  static constinit Next<int(int (*)(int, char**, char**), int, char**, void (*)(), void (*)(),
                            void (*)(), void*)>
      real{"__libc_start_main"};
  if (Rank* rank = current()) {
    rank->main = main;
    longjmp(rank->begin, 1);
  }
  return real(main, argc, argv, init, fini, rtld_fini, stack_end);
}
