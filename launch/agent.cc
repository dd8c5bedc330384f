// SPDX-License-Identifier: Apache-2.0
//
// One poll loop between mpiexec and the worker. Addresses of ranks in the network do not pass
// through the worker: the job's memory is mapped here too, and a thread sleeps for ranks that tell
// theirs.
#include "agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <thread>

#include "base/cpus.h"
#include "branches.h"
#include "child.h"
#include "debug_directory.h"
#include "far_hangs.h"
#include "frames.h"
#include "memory/addresses.h"
#include "order.h"
#include "outcome.h"
#include "packing.h"
#include "pulse.h"
#include "run.h"
#include "shm/deaths.h"
#include "spawned_here.h"
#include "supervisor.h"

extern char** environ;

namespace weft::launch {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

constexpr milliseconds before_kill{1000};  // for the worker to end the ranks, once nobody listens

struct Pipe {
  int read = -1, write = -1;
  void open() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
      throw Failure{1, std::string("weft: cannot make a pipe: ") + strerror(errno)};
    read = ends[0];
    write = ends[1];
  }
};

/// Says that we are here while the agent's loop, which does, is not running: to find a program and
/// to read it may take long. Nobody else uses the channel meanwhile.
class Beats {
 public:
  explicit Beats(Channel& channel)
      : thread_([this, &channel](const std::stop_token& over) {
          std::unique_lock guard(lock_);
          while (!over_.wait_for(guard, over, Pulse::turn, [&] { return over.stop_requested(); }))
            channel.send(FrameKind::beat);
        }) {}

 private:
  std::mutex lock_;
  std::condition_variable_any over_;
  std::jthread thread_;
};

