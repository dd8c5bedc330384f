// SPDX-License-Identifier: Apache-2.0
//
// One thread, one poll loop: ranks' pipes, our own stdout and stderr when they have to wait, the
// terminal, orders from the supervisor, and SIGCHLD. The job ends in stages: running, asked to end
// (SIGTERM), killed (SIGKILL); after the last process nothing below us is left alive, and what the
// pipes still hold is passed on.
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"
#include "child.h"
#include "families.h"
#include "frames.h"
#include "hangs.h"
#include "input.h"
#include "order.h"
#include "outcome.h"
#include "output.h"
#include "packing.h"
#include "shm/deaths.h"
#include "supervisor.h"

namespace weft::launch {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds before_kill{200};       // between SIGTERM and SIGKILL
constexpr milliseconds after_interrupt{1000};  // a rank died of the user's signal; the others' time
constexpr milliseconds terminal_check{250};    // is the terminal ours again?
constexpr milliseconds host_check{10};         // have its ranks begun?
constexpr milliseconds before_leaving{500};    // a pipe that does not end although all ranks did
constexpr std::time_t forever_s = 1 << 30;

/// Has the program a handler of its own? Otherwise the signal would kill it.
bool handles_signal(pid_t pid, int signal) {
  char path[64], line[256];
  snprintf(path, sizeof path, "/proc/%d/status", pid);
  FILE* status = fopen(path, "re");
  unsigned long long caught = 0;
  while (status != nullptr && fgets(line, sizeof line, status) != nullptr)
    if (sscanf(line, "SigCgt: %llx", &caught) == 1) break;
  if (status != nullptr) fclose(status);
  return (caught >> (signal - 1) & 1) != 0;
}

class Run : Families::Parent {
 public:
  Run(const Options& options, Plan& plan, memory::Job& job, int orders, const sigset_t& mask,
      const Upstream* upstream)
      : options_(options),
        plan_(plan),
        job_(job),
        orders_(orders),
        upstream_(upstream),
        mask_(mask),
        hangs_(plan, job, upstream != nullptr),
        input_(options.input, terminal_),
        output_(terminal_, options, upstream),
        families_(options, job, *this, sender()) {}

  int operator()();
  /// The processes of the start were started by others, and are there.
  void attend();

 private:
  enum class Stage { running, asked, killed };
  struct Child {
    pid_t pid = 0;
    bool running = false;
  };
  /// A rank that others have started; its process is not ours to wait for.
  struct Attended {
    int rank;
    pid_t pid;
    int end;  // becomes readable when it ends (a pidfd); then -1
  };
  /// What a process gets of its ranks' streams; ours to close.
  struct Streams {
    int in = -1;  // its reader's
    std::vector<int> copies, out, err;
    ~Streams();
  };

  void start_all();
  /// What became of it: the end of the sentence "... cannot be started: ", and the exit code for
  /// it.
  struct Trouble {
    int exit_code = 0;
    std::string text;
  };
  bool start(std::size_t index);
  bool start(std::size_t index, Trouble* trouble);

  std::string start_spawned(std::vector<Process> processes) override;
  void kill_spawned(const memory::World& world) override;
  void kill_child(std::size_t index);
  void serve_orders();
  void note_end_of_start();
  void forget_spawned();
  void take_attended_end(Attended& attended);
  bool is_attending() const;
  bool open_streams(const Process& process, Streams* streams);

  void poll_once();
  timespec wait_time() const;
  void take_order();
  void take_user_signal();
  void look_for_hangs();
  void start_debugger(int rank);
  void take_ends();
  bool has_others() const;
  void take_end(std::size_t index, int status);
  bool may_be_replaced(const Process& process);
  bool start_as_processes(std::size_t index);
  void release_input();
  void check_clocks();

  void signal_all(int signal);
  void end_job(int exit_code, const std::string& message, bool is_consequence = false);
  void ask_to_end();
  Families::Send sender();
  void send_up(FrameKind kind, std::string_view payload);
  template <class T>
  void note(FrameKind kind, const T& value);
  void note_who_left(const Process& process);
  bool go_on_without(const Process& process, const Outcome& outcome);
  void kill_job();
  void finish_output();

