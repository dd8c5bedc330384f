// SPDX-License-Identifier: Apache-2.0
//
// The rank host as a whole: one per process, made by host.cc before any rank runs, never destroyed.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "children.h"
#include "isolate.h"
#include "load.h"
#include "plan.h"
#include "rank.h"
#include "search.h"

namespace weft::host {

struct Host {
  std::string program;  // as the user named it
  pid_t pid = 0;
  bool has_launcher = false;  // mpiexec tells the user how a rank died
  std::unique_ptr<Store> store;
  Plan plan;
  std::unique_ptr<Loader> loader;
  std::unique_ptr<Search> search;  // for plugins; nullptr until the first
  std::mutex plugin_lock;          // plan, loader, search once ranks run; after a rank's lock
  std::recursive_mutex libc_lock;  // libc's environment and what depends on it; after plugin_lock
  Children children;
  std::vector<std::unique_ptr<Rank>> ranks;
  Descriptors descriptors;
  int input = -1;                        // what one rank, or each of them, reads as its input
  std::atomic<std::size_t> isolated{0};  // so many ranks have left the host's table
  std::atomic<bool> may_run{false};      // a rank may begin although others may prove impossible
  rlimit user_files{};                   // of descriptors; 0: not known
  std::size_t stack_bytes = 0;
  std::atomic<int> first_failure{0};  // status of the first rank that ended with one
  std::string own_directory;          // made for --debug by this process, to be removed
};

/// nullptr before main and in programs that merely link this library.
extern Host* the_host;

/// The rank of the calling thread if an exit would end it alone: false in a child that it forked.
inline bool in_host_process() {
  return the_host && getpid() == the_host->pid;  // libc's getpid
}

/// Put the program's thread-local data where its code looks for it on the calling thread.
void fill_thread_local_data(const Rank& rank);
/// Bind the calling thread, which a rank has created (and expected: Members), to that rank until it
/// ends.
void adopt_thread(Rank& rank);
/// Start the rank's main thread. "" or an error text.
std::string start(Rank& rank);

/// Run what exit runs for a rank: handlers, destructors, its files.
void run_exit_handlers(Rank& rank);
/// Write out what the rank's files hold, whoever uses them.
void flush_at_exit(Rank& rank);
/// Take the rank's files away from it; what they still hold is lost, as with a process that ends.
void drop_files(Rank& rank);
/// Give the calling thread, which is new, the locale that its rank has set.
void use_locale_of_rank(const Rank& rank);
/// Constructors of loaded images that have not run yet.
void run_constructors(Rank& rank);
/// Destructors that have not run yet.
void run_destructors(Loaded& image);

/// Install the dispatcher for the signals that kill.
void install_fault_handlers();
/// In a child that `rank` forked: what it ignores stays ignored when the child becomes a program.
void keep_ignored_in_child(const Rank& rank, int signal);
/// Have the ranks' handlers called and the host's locks free around fork.
void handle_forks();
/// Have libc call the rank's handler when an obstack gets no memory. After variables were set up.
void handle_full_obstacks();

/// Write `text` to the calling thread's error stream; async-signal-safe.
void complain(const char* text);

void remove_directory(const std::string& directory);

}  // namespace weft::host

/// The interposer, as libweft_host's own and not as the first of its name.
extern "C" int pthread_create_of_rank(pthread_t* thread, const pthread_attr_t* attributes,
                                      void* (*function)(void*), void* argument) noexcept;