void close_end(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

void never_block(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

/// stdin and stdout become mpiexec's alone: what a library prints goes to stderr.
int keep(int fd, int instead) {
  const int kept = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (kept < 0 || dup2(instead, fd) < 0)
    throw Failure{
        1, std::string("weft: the agent has no standard input and output: ") + strerror(errno)};
  return kept;
}

class Agent : public Branches::Listener {
 public:
  Agent(int in, int out) : head_(in, out) {}
  int operator()();

 private:
  /// Frames of the worker.
  struct Source {
    Pipe pipe;
    FrameReader frames;
  };

  void heard(int node, const Frame& frame) override;
  void noise(int node, std::string_view text) override;
  void lost(int node, const Loss& loss) override;
  void grow(Growth growth);
  void pass_down(const Unwrapped& inner);
  void take_for_all(const Unwrapped& inner);

  void greet();
  void take_frames();
  void take(const Frame& frame);
  void begin(const Order& order);
  void make_ready(const Order& order);
  void attach();
  void claim();
  /// Its worker has not been started so far.
  bool awaits_work() const { return input_.read >= 0; }
  void start_work();
  void enter(const Order& order);
  int work(int orders, const sigset_t& mask);
  void listen_for_tellers();
  int hosts_behind() const { return below_ ? below_->hosts() : 0; }
  Ranks ranks_behind() const;
  void have_begun(const Begun& begun);
  void tell_addresses();
  void gather(const Addresses& told);
  void learn(const Addresses& all);
  void learn(const Death& death);
  void look(const Look& look);

  void poll_once();
  void pass_on(Source& source);
  void pass_notes_on();
  void write_input();
  void take_signals();
  void take_ends();
  void take_turn();
  void order(const std::string& what);
  void end_job();
  void lose_head();
  void fail(int exit_code, const std::string& text);
  bool has_finished() const;

  Channel head_;
  bool head_is_gone_ = false;
  bool has_heard_ = false;
  int node_ = -1;  // its number; not known before the first frame for all
  Pulse pulse_;
  sigset_t mask_{};
  int signals_ = -1;
  int tellers_ = -1;

  Options options_;
  std::vector<Runnable> runnables_;
  std::unique_ptr<DebugDirectory> debug_directory_;
  memory::Job* job_ = nullptr;  // of the process, until it ends
  std::optional<SpawnedHere> spawned_;
  std::vector<bool> have_told_;  // their addresses: this host's ranks
  Addresses gathered_;           // of this host and those behind it; not passed on so far
  int passed_on_ = 0;            // that were
  Begun begun_;                  // of the same hosts

  std::optional<hang::Symbols> symbols_;
  std::optional<Branches> below_;
  std::optional<Worker> worker_;
  bool has_begun_ = false;
  int exit_code_ = 0;
  Pipe input_;
  Source output_, errors_, notes_;
  std::string input_queue_;
  bool input_ends_ = false;
  std::size_t untaken_ = 0;  // bytes of output that mpiexec has not passed on yet
  std::optional<Clock::time_point> kill_at_;
};

void Agent::greet() {
  head_.send(FrameKind::hello, packed(own_hello()));
  pulse_.begin(Clock::now());
}

void Agent::heard(int node, const Frame& frame) {
  const bool tells_addresses = frame.kind == FrameKind::addresses;
  if (!tells_addresses && frame.kind != FrameKind::begun)
    return head_.send(FrameKind::relayed, wrapped(node, frame.kind, frame.payload));
  if (!has_begun_) throw Failure{1, "an answer before a question"};
  if (tells_addresses)
    gather(unpacked<Addresses>(frame.payload));
  else
    have_begun(unpacked<Begun>(frame.payload));
}

void Agent::noise(int node, std::string_view text) {
  head_.send(FrameKind::relayed, wrapped(node, FrameKind::noise, text));
}

void Agent::lost(int node, const Loss& loss) {
  head_.send(FrameKind::relayed, wrapped(node, FrameKind::lost, packed(loss)));
}

void Agent::grow(Growth growth) {
  if (below_ || growth.hosts.empty() || growth.width < 1) throw Failure{1, "hosts a second time"};
  below_.emplace(std::move(growth), mask_, *this);
  below_->start();
}

void Agent::pass_down(const Unwrapped& inner) {
  if (!below_ || !below_->has(inner.node)) throw Failure{1, "a frame for a host not behind it"};
  below_->send(inner.node, inner.frame.kind, inner.frame.payload);
}

/// Those below first: they need not wait until it is done here.
void Agent::take_for_all(const Unwrapped& inner) {
  node_ = inner.node;
  if (below_) below_->send_all(inner.frame.kind, inner.frame.payload);
  take(inner.frame);
}

void Agent::fail(int exit_code, const std::string& text) {
  head_.send(FrameKind::failed, packed(Reason{exit_code, text}));
  if (exit_code_ == 0) exit_code_ = exit_code;
}

/// The directory and the variables of mpiexec.
void Agent::enter(const Order& order) {
  if (chdir(order.directory.c_str()) != 0)
    throw Failure{127, "weft: on " + options_.host().name + " the directory " + order.directory +
                           " in which mpiexec was started cannot be entered: " + strerror(errno) +
                           "; -wdir names another one"};
  for (const std::string& variable : order.environment)
    if (const std::size_t equals = variable.find('='); equals != variable.npos)
      setenv(variable.substr(0, equals).c_str(), variable.c_str() + equals + 1, 1);
}

void Agent::make_ready(const Order& order) {
  const Beats beats(head_);
  enter(order);
  debug_directory_ = std::make_unique<DebugDirectory>(options_.debug);
  if (options_.attends()) return attach();
  runnables_ = find_programs(options_);
  const Result<memory::Job*> job = memory::Job::create(
      options_.ranks(), usable_cpus(), Params::from_env(false), options_.node_of(), options_.slots);
  if (!job) throw Failure{1, std::string("weft: ") + last_error_text(job.err.cls)};
  job_ = job.value;
  job_->header().nodes = static_cast<std::uint32_t>(options_.hosts.size());
  job_->header().secret = order.secret;
  job_->header().identity = memory::identity_of(order.secret);
  job_->header().loopback = options_.loopback();
  job_->header().sharing =
      static_cast<std::uint32_t>(order.sharing[static_cast<std::size_t>(options_.node)]);
  if (job_->nodes() > 1) memory::promise_addresses(*job_);
}

/// To the memory of ranks that run already.
void Agent::attach() {
  const std::string& path = options_.memories[static_cast<std::size_t>(options_.node)];
  const int fd = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0)
    throw Failure{1, "weft: on " + options_.host().name + " the job's memory, " + path + " of " +
                         options_.here().text() + ", cannot be opened: " + strerror(errno)};
  const Result<memory::Job*> job = memory::Job::open(fd);
  if (!job) throw Failure{1, std::string("weft: ") + last_error_text(job.err.cls)};
  job_ = job.value;
  claim();
}

/// Ranks on several nodes may each have started an mpiexec. The one whose agent comes first on the
/// first node stays; on the others its agents wait for those of another one, which ends, to end.
void Agent::claim() {
  constexpr milliseconds for_another{5000}, between_looks{5};
  const Clock::time_point until = Clock::now() + for_another;
  std::atomic<std::int32_t>& agent = job_->header().agent;
  for (;;) {
    std::int32_t other = agent.load(std::memory_order_relaxed);
    const bool is_free = other == 0 || (::kill(other, 0) != 0 && errno == ESRCH);
    // acq_rel: pairs with launcher_has_ended(); after what the other one did
    if (is_free && agent.compare_exchange_strong(other, getpid(), std::memory_order_acq_rel)) break;
    if (options_.node == 0) throw Failure{0, ""};
    if (Clock::now() >= until)
      throw Failure{1, "weft: on " + options_.host().name + " process " + std::to_string(other) +
                           " starts what ranks of this job spawn"};
    std::this_thread::sleep_for(between_looks);
  }
  // relaxed: nobody takes orders until our worker says so
  job_->header().takes_orders.store(0, std::memory_order_relaxed);
}

/// Only variables of the host stay as they are.
void forget_environment() {
  std::vector<std::string> names;
  for (char** e = environ; e != nullptr && *e != nullptr; ++e)
    if (!is_of_a_host(*e)) names.emplace_back(*e, strcspn(*e, "="));
  for (const std::string& name : names) unsetenv(name.c_str());
}

void Agent::begin(const Order& order) {
  has_begun_ = true;
  options_ = order.options;
  try {
    forget_environment();
    make_ready(order);
    if (const std::string& name = options_.host().name;
        name != "localhost" && name.rfind("127.", 0) != 0)
      snprintf(job_->header().host, sizeof job_->header().host, "%s", name.c_str());
    job_->header().apart = job_->nodes() > 1 ? 1 : 0;
    spawned_.emplace(options_, *job_, [this](FrameKind kind, std::string_view payload) {
      head_.send(kind, payload);
    });
    have_told_.assign(static_cast<std::size_t>(options_.here().count), false);
    for (Pipe* pipe : {&input_, &output_.pipe, &errors_.pipe, &notes_.pipe}) pipe->open();
    for (int fd : {input_.write, output_.pipe.read, errors_.pipe.read, notes_.pipe.read})
      never_block(fd);
    if (!options_.attends()) start_work();
    if (job_->nodes() > 1) listen_for_tellers();
    have_begun({1, job_->places()});
  } catch (const Failure& failure) {
    fail(failure.exit_code, failure.text);
  }
}

void Agent::start_work() {
  const auto start = [](void* agent, int orders, const sigset_t& mask) {
    return static_cast<Agent*>(agent)->work(orders, mask);
  };
  worker_ = start_worker(start, this, mask_);
  for (int* fd : {&input_.read, &output_.pipe.write, &errors_.pipe.write, &notes_.pipe.write})
    close_end(*fd);
}

/// In the worker.
int Agent::work(int orders, const sigset_t& mask) {
  const int none = open("/dev/null", O_RDONLY | O_CLOEXEC);
  dup2(options_.input.is_among(options_.here()) ? input_.read : none, 0);
  const Upstream upstream{output_.pipe.write, errors_.pipe.write, notes_.pipe.write};
  head_.close();
  for (int* fd : {&input_.read, &input_.write, &output_.pipe.read, &errors_.pipe.read,
                  &notes_.pipe.read, &signals_, &tellers_})
    close_end(*fd);
  int exit_code = 1;
  try {
    for (const Runnable& runnable : runnables_)
      if (!runnable.note.empty()) fprintf(stderr, "%s\n", runnable.note.c_str());
    if (options_.attends()) return attend(options_, *job_, orders, mask, &upstream);
    Plan plan = make_plan(options_, runnables_, *job_, debug_directory_->path());
    exit_code = run(options_, plan, *job_, orders, mask, &upstream);
  } catch (const std::exception& trouble) {
    fprintf(stderr, "weft: mpiexec cannot go on: %s\n", trouble.what());
  } catch (const Failure& failure) {
    exit_code = failure.exit_code;
    const std::string frame =
        framed(FrameKind::failed, packed(Reason{failure.exit_code, failure.text}));
    if (write(upstream.notes, frame.data(), frame.size()) < 0) return exit_code;
  }
  return exit_code;
}

void Agent::listen_for_tellers() {
  std::thread([job = job_, fd = tellers_] {
    for (std::uint32_t seen = 0;;) {
      seen = memory::await_teller(*job, seen);
      if (eventfd_write(fd, 1) != 0) return;
    }
  }).detach();
}

/// Of this host and of those behind it.
Ranks Agent::ranks_behind() const {
  Ranks out = options_.here();
  const auto behind = options_.hosts.begin() + options_.node + 1;
  std::for_each(behind, behind + hosts_behind(),
                [&](const Host& host) { out.count += host.ranks; });
  return out;
}

/// In one frame, when all have.
void Agent::have_begun(const Begun& begun) {
  begun_ = begun_.and_also(begun);
  if (begun_.hosts == 1 + hosts_behind()) head_.send(FrameKind::begun, packed(begun_));
}

void Agent::tell_addresses() {
  eventfd_t count = 0;
  eventfd_read(tellers_, &count);
  const Ranks here = options_.here();
  if (spawned_) spawned_->look();
  Addresses told;
  for (int r = here.first; r < here.end(); ++r) {
    const auto at = static_cast<std::size_t>(r - here.first);
    if (have_told_[at]) continue;
    std::string text = memory::addresses_of(*job_, r);
    if (text.empty()) continue;
    have_told_[at] = true;
    told.emplace_back(r, std::move(text));
  }
  gather(told);
}

/// Passed on in two frames at most: of the first ranks, so that mpiexec knows that there are some,
/// and of all others.
void Agent::gather(const Addresses& told) {
  const Ranks all = ranks_behind();
  for (const auto& [rank, text] : told) {
    if (!all.has(rank)) throw Failure{1, "addresses of ranks that are not behind it"};
    gathered_.emplace_back(rank, text);
  }
  const int known = passed_on_ + static_cast<int>(gathered_.size());
  if (gathered_.empty() || (passed_on_ > 0 && known < all.count)) return;
  passed_on_ = known;
  head_.send(FrameKind::addresses, packed(gathered_));
  gathered_.clear();
}

void Agent::learn(const Addresses& all) {
  const Ranks here = options_.here();
  if (job_ == nullptr) throw Failure{1, "addresses before there is a job"};
  for (const auto& [rank, text] : all) {
    if (rank < 0 || rank >= job_->size()) throw Failure{1, "addresses of a rank that there is not"};
    // Ranks that run already may have asked their process manager.
    if (here.has(rank) || !memory::addresses_of(*job_, rank).empty()) continue;
    if (const Err e = memory::learn_addresses(*job_, rank, text)) {
      fail(1, std::string("weft: ") + last_error_text(e.cls));
      return;
    }
  }
  memory::all_addresses_known(*job_);
  // All agents of this mpiexec have claimed their node. Before, its end is to be nothing to ranks.
  if (awaits_work()) start_work();
}

/// Of ranks of other hosts.
void Agent::learn(const Death& death) {
  const memory::World dead{death.first, death.count};
  if (job_ == nullptr || dead.first < 0 || dead.size < 1 || dead.end() > job_->size())
    throw Failure{1, "ranks that died, which there are not"};
  const Ranks here = options_.here();
  const auto is_here = [](const void* ranks, int rank) {
    return static_cast<const Ranks*>(ranks)->has(rank);
  };
  if (spawned_->are_there() || !shm::all_survive(*job_, dead, is_here, &here))
    return fail(death.reason.exit_code, death.reason.text);
  shm::mark_dead(*job_, dead, how_it_died(death.reason.text, ""));
  head_.send(FrameKind::survives);
}

void Agent::look(const Look& look) {
  if (!spawned_) return;  // it is about to fail
  if (!symbols_) {
    std::vector<std::string> programs;
    for (const Runnable& runnable : runnables_) programs.push_back(runnable.path);
    symbols_.emplace(std::move(programs), true);
  }
  const auto is_here = [this](int rank) { return spawned_->is_here(rank); };
  head_.send(FrameKind::seen, packed(answer(look, *job_, is_here, *symbols_)));
}

void Agent::order(const std::string& what) {
  if (worker_ && worker_->orders >= 0 && write(worker_->orders, what.data(), what.size()) < 0)
    return;  // it ends
}

/// At once: the worker kills all ranks when its orders end.
void Agent::end_job() {
  if (worker_) close_end(worker_->orders);
  if (!kill_at_) kill_at_ = Clock::now() + before_kill;
}

/// The agents below notice the same, each by its own connection.
void Agent::lose_head() {
  head_is_gone_ = true;
  if (below_) below_->kill_all();
  end_job();
}

void Agent::take(const Frame& frame) {
  const auto begun = [&] {
    if (!has_begun_) throw Failure{1, "a frame about a job before its order"};
  };
  switch (frame.kind) {
    case FrameKind::order:
      if (has_begun_) throw Failure{1, "a second order"};
      return begin(read_order(frame.payload, node_));
    case FrameKind::addresses:
      return learn(unpacked<Addresses>(frame.payload));
    case FrameKind::died:
      begun();
      return learn(unpacked<Death>(frame.payload));
    case FrameKind::look:
      return look(unpacked<Look>(frame.payload));
    case FrameKind::input:
      begun();
      if (input_.write < 0)  // nobody reads here, but others may
        return head_.send(FrameKind::taken, packed(std::uint64_t{frame.payload.size()}));
      input_queue_ += frame.payload;
      if (input_queue_.size() > window_bytes) throw Failure{1, "more input than is allowed"};
      return write_input();
    case FrameKind::input_end:
      begun();
      input_ends_ = true;
      return write_input();
    case FrameKind::signal:
      begun();
      if (unpacked<char>(frame.payload) > 0) return order(frame.payload);
      throw Failure{1, "a signal without a number"};
    case FrameKind::end:
      begun();
      if (awaits_work())
        for (Pipe* pipe : {&input_, &output_.pipe, &errors_.pipe, &notes_.pipe})
          close_end(pipe->read);
      return order({order_to_end});
    case FrameKind::unwanted:
      return close_end(unpacked<FrameKind>(frame.payload) == FrameKind::output ? output_.pipe.read
                                                                               : errors_.pipe.read);
    case FrameKind::taken: {
      const auto bytes = unpacked<std::uint64_t>(frame.payload);
      if (bytes > untaken_) throw Failure{1, "more output is taken than there was"};
      untaken_ -= bytes;
      return;
    }
    case FrameKind::place:
    case FrameKind::answer:
    case FrameKind::withdraw:
    case FrameKind::reached:
    case FrameKind::vacate:
    case FrameKind::told:
    case FrameKind::leaving:
      if (!spawned_) throw Failure{1, "ranks that are spawned before there is a job"};
      return spawned_->take(frame);
    case FrameKind::dismiss:
      begun();
      return order({order_to_leave});
    case FrameKind::debug:
      begun();
      if (spawned_ && spawned_->is_here(unpacked<std::int32_t>(frame.payload)))
        return order(order_to_debug + frame.payload);
      throw Failure{1, "a rank to debug that it does not have"};
    case FrameKind::beat:
      return;
    case FrameKind::grow:
      return grow(unpacked<Growth>(frame.payload));
    case FrameKind::relayed:
      return pass_down(unwrapped(frame.payload));
    case FrameKind::for_all:
      return take_for_all(unwrapped(frame.payload));
    default:
      throw Failure{1, "a frame that only agents send"};
  }
}

void Agent::take_frames() {
  const bool goes_on = head_.read();
  has_heard_ = true;
  pulse_.heard();
  while (const std::optional<Frame> frame = head_.next()) take(*frame);
  if (goes_on) return;
  if (head_.ended_within_frame()) throw Failure{1, "the end of the input within a frame"};
  lose_head();
}

/// The worker speaks in frames, which mpiexec gets as they are.
void Agent::pass_on(Source& source) {
  char buffer[piece_bytes];
  const ssize_t n = read(source.pipe.read, buffer, sizeof buffer);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) return close_end(source.pipe.read);
  source.frames.add({buffer, static_cast<std::size_t>(n)});
  while (const std::optional<Frame> frame = source.frames.next()) {
    if (&source != &notes_) untaken_ += frame->payload.size();
    head_.send(frame->kind, frame->payload);
  }
}