  const Options& options_;
  Plan& plan_;
  memory::Job& job_;
  int orders_;
  const Upstream* upstream_;  // nullptr: all ranks are here
  sigset_t mask_;
  sigset_t wakers_;  // the mask while we wait: SIGCHLD comes through
  Hangs hangs_;
  Terminal terminal_;
  Input input_;
  bool input_is_released_ = false;
  int spare_input_ = -1;  // the reader's end of its terminal, for a process in place of its host
  Output output_;
  Lifeline lifeline_;
  std::vector<Child> children_;  // as plan_.processes
  std::size_t running_ = 0;
  std::optional<rlimit> user_files_;
  std::vector<Attended> attended_;
  Families families_;
  bool start_has_ended_ = false;
  bool is_dismissed_ = false;  // mpiexec will place no more

  Stage stage_ = Stage::running;
  bool hurry_ = false;  // interrupted or out of time: do not wait long for a slow reader
  bool left_ = false;   // orders ended, or the user insists: do not wait for readers
  int interrupted_ = 0;
  int exit_code_ = 0;
  std::optional<Clock::time_point> deadline_, kill_at_, wake_at_;
};

Run::Streams::~Streams() {
  for (const auto* list : {&copies, &out, &err})
    for (int fd : *list) close(fd);
  if (in >= 0) close(in);
}

bool Run::open_streams(const Process& process, Streams* streams) {
  for (int r = process.first; r < process.first + process.count; ++r) {
    Output::Ends ends;
    const bool done = output_.open(r, r == 0 || options_.terminals, &ends);
    if (ends.out >= 0) streams->out.push_back(ends.out);
    if (ends.err >= 0) streams->err.push_back(ends.err);
    if (!done) return false;
    if (input_.is_typed_for(r) && ends.in >= 0) {
      streams->in = ends.in;
      input_.type_into(ends.keys);
    } else if (ends.in >= 0) {
      close(ends.in);
      close(ends.keys);
    }
    if (!input_.is_copied() || process.is_spawned) continue;
    const int copy = input_.open_copy();
    if (copy < 0) return false;
    streams->copies.push_back(copy);
  }
  return true;
}

/// A host finds its ranks' streams by their numbers.
void hand_over(const std::vector<int>& streams, const char* variable, Process& process,
               std::vector<int>& inherited) {
  std::string numbers;
  for (int fd : streams) numbers += (numbers.empty() ? "" : ",") + std::to_string(fd);
  process.env.set(variable, numbers);
  inherited.insert(inherited.end(), streams.begin(), streams.end());
}

bool Run::start(std::size_t index) {
  Trouble trouble;
  if (start(index, &trouble)) return true;
  const Process& process = plan_.processes[index];
  end_job(trouble.exit_code, "weft: rank " + std::to_string(process.first) + " (" + process.name +
                                 ") cannot be started: " + trouble.text);
  return false;
}

bool Run::start(std::size_t index, Trouble* trouble) {
  Process& process = plan_.processes[index];
  Streams streams;
  pid_t pid = -1;
  std::string step =
      options_.out_files.empty() && options_.err_files.empty() ? "pipe" : "a file for its output";
  if (open_streams(process, &streams)) {
    std::vector<int> inherited{job_.fd()};
    if (process.is_host) {
      hand_over(streams.out, "WEFT_HOST_STDOUT", process, inherited);
      hand_over(streams.err, "WEFT_HOST_STDERR", process, inherited);
      if (!streams.copies.empty())
        hand_over(streams.copies, "WEFT_HOST_INPUTS", process, inherited);
    }
    std::vector<char*> argv;
    for (std::string& word : process.argv) argv.push_back(word.data());
    argv.push_back(nullptr);
    const std::vector<char*> env = process.env.block();
    Start s;
    s.path = process.path.c_str();
    s.argv = argv.data();
    s.env = env.data();
    s.directory = process.directory.empty() ? nullptr : process.directory.c_str();
    s.cpus = process.cpus;
    s.in = streams.in >= 0           ? streams.in
           : !streams.copies.empty() ? streams.copies[0]
           : process.is_spawned      ? input_.for_others()
                                     : input_.for_ranks(process.first, process.count);
    s.out = streams.out[0];
    s.err = streams.err[0];
    s.inherited = inherited;
    s.stack_bytes = process.is_host ? 0 : options_.stack_bytes;
    s.open_files = user_files_ ? &*user_files_ : nullptr;
    s.lifeline = &lifeline_;
    s.signal_mask = mask_;
    pid = start_process(s, step);
  }
  const int error = errno;
  if (pid > 0) {
    if (streams.in >= 0 && may_be_replaced(process)) std::swap(spare_input_, streams.in);
    children_[index] = {pid, true};
    ++running_;
    return true;
  }
  *trouble = {
      step == "execve" ? (error == ENOENT ? 127 : 126) : 1,
      step + ": " + strerror(error) +
          (error == ENOEXEC ? " (neither a program for this processor nor a script with a #! line)"
                            : limit_behind(error))};
  return false;
}

std::string Run::start_spawned(std::vector<Process> processes) {
  const std::size_t first = plan_.processes.size();
  std::move(processes.begin(), processes.end(), std::back_inserter(plan_.processes));
  children_.resize(plan_.processes.size());
  Trouble trouble;
  for (std::size_t i = first; i < children_.size(); ++i) {
    if (start(i, &trouble)) continue;
    for (std::size_t started = first; started < i; ++started) kill_child(started);
    return plan_.processes[i].name + " cannot be started: " + trouble.text;
  }
  return "";
}

void Run::kill_spawned(const memory::World& world) {
  for (std::size_t i = 0; i < children_.size(); ++i) {
    const Process& process = plan_.processes[i];
    if (process.is_spawned && process.first >= world.first && process.first < world.end())
      kill_child(i);
  }
}

void Run::kill_child(std::size_t index) {
  Child& child = children_[index];
  if (!child.running) return;
  child.running = false;
  --running_;
  signal_process(child.pid, SIGKILL);
  waitpid(child.pid, nullptr, 0);
}

/// Orders of a job that ends are not served: who gave them ends, too.
void Run::serve_orders() {
  for (const std::uint64_t order : families_.take())
    if (stage_ == Stage::running) families_.serve(order);
}

/// mpiexec is told once that no rank of the start runs here any more.
void Run::note_end_of_start() {
  if (upstream_ == nullptr || start_has_ended_ || is_attending()) return;
  for (std::size_t i = 0; i < children_.size(); ++i)
    if (children_[i].running && !plan_.processes[i].is_spawned) return;
  start_has_ended_ = true;
  note(FrameKind::ended, std::uint64_t{0});
}

void Run::attend() {
  cpu_set_t cpus, own;  // what is spawned may use those of all
  CPU_ZERO(&cpus);
  const Ranks here = options_.hosts.empty() ? Ranks{0, job_.size()} : options_.here();
  for (int rank = here.first; rank < here.end(); ++rank) {
    const pid_t pid = job_.entry(rank).pid.load(std::memory_order_relaxed);
    const int end = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (end < 0 && errno == ESRCH) continue;  // it is over
    if (end < 0)
      throw Failure{1, "weft: mpiexec cannot attend rank " + std::to_string(rank) +
                           ": pidfd_open: " + strerror(errno)};
    attended_.push_back({rank, pid, end});
    if (sched_getaffinity(pid, sizeof own, &own) == 0) CPU_OR(&cpus, &cpus, &own);
  }
  sched_setaffinity(0, sizeof cpus, &cpus);
}

bool Run::is_attending() const {
  return std::ranges::any_of(attended_, [](const Attended& a) { return a.end >= 0; });
}

/// What it has spawned and not said goodbye to ends with it.
void Run::take_attended_end(Attended& attended) {
  close(std::exchange(attended.end, -1));
  // acquire: pairs with MPI_Finalize
  const memory::RankState state = job_.entry(attended.rank).state.load(std::memory_order_acquire);
  if (state != memory::RankState::finalized) end_job(1, "");
  note_end_of_start();
}

/// Any number of ranks may be spawned, one after the other.
void Run::forget_spawned() {
  while (!children_.empty() && plan_.processes.back().is_spawned && !children_.back().running) {
    children_.pop_back();
    plan_.processes.pop_back();
  }
  output_.has_streams();
}

/// Starting thousands takes seconds. An order to end in the meantime ends the job: the rest would
/// never hear of it.
void Run::start_all() {
  constexpr std::size_t between_looks = 64;
  children_.resize(plan_.processes.size());
  for (std::size_t i = 0; i < plan_.processes.size(); ++i) {
    if (!start(i)) return;
    if (i % between_looks != between_looks - 1) continue;
    pollfd orders{orders_, POLLIN, 0};
    constexpr timespec now{0, 0};
    if (ppoll(&orders, 1, &now, nullptr) > 0) take_order();
    if (interrupted_ != 0) return end_job(128 + interrupted_, "");
    if (stage_ != Stage::running) return;
  }
}

void Run::signal_all(int signal) {
  for (const Child& child : children_)
    if (child.running) signal_process(child.pid, signal);
  for (const Attended& attended : attended_)
    if (attended.end >= 0) kill(attended.pid, signal);
}

void Run::end_job(int exit_code, const std::string& message, bool is_consequence) {
  if (stage_ != Stage::running) return;
  exit_code_ = exit_code;
  output_.drain();  // what the failed rank wrote comes before what we say about it
  if (upstream_ != nullptr)
    note(FrameKind::failed, Reason{exit_code, message.substr(0, longest_reason), is_consequence});
  else if (!message.empty())
    output_.say(message);
  ask_to_end();
}

void Run::ask_to_end() {
  stage_ = Stage::asked;
  signal_all(SIGTERM);
  signal_all(SIGCONT);
  kill_at_ = Clock::now() + before_kill;
}

/// Of frames to mpiexec, where that is above us.
Families::Send Run::sender() {
  if (upstream_ == nullptr) return {};
  return [this](FrameKind kind, std::string_view payload) { send_up(kind, payload); };
}

void Run::send_up(FrameKind kind, std::string_view payload) {
  const std::string frame = framed(kind, payload);
  if (write(upstream_->notes, frame.data(), frame.size()) < 0) kill_job();  // the agent is gone
}

template <class T>
void Run::note(FrameKind kind, const T& value) {
  send_up(kind, packed(value));
}

void Run::note_who_left(const Process& process) {
  for (int r = process.first; r < process.first + process.count; ++r)
    if (job_.entry(r).state.load(std::memory_order_relaxed) == memory::RankState::absent)
      note(FrameKind::left, r);
}

void Run::kill_job() {
  if (stage_ == Stage::running && exit_code_ == 0) exit_code_ = 128 + SIGKILL;
  stage_ = Stage::killed;
  kill_at_.reset();
  signal_all(SIGKILL);
}

/// One at a time: a rank may follow, written together with it.
void Run::take_order() {
  char order = 0;
  const ssize_t n = read(orders_, &order, 1);
  if (n <= 0) {  // the supervisor is gone
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    left_ = true;
    orders_ = -1;
    kill_job();
  } else if (order == order_to_end) {
    if (stage_ == Stage::running) ask_to_end();
  } else if (order == order_to_leave) {
    is_dismissed_ = true;
  } else if (order == order_to_debug) {
    std::int32_t rank = 0;
    if (read(orders_, &rank, sizeof rank) == sizeof rank) start_debugger(rank);
  } else if (order == SIGUSR1) {
    take_user_signal();
  } else if (!ends_jobs(order)) {
    if (order == SIGWINCH) output_.resize();
    if (order == SIGTSTP) terminal_.stop();
    if (order == SIGCONT) terminal_.go_on();
    signal_all(order);
  } else if (interrupted_ == 0 && stage_ == Stage::running &&
             (running_ > 0 || upstream_ != nullptr)) {
    interrupted_ = order;
    hurry_ = true;
    signal_all(order);
    signal_all(SIGCONT);
  } else {
    left_ = true;
    if (interrupted_ != 0) exit_code_ = 128 + order;
    kill_job();
  }
}

void Run::take_user_signal() {
  // Of ranks elsewhere the job's memory here knows nothing: mpiexec asks all agents.
  if (upstream_ == nullptr) output_.say(hangs_.look_now());
  for (const Child& child : children_)
    if (child.running && handles_signal(child.pid, SIGUSR1)) signal_process(child.pid, SIGUSR1);
}

/// It shows where all threads of the rank's process are, and lets it go on.
void Run::start_debugger(int rank) {
  if (stage_ != Stage::running) return;
  // relaxed: the rank waits, and has long had one
  const std::string pid = std::to_string(job_.entry(rank).pid.load(std::memory_order_relaxed));
  const std::string host = options_.hosts.empty() ? "" : " on " + options_.host().name;
  const int pipe = output_.open_pipe_to_errors("[pid " + pid + host + "] ");
  if (pipe < 0) return;
  const std::string command =
      "command -v gdb >/dev/null || exec echo 'weft: --hang=gdb needs gdb, which is not on the "
      "PATH'; echo \"weft: the threads of rank " +
      std::to_string(rank) + "'s process\"; exec gdb -p " + pid +
      " -batch -nx -iex 'set debuginfod enabled off' -ex 'thread apply all backtrace'";
  char shell[] = "/bin/sh", option[] = "-c";
  char* argv[] = {shell, option, const_cast<char*>(command.c_str()), nullptr};
  Start s;
  s.path = shell;
  s.argv = argv;
  s.env = environ;
  s.in = input_.for_others();
  s.out = s.err = pipe;
  s.lifeline = &lifeline_;
  s.signal_mask = mask_;
  std::string step;
  start_process(s, step);
  close(pipe);
}

void Run::look_for_hangs() {
  const std::string report = hangs_.look();
  if (report.empty()) return;
  output_.drain();
  if (options_.on_hang == OnHang::abort) return end_job(125, report);
  output_.say(report);
  if (options_.on_hang == OnHang::debugger)
    for (const std::int32_t rank : hangs_.to_debug()) start_debugger(rank);
}

/// As far as is known here: ranks of other hosts may be over.
bool Run::has_others() const {
  const int ranks = options_.ranks();
  return running_ > 0 ||
         (upstream_ != nullptr && (options_.here().count < ranks || job_.used() > ranks));
}

void Run::take_end(std::size_t index, int status) {
  children_[index].running = false;
  --running_;
  if (stage_ != Stage::running || start_as_processes(index)) return;
  const Process& process = plan_.processes[index];
  const Outcome outcome =
      judge(job_, {process.first, process.count, children_[index].pid, process.name, status,
                   has_others(), options_.hosts.empty() ? "" : options_.host().name});
  const bool by_user = interrupted_ != 0 && WIFSIGNALED(status) && WTERMSIG(status) == interrupted_;
  const bool nobody_reads =
      WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE && output_.reader_has_gone();
  if (by_user) {
    exit_code_ = exit_code_of(status);
    if (!kill_at_) kill_at_ = Clock::now() + after_interrupt;
  } else if (outcome.is_death && !nobody_reads && go_on_without(process, outcome)) {
    if (exit_code_ == 0) exit_code_ = outcome.exit_code;
  } else if (outcome.end_job) {
    end_job(outcome.exit_code, nobody_reads ? "" : outcome.message, outcome.is_consequence);
  } else {
    if (upstream_ != nullptr && !process.is_spawned) note_who_left(process);
    if (exit_code_ == 0) exit_code_ = outcome.exit_code;
  }
}

/// If all others want to. Those of other hosts are asked; one that does not ends the job. A
/// parent's death also ends its children.
bool Run::go_on_without(const Process& process, const Outcome& outcome) {
  const Ranks here = options_.here();
  if (process.is_spawned || families_.are_there() ||
      (running_ == 0 && here.count == options_.ranks()))
    return false;
  const auto is_here = [](const void* ranks, int rank) {
    return static_cast<const Ranks*>(ranks)->has(rank);
  };
  const memory::World dead{process.first, process.count};
  if (!shm::all_survive(job_, dead, is_here, &here)) return false;
  const std::string text = outcome.message.substr(0, longest_reason);
  char own[256] = "";
  if (options_.hosts.empty()) gethostname(own, sizeof own - 1);
  shm::mark_dead(job_, dead,
                 how_it_died(text, options_.hosts.empty() ? own : options_.host().name));
  output_.drain();
  if (upstream_ != nullptr)
    note(FrameKind::died, Death{dead.first, dead.size, {outcome.exit_code, text, false}});
  else
    output_.say(text + others_go_on);
  return true;
}

/// A host whose ranks have not begun; processes may take their place.
bool Run::may_be_replaced(const Process& process) {
  if (process.is_spawned || !process.is_host || options_.mode != RankMode::automatic) return false;
  return job_.entry(process.first).hosting.load(std::memory_order_relaxed) !=
         memory::Hosting::begun;
}

/// If the process was a host that could not run its program, and may be replaced.
bool Run::start_as_processes(std::size_t index) {
  const Process host = plan_.processes[index];
  memory::RankEntry& entry = job_.entry(host.first);
  // acquire: the text was written before (pairs with the release of the host)
  const memory::Hosting hosting = entry.hosting.load(std::memory_order_acquire);
  if (!may_be_replaced(host) || hosting != memory::Hosting::refused) return false;
  output_.say("weft: ranks of " + host.name + " are processes: " + job_.message(host.first));
  job_.message(host.first)[0] = '\0';
  entry.hosting.store(memory::Hosting::begun, std::memory_order_relaxed);  // somebody's; not again
  for (Process& process : as_processes(options_, host, job_)) {
    plan_.processes.push_back(std::move(process));
    children_.emplace_back();
    if (!start(plan_.processes.size() - 1)) break;
  }
  return true;
}

/// Our copies of what ranks read are no longer needed when nobody is to be started any more.
void Run::release_input() {
  if (input_is_released_ ||
      std::ranges::any_of(plan_.processes, [&](const Process& p) { return may_be_replaced(p); }))
    return;
  input_is_released_ = true;
  input_.ranks_started();
  if (spare_input_ >= 0) close(spare_input_);
  spare_input_ = -1;
}

void Run::take_ends() {
  std::vector<std::pair<std::size_t, int>> ended;
  int status = 0;
  pid_t pid = 0;
  while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
    const auto child = std::find_if(children_.begin(), children_.end(),
                                    [&](const Child& c) { return c.running && c.pid == pid; });
    if (child != children_.end())  // else a grandchild that lost its parent
      ended.emplace_back(child - children_.begin(), status);
  }
  if (pid < 0 && errno != ECHILD && errno != EINTR)
    throw Failure{1, std::string("weft: cannot wait for processes: ") + strerror(errno)};
  // Of several that ended together, one that died of a signal is the likely cause.
  std::stable_partition(ended.begin(), ended.end(),
                        [](const auto& e) { return WIFSIGNALED(e.second); });
  for (const auto& [index, end] : ended) {
    take_end(index, end);
    if (plan_.processes[index].is_spawned) families_.take_end(plan_.processes[index].first);
  }
  if (ended.empty()) return;
  forget_spawned();
  note_end_of_start();
}

