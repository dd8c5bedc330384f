// SPDX-License-Identifier: Apache-2.0
//
// What a process has once and a rank that is a thread needs for itself: its images, its
// environment, its streams, its exit handlers, its signal table. The interposers (interpose_*.cc)
// find it through current(); on threads that belong to no rank they call libc's own function.
#pragma once

#include <link.h>
#include <locale.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <atomic>
#include <cstddef>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#include "members.h"
#include "thread_keys.h"
#include "variables.h"

namespace weft::host {

/// Below a rank's stack: as far as a large array may reach past its end and still be noticed.
inline constexpr std::size_t stack_guard_bytes = 64 << 20;

/// A private image as it lies in memory. Functions are absolute addresses.
struct Loaded {
  ElfW(Addr) base = 0, low = 0, high = 0;
  int image = 0;               // index in the plan
  std::size_t tls_module = 0;  // ld.so's number for its thread-local data
  std::string path;            // of the copy: the name that ld.so knows it by
  using Function = void (*)();
  using Constructor = void (*)(int, char**, char**);
  Function init = nullptr, fini = nullptr;
  std::vector<Constructor> preinit, constructors;
  std::vector<Function> destructors;  // in the order of the table: run backwards
  bool initialised = false;           // its constructors ran, or run
  bool finished = false;              // so did its destructors, when it was closed
  bool stays = false;                 // dlclose does not take it away
  std::vector<int> also_needs;        // images, beyond what the plan says
};

/// What dlopen has returned to a rank.
struct Plugin {
  int image;
  void* handle;  // ld.so's
  unsigned count;
};

struct ExitHandler {
  void (*with_status)(int, void*);  // on_exit
  void (*plain)(void*);             // __cxa_atexit
  void* argument;
  void* dso;
};

/// What pthread_atfork was given.
struct ForkHandler {
  void (*before)();
  void (*in_parent)();
  void (*in_child)();
  void* dso;
};

inline std::size_t only_count = 0;
template <class T>
inline const std::size_t only_index = only_count++;

struct Rank {
  int world = 0;
  pthread_t thread{};
  pid_t thread_id = 0;  // its process id as far as it knows; 0 before it runs and after it ended
  std::string cpus;     // cpulist, empty: where the process may run

  std::vector<std::string> argument_text;
  std::vector<char*> arguments;          // ends with nullptr
  std::vector<char*> environment;        // what the rank started with; ends with nullptr
  void* variables[variable_count] = {};  // where the rank's lie
  struct {
    alignas(void*) std::byte bytes[largest_variable];
  } own_variables[variable_count] = {};  // for those that the program does not have
  int standard[3] = {};   // where its descriptors 0, 1 and 2 come from, in the host's table
  FILE* streams[3] = {};  // as made by the host
  std::unordered_set<FILE*> files;  // those it has open, the three above included

  std::list<Loaded> loaded;         // in initialisation order
  std::vector<Plugin> plugins;      // that are open
  std::vector<int> global_plugins;  // images that later plugins may use symbols of
  bool unloads = false;             // inside dlclose
  const Loaded* program = nullptr;
  ElfW(Addr) entry = 0;
  int (*main)(int, char**, char**) = nullptr;
  const std::byte* tls_image = nullptr;  // initial values of the program's thread-local data
  std::size_t tls_file_bytes = 0, tls_bytes = 0, tls_align = 1;

  std::mutex only_lock;
  std::vector<std::shared_ptr<void>> onlies;

  void* main_result = nullptr;  // of pthread_exit on the main thread

  jmp_buf begin, end;  // into rank_thread.cc
  int status = 0;
  int how = 0;  // enum weft_host_how
  // exit handlers, environment, files, plugins; before the host's locks
  std::recursive_mutex lock;
  std::vector<ExitHandler> exit_handlers;
  std::vector<ForkHandler> fork_handlers;
  Members members;
  ThreadKeys keys;
  struct rusage children_usage {};
  std::vector<std::pair<FILE*, pid_t>> pipes;  // popen

  struct sigaction actions[65] = {};
  std::atomic<unsigned> handled{0};       // signals that its handlers took; relaxed: see wait_for()
  sigset_t interrupting{};                // by siginterrupt
  std::atomic<locale_t> locale{nullptr};  // by setlocale; nullptr: "C"
  char* token = nullptr;                  // strtok
  int option_place = 0;                   // getopt: position inside a cluster of short options
  int option_next = 1;                    // getopt: the first argument not looked at yet
  struct random_data random {};
  char random_state[128] = {};
  struct drand48_data drand48 {};
  alignas(16) std::byte fault_stack[32 * 1024];
  std::uintptr_t stack_end =
      0;  // its lowest address; below lies stack_guard_bytes that cannot be accessed

  /// The rank's only object of type T, made when it is first asked for: what a family of functions
  /// keeps between calls.
  template <class T>
  T& only() {
    std::scoped_lock guard(only_lock);
    if (onlies.size() <= only_index<T>) onlies.resize(only_index<T> + 1);
    auto& p = onlies[only_index<T>];
    if (!p) p = std::make_shared<T>();
    return *static_cast<T*>(p.get());
  }
  template <class T>
  T& variable(Variable v) {
    return *static_cast<T*>(variables[v]);
  }
  int& number(Variable v) { return variable<int>(v); }
  char*& option_argument() { return variable<char*>(var_optarg); }
  FILE*& stream(Variable v) { return variable<FILE*>(v); }
  char**& environ_array() { return variable<char**>(var_environ); }

  /// This rank's copy of an image of the plan that was loaded before.
  const Loaded& copy_of(int image) const {
    for (const Loaded& l : loaded)
      if (l.image == image) return l;
    __builtin_trap();
  }
  /// The image of this rank that `address` lies in, or nullptr.
  const Loaded* owner(const void* address) const {
    const auto a = reinterpret_cast<ElfW(Addr)>(address);
    for (const Loaded& l : loaded)
      if (a >= l.low && a < l.high) return &l;
    return nullptr;
  }
};

/// The rank that the calling thread belongs to; nullptr for the host's own threads.
extern thread_local Rank* current_rank;
inline Rank* current() {
  return current_rank;
}

/// For its lifetime the calling thread is the host's own: libc's functions mean the process.
class AsHost {
 public:
  AsHost() : rank_(current_rank) { current_rank = nullptr; }
  ~AsHost() { current_rank = rank_; }
  AsHost(const AsHost&) = delete;
  AsHost& operator=(const AsHost&) = delete;

 private:
  Rank* rank_;
};

}  // namespace weft::host