/// What ranks wrote before comes first, as far as there is room.
void Agent::pass_notes_on() {
  for (Source* source : {&output_, &errors_}) {
    pollfd more{source->pipe.read, POLLIN, 0};
    while (source->pipe.read >= 0 && untaken_ < window_bytes && poll(&more, 1, 0) > 0)
      pass_on(*source);
  }
  if (spawned_) spawned_->look();  // before who has left has ended, and others get the places
  pass_on(notes_);
}

void Agent::write_input() {
  if (input_.write < 0) return;
  std::uint64_t taken = input_queue_.size();
  const ssize_t n = write(input_.write, input_queue_.data(), input_queue_.size());
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n >= 0) {
    taken = static_cast<std::uint64_t>(n);
    input_queue_.erase(0, taken);
  } else {  // nobody reads it
    input_queue_.clear();
    close_end(input_.write);
  }
  if (taken > 0) head_.send(FrameKind::taken, packed(taken));
  if (input_ends_ && input_queue_.empty()) close_end(input_.write);
}

void Agent::take_signals() {
  signalfd_siginfo info{};
  while (read(signals_, &info, sizeof info) == sizeof info) {
    const int signal = static_cast<int>(info.ssi_signo);
    if (!ends_jobs(signal)) continue;
    fail(128 + signal, "weft: the agent on " + (has_begun_ ? options_.host().name : "a host") +
                           " was told to end by signal " + std::to_string(signal));
    end_job();
  }
}