void Run::check_clocks() {
  const Clock::time_point now = Clock::now();
  if (stage_ == Stage::running && running_ > 0) look_for_hangs();
  if (kill_at_ && now >= *kill_at_) kill_job();
  if (deadline_ && now >= *deadline_) {
    deadline_.reset();
    hurry_ = true;
    char text[128];
    snprintf(text, sizeof text, "weft: the job was stopped because it ran longer than %g s (%s)",
             options_.timeout_s, options_.timeout_from);
    end_job(124, text);
  }
  if (output_.next() && now >= *output_.next()) output_.show_partials();
}

timespec Run::wait_time() const {
  std::optional<Clock::time_point> next;
  const auto consider = [&next](const std::optional<Clock::time_point>& at) {
    if (at && (!next || *at < *next)) next = at;
  };
  consider(deadline_);
  consider(kill_at_);
  consider(wake_at_);
  consider(output_.next());
  if (!input_is_released_) consider(Clock::now() + host_check);
  if (input_.wants_checks()) consider(Clock::now() + terminal_check);
  if (hangs_.next_ns() > 0 && stage_ == Stage::running && running_ > 0)
    consider(Clock::time_point(std::chrono::nanoseconds(hangs_.next_ns())));
  if (!next) return {forever_s, 0};
  const auto ns = std::max<std::int64_t>(std::chrono::nanoseconds(*next - Clock::now()).count(), 0);
  return timespec_of(ns);
}

