// SPDX-License-Identifier: Apache-2.0
//
// The rank host's main function: read what mpiexec says, plan, load a copy of the program per rank,
// start their threads, wait for them. Exit status: that of the first rank that failed, or 90 when
// the program cannot run with its ranks as threads.
#include "host.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio_ext.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <weft/host.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "base/limits.h"
#include "restart.h"
#include "settings.h"

#pragma weak weft_host_attach
#pragma weak weft_host_refused

namespace weft::host {

Host* the_host = nullptr;

namespace {

constexpr int refused = 90;

/// Tell mpiexec, if it wants to know, that this process cannot run its ranks; nullptr: that they
/// begin.
bool tell_launcher(const Settings& s, const char* reason) {
  if (!s.or_processes || !weft_host_refused || s.job_descriptor < 0) return false;
  weft_host_refused(s.job_descriptor, s.first_rank, reason);
  return true;
}

int refuse(const Settings& s, const std::string& reason) {
  if (!tell_launcher(s, reason.c_str()))
    fprintf(stderr, "weft: ranks cannot be threads: %s\n", reason.c_str());
  return refused;
}

/// As execvp would find it.
std::string find_program(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  std::string path = getenv("PATH") ? getenv("PATH") : "/bin:/usr/bin";
  for (std::size_t at = 0; at <= path.size();) {
    const std::size_t end = std::min(path.find(':', at), path.size());
    const std::string candidate = path.substr(at, end - at) + '/' + name;
    if (access(candidate.c_str(), X_OK) == 0) return candidate;
    at = end + 1;
  }
  return name;
}

// Shared: by name, or because this process has it already (libmpi_abi and what it needs).
bool is_shared_here(const std::string& name) {
  if (is_shared_by_name(name)) return true;
  if (is_private_by_name(name)) return false;
  void* handle = dlopen(name.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  return handle != nullptr;
}

std::size_t default_stack_bytes() {
  struct rlimit limit;
  if (getrlimit(RLIMIT_STACK, &limit) != 0) return 8 << 20;
  return limit.rlim_cur == RLIM_INFINITY ? std::size_t{1} << 30 : limit.rlim_cur;
}

/// Where a rank's standard input comes from. It is one rank's (or everybody's, each with a position
/// of its own); others read the host's, which is empty.
int open_input(int rank, int reader) {
  constexpr int everybody = -2;
  if (rank == reader) return the_host->input;
  if (reader != everybody) return 0;
  const std::string path = "/proc/self/fd/" + std::to_string(the_host->input);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fd;
  lseek(fd, lseek(the_host->input, 0, SEEK_CUR), SEEK_SET);
  the_host->descriptors.add(fd);
  return fd;
}

/// Before libc reads from a terminal it writes out what it takes for the program's standard output,
/// if that goes line by line. As a stream of our own, standard input can take the rank's.
FILE* open_terminal() {
  cookie_io_functions_t functions{};
  functions.read = [](void*, char* data, std::size_t bytes) -> ssize_t {
    FILE* printed = current()->stream(var_stdout);
    if (printed && __flbf(printed)) fflush(printed);
    return read(0, data, bytes);
  };
  functions.close = [](void*) { return close(0); };
  return fopencookie(nullptr, "r", functions);
}

std::string open_streams(Rank& rank, const Settings& s, std::size_t index) {
  auto own = [&](const std::vector<int>& given, int standard) {
    int fd = given.empty() ? standard : given[index];
    if (fd < 3) fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    the_host->descriptors.add(fd);
    return fd;
  };
  rank.standard[0] = s.in.empty() ? open_input(rank.world, s.reader) : own(s.in, 0);
  rank.standard[1] = own(s.out, 1);
  rank.standard[2] = own(s.err, 2);
  const char* modes[] = {"r", "w", "w"};
  for (int i = 0; i < 3; i++)
    rank.streams[i] =
        i == 0 && isatty(rank.standard[0]) ? open_terminal() : fdopen(rank.standard[i], modes[i]);
  for (FILE* f : rank.streams)
    if (!f)
      return std::string("a standard stream could not be opened: ") + std::strerror(errno) +
             limit_behind(errno);
  setvbuf(rank.streams[2], nullptr, _IONBF, 0);
  rank.files.insert(std::begin(rank.streams), std::end(rank.streams));
  return {};
}

/// What the process has, a rank begins with: the C library's variables, signals that are ignored.
void inherit(Rank& rank) {
  for (int i = 0; i < variable_count; i++) {
    const auto v = static_cast<Variable>(i);
    if (const ElfW(Addr) initial = address_in_process(v))
      std::memcpy(&rank.own_variables[v], reinterpret_cast<void*>(initial), bytes_of(v));
  }
  for (int signal = 1; signal < NSIG; signal++) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
      rank.actions[signal].sa_handler = SIG_IGN;
  }
}

void set_up_libc_state(Rank& rank) {
  const Rank& first = *the_host->ranks.front();
  if (&rank == &first) {
    inherit(rank);
  } else {
    std::ranges::copy(first.own_variables, rank.own_variables);
    std::ranges::copy(first.actions, rank.actions);
  }
  for (int v = 0; v < variable_count; v++) rank.variables[v] = &rank.own_variables[v];
  for (int i = 0; i < 3; i++) rank.stream(static_cast<Variable>(var_stdin + i)) = rank.streams[i];
  rank.environ_array() = rank.environment.data();
  rank.variable<char>(var_single_threaded) =
      0;  // libc does not tell the program's copy when it ends
  initstate_r(1, rank.random_state, sizeof rank.random_state, &rank.random);
}

std::string make_rank(const Settings& s, std::size_t index) {
  auto& rank = *the_host->ranks.emplace_back(std::make_unique<Rank>());
  rank.world = s.first_rank + static_cast<int>(index);
  if (!s.cpus.empty()) rank.cpus = s.cpus[index];
  rank.environment = rank_environment(s, rank.world, rank.cpus);
  for (const std::string& a : s.arguments) rank.arguments.push_back(strdup(a.c_str()));
  rank.arguments.push_back(nullptr);
  if (auto e = open_streams(rank, s, index); !e.empty()) return e;
  set_up_libc_state(rank);

  std::string error;
  if (!the_host->loader->load(rank, 0, error)) return error;
  const Image& image = the_host->plan.program();
  rank.program = &rank.loaded.back();
  rank.entry = rank.program->base + image.header().e_entry;
  if (const ElfW(Phdr)* tls = image.segment(PT_TLS)) {
    rank.tls_image = reinterpret_cast<const std::byte*>(rank.program->base + tls->p_vaddr);
    rank.tls_file_bytes = tls->p_filesz;
    rank.tls_bytes = tls->p_memsz;
    rank.tls_align = tls->p_align;
  }
  return {};
}

/// While ranks are made, all their descriptors are in one table; ranks keep the user's limit.
void raise_file_limit() {
  if (getrlimit(RLIMIT_NOFILE, &the_host->user_files) != 0) return;
  rlimit limit = the_host->user_files;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::string make_store(const Settings& s) {
  std::string directory;
  if (s.debug) {
    directory = s.directory;
    if (directory.empty()) {
      const char* tmp = getenv("TMPDIR");
      directory = std::string(tmp && *tmp ? tmp : "/tmp") + "/weft-debug-XXXXXX";
      if (!mkdtemp(directory.data())) return directory + ": " + std::strerror(errno);
      the_host->own_directory = directory;
    }
  }
  the_host->store = std::make_unique<Store>(directory);
  return {};
}

/// Keep standard input for who reads it, and have an empty one, which the others inherit.
std::string take_input() {
  the_host->input = fcntl(0, F_DUPFD_CLOEXEC, 3);
  const int empty = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (the_host->input < 0) the_host->input = fcntl(empty, F_DUPFD_CLOEXEC, 3);  // it was closed
  if (the_host->input < 0 || dup2(empty, 0) != 0)
    return std::string("standard input cannot be set up: ") + std::strerror(errno);
  if (empty != 0) close(empty);
  the_host->descriptors.add(the_host->input);
  return {};
}

std::string prepare(const Settings& s, char** argv) {
  dlerror();  // the interposer looks for libc's once, which would forget an error
  const std::string path = find_program(s.arguments[0]);
  if (auto e = make_plan(path, s.tools, is_shared_here, the_host->plan); !e.empty()) return e;
  if (auto e = restart_if_needed(the_host->plan, s.rank_count, argv); !e.empty()) return e;
  raise_file_limit();
  restore_environment();
  if (auto e = make_store(s); !e.empty()) return e;
  the_host->loader = std::make_unique<Loader>(the_host->plan, *the_host->store);
  the_host->stack_bytes = (s.stack_bytes ? s.stack_bytes : default_stack_bytes()) +
                          static_tls_bytes(the_host->plan, s.rank_count) + tls_reserve_bytes;
  program_invocation_name = strdup(s.arguments[0].c_str());
  program_invocation_short_name = basename(program_invocation_name);
  prctl(PR_SET_NAME, program_invocation_short_name);
  if (auto e = take_input(); !e.empty()) return e;
  for (int i = 0; i < s.rank_count; i++)
    if (auto e = make_rank(s, static_cast<std::size_t>(i)); !e.empty()) return e;
  return {};
}

/// Load the program as if to run it, in a child: ld.so does not survive every file. Prints why it
/// cannot run, if so.
int check(const Settings& s, char** argv) {
  int ends[2];
  std::string reason;
  if (pipe2(ends, O_CLOEXEC) != 0) return refused;
  const pid_t child = fork();
  if (child == 0) {
    reason = prepare(s, argv);
    const auto bytes = static_cast<ssize_t>(reason.size());
    _exit(write(ends[1], reason.data(), reason.size()) == bytes ? 0 : refused);
  }
  close(ends[1]);
  char text[1024];
  for (ssize_t n; (n = read(ends[0], text, sizeof text)) > 0;)
    reason.append(text, static_cast<std::size_t>(n));
  int status = 0;
  waitpid(child, &status, 0);
  if (reason.empty() && status == 0) return 0;
  if (reason.empty()) reason = s.arguments[0] + " is damaged: the dynamic linker fails on it";
  printf("%s\n", reason.c_str());
  return refused;
}

/// Start all ranks' threads, and let them run when all exist. "" or an error text.
std::string start_ranks(const Settings& s) {
  for (auto& rank : the_host->ranks)
    if (auto e = start(*rank); !e.empty()) return e;
  const std::size_t all = the_host->ranks.size();
  for (std::size_t n = 0; (n = the_host->isolated) < all;) the_host->isolated.wait(n);
  tell_launcher(s, nullptr);
  the_host->may_run = true;  // with --or-processes they waited for this
  the_host->may_run.notify_all();
  the_host->descriptors.close_all();  // so that a rank's pipes end when it does
  return {};
}

}  // namespace

void remove_directory(const std::string& directory) {
  std::error_code ignored;
  std::filesystem::remove_all(directory, ignored);
}

}  // namespace weft::host

using namespace weft::host;

extern "C" [[gnu::visibility("default")]] int weft_rankhost_main(int argc, char** argv) {
  Settings settings;
  if (auto e = settings.read(argc, argv); !e.empty()) {
    fprintf(stderr, "weft-rankhost: %s\n", e.c_str());
    return 2;
  }
  the_host = new Host;
  the_host->program = settings.arguments[0];
  the_host->pid = getpid();
  the_host->has_launcher = settings.job_descriptor >= 0;
  if (settings.check_only) return check(settings, argv);
  tell_launcher(settings, "the dynamic linker fails on it");  // if nobody gets to say more
  std::string error = prepare(settings, argv);
  if (error.empty()) {
    install_fault_handlers();
    handle_forks();
    handle_full_obstacks();
    if (weft_host_attach) {  // the library makes itself ready while there is one thread
      weft_host_attach(settings.first_rank);
      weft_host_attach(-1);
    }
    the_host->descriptors.seal();
    if (the_host->user_files.rlim_cur > 0) setrlimit(RLIMIT_NOFILE, &the_host->user_files);
    the_host->may_run = !settings.or_processes;
    error = start_ranks(settings);
  }
  if (error.empty())
    for (auto& rank : the_host->ranks) pthread_join(rank->thread, nullptr);
  if (!the_host->own_directory.empty()) remove_directory(the_host->own_directory);
  if (error.empty()) return the_host->first_failure;
  _exit(refuse(settings, error));  // threads of ranks may wait for the others
}