void Agent::take_ends() {
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    if (below_ && below_->take_end(pid, status)) continue;
    if (!worker_ || pid != worker_->pid) continue;
    close_end(worker_->orders);
    worker_.reset();
    kill_descendants(below_ ? below_->processes() : std::vector<pid_t>());
    if (WIFEXITED(status)) {
      if (exit_code_ == 0) exit_code_ = WEXITSTATUS(status);
    } else {
      fail(128 + WTERMSIG(status), "weft: mpiexec's worker process on " + options_.host().name +
                                       " was killed by signal " + std::to_string(WTERMSIG(status)) +
                                       " (" + strsignal(WTERMSIG(status)) + ")");
    }
  }
}

/// mpiexec may be busy starting other agents before it says something. Then it is silent no more.
void Agent::take_turn() {
  if (head_is_gone_ || !pulse_.is_due(Clock::now())) return;
  if (!has_heard_) pulse_.heard();
  if (pulse_.take_turn(Clock::now(), Pulse::turns_in(options_.host_timeout_s))) {
    if (head_.wants_write() < 0) head_.send(FrameKind::beat);
    return;
  }
  lose_head();
}

/// All is over, and mpiexec knows what there was to know.
bool Agent::has_finished() const {
  if (!has_begun_ || worker_) return head_is_gone_ && !worker_;
  if (!head_is_gone_ && below_ && !below_->all_have_ended()) return false;
  return head_is_gone_ || (output_.pipe.read < 0 && errors_.pipe.read < 0 && notes_.pipe.read < 0);
}