void Run::poll_once() {
  input_.see_to_terminal();
  std::vector<pollfd> fds{{orders_, POLLIN, 0}, {families_.fd(), POLLIN, 0}};
  const std::size_t attended = fds.size();
  for (const Attended& a : attended_) fds.push_back({a.end, POLLIN, 0});
  const std::size_t input = fds.size();
  input_.watch(fds);
  const std::size_t output = fds.size();
  output_.watch(fds);
  const timespec limit = wait_time();
  const int ready = ppoll(fds.data(), fds.size(), &limit, &wakers_);
  if (ready < 0 && errno != EINTR)
    throw Failure{1, std::string("weft: cannot wait for the ranks: ppoll: ") + strerror(errno)};
  if (ready > 0) {
    input_.serve(fds.data() + input);
    if (input_.has_hung_up()) output_.hang_up();
    output_.serve(fds.data() + output);
    if (fds[0].revents != 0) take_order();
    if (fds[1].revents != 0) serve_orders();
    for (std::size_t i = 0; i < attended_.size(); ++i)
      if (fds[attended + i].revents != 0) take_attended_end(attended_[i]);
  }
  take_ends();
  check_clocks();
}

void Run::finish_output() {
  kill_descendants();
  input_.close();
  Clock::time_point leave = Clock::now() + before_leaving;
  for (;;) {
    const bool waits = output_.waits_for_reader();
    if (left_ || (!output_.has_streams() && !waits)) break;
    // Somebody out of reach holds a pipe, or nobody reads what we say and the user wants an end.
    if ((!waits || hurry_) && Clock::now() >= leave) break;
    if (waits && !hurry_) leave = Clock::now() + before_leaving;
    wake_at_ = leave;
    poll_once();
  }
  output_.close();
}

int Run::operator()() {
  wakers_ = let_children_wake();
  user_files_ = raise_file_limit();  // two pipes per rank; ranks keep the limit the user gave
  if (!plan_.map.empty()) output_.say(plan_.map);
  if (options_.timeout_s > 0)
    deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(options_.timeout_s));
  start_all();
  note_end_of_start();  // there may be none here
  // Ranks of other hosts may spawn some here.
  const auto awaits_more = [this] {
    return upstream_ != nullptr && !is_dismissed_ && stage_ == Stage::running;
  };
  while (running_ > 0 || is_attending() || awaits_more()) {
    release_input();
    poll_once();
  }
  deadline_.reset();
  kill_at_.reset();
  finish_output();
  return exit_code_ == 0 && output_.is_lost() ? 1 : exit_code_;
}

}  // namespace

int run(const Options& options, Plan& plan, memory::Job& job, int orders, const sigset_t& mask,
        const Upstream* upstream) {
  return Run(options, plan, job, orders, mask, upstream)();
}

int attend(const Options& options, memory::Job& job, int orders, const sigset_t& mask,
           const Upstream* upstream) {
  Plan none;
  Run run(options, none, job, orders, mask, upstream);
  run.attend();
  return run();
}

}  // namespace weft::launch