void Agent::poll_once() {
  const bool has_room = untaken_ < window_bytes;
  std::vector<pollfd> fds{{head_is_gone_ ? -1 : head_.in(), POLLIN, 0},
                          {head_.wants_write(), POLLOUT, 0},
                          {signals_, POLLIN, 0},
                          {tellers_, POLLIN, 0},
                          {has_room ? output_.pipe.read : -1, POLLIN, 0},
                          {has_room ? errors_.pipe.read : -1, POLLIN, 0},
                          {notes_.pipe.read, POLLIN, 0},
                          {input_queue_.empty() ? -1 : input_.write, POLLOUT, 0}};
  const std::size_t own = fds.size();
  if (below_) below_->watch(fds);
  Clock::time_point next = head_is_gone_ ? Clock::time_point::max() : pulse_.next();
  if (kill_at_) next = std::min(next, *kill_at_);
  if (below_) next = std::min(next, below_->next().value_or(next));
  const auto left = [&] {
    return std::chrono::duration_cast<milliseconds>(next - Clock::now()).count() + 1;
  };
  const bool has_limit = next != Clock::time_point::max();
  const int limit = has_limit ? static_cast<int>(std::max<std::int64_t>(left(), 0)) : -1;
  const int ready = poll(fds.data(), fds.size(), limit);
  if (ready < 0 && errno != EINTR)
    throw Failure{1, std::string("weft: an agent cannot wait: ") + strerror(errno)};
  if (below_ && ready > 0) below_->serve(&fds[own]);
  if (fds[1].revents != 0) head_.flush();
  if (fds[4].revents != 0) pass_on(output_);
  if (fds[5].revents != 0) pass_on(errors_);
  if (fds[6].revents != 0) pass_notes_on();
  if (fds[7].revents != 0) write_input();
  if (fds[3].revents != 0 && job_ != nullptr) tell_addresses();
  if (fds[2].revents != 0) take_signals();
  if (fds[0].revents != 0) take_frames();
  take_ends();
  take_turn();
  if (below_) below_->check_clocks();
  if (kill_at_ && Clock::now() >= *kill_at_ && worker_) kill(worker_->pid, SIGKILL);
}

int Agent::operator()() {
  sigprocmask(SIG_BLOCK, nullptr, &mask_);
  const sigset_t signals = block_signals();
  signals_ = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
  tellers_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (signals_ < 0 || tellers_ < 0)
    throw Failure{1, std::string("weft: an agent cannot wait for signals: ") + strerror(errno)};
  greet();
  std::string complaint;
  try {
    while (!has_finished()) poll_once();
    if (!head_is_gone_) kill_descendants();
    if (!head_is_gone_) {
      head_.send(FrameKind::finished, packed(std::int32_t{exit_code_}));
      // What carries it (srun) may lose it if we end before it is there. mpiexec then hangs up.
      while (!head_is_gone_) poll_once();
      return 0;
    }
  } catch (const Failure& failure) {
    complaint = failure.text;
    lose_head();
    if (worker_) kill(worker_->pid, SIGKILL);
  }
  kill_descendants();
  if (!complaint.empty()) {
    fprintf(stderr, "weft: mpiexec's agent ends because it was sent %s\n", complaint.c_str());
    return 1;
  }
  return has_begun_ ? 1 : 0;
}

}  // namespace

int agent() {
  if (isatty(0) == 1) {
    fprintf(stderr, "weft: mpiexec --agent is started by mpiexec on the hosts of a job (-H)\n");
    return 2;
  }
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  const int in = keep(0, null), out = keep(1, 2);
  const int exit_code = Agent(in, out)();
  _exit(exit_code);  // a thread still sleeps in memory that nobody needs any more
}

}  // namespace weft::launch
