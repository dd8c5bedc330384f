// SPDX-License-Identifier: Apache-2.0
//
// One poll loop over the agents' streams, our own stdin, stdout and stderr, orders from the
// supervisor, and SIGCHLD. An agent is over when its command's process has ended and everything it
// sent has been read.
#include "head.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "frames.h"
#include "memory/limits.h"
#include "order.h"
#include "output.h"
#include "packing.h"
#include "remote.h"
#include "supervisor.h"
#include "values.h"

extern char** environ;

namespace weft::launch {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds to_end{1500};         // for agents to end their ranks
constexpr milliseconds to_leave{300};        // for the command of an agent that has ended
constexpr milliseconds for_the_cause{400};   // to come, when a host says that another is silent
constexpr milliseconds terminal_check{250};  // is the terminal ours again?
constexpr milliseconds before_leaving{500};  // nobody reads what we say, and the user wants an end
constexpr std::size_t most_said = 4096;      // of what commands say before their agent answers
constexpr std::time_t forever_s = 1 << 30;

class Head {
 public:
  Head(const Options& options, int orders, const sigset_t& mask)
      : options_(options), orders_(orders), mask_(mask), output_(terminal_, options) {}
  int operator()();

 private:
  struct Agent {
    int node = 0;
    const Host* host = nullptr;
    Ranks ranks;
    pid_t pid = -1;
    std::unique_ptr<Channel> channel;
    int err = -1;
    std::string said;  // on stderr, until it has answered
    std::optional<Hello> hello;
    bool has_order = false, has_finished = false, was_killed = false, is_over = false;
    bool told_unwanted[2] = {false, false};
    Stream *out = nullptr, *errors = nullptr, *noise = nullptr;
    std::uint64_t owed = 0;  // bytes of output whose taking it has not been told
    std::optional<Clock::time_point> kill_at;
  };

  void let_children_wake();
  void start_all();
  void start(Agent& agent);
  void give_orders();
  Order order_for(const Agent& agent) const;

  void poll_once();
  timespec wait_time() const;
  void take_orders();
  void read(Agent& agent);
  void read_errors(Agent& agent);
  void take(Agent& agent, const Frame& frame);
  void take_output(Agent& agent, Stream& stream, const std::string& text);
  void take_hello(Agent& agent, Hello hello);
  void take_addresses(Agent& agent, const Addresses& told);
  void take_left(std::int32_t rank);
  void check_absence();
  void pay(Agent& agent);
  void take_ends();
  void take_end(Agent& agent, int status);
  void check_clocks();

  bool wants_input() const;
  void read_input();
  Agent* reader();

  void fail(int exit_code, const std::string& text);
  void fail_as_suspected();
  void kill(Agent& agent);
  void kill_all();
  void kill_late();
  bool all_are_over() const;
  void finish_output();
  void say_hosts();

  const Options& options_;
  int orders_;
  sigset_t mask_;
  sigset_t wakers_{};
  Terminal terminal_;
  Output output_;
  Lifeline lifeline_;
  std::vector<Agent> agents_;
  std::uint64_t secret_ = 0;
  std::vector<std::string> addresses_;  // by rank
  std::size_t told_ = 0;                // how many of them there are
  std::vector<std::int32_t> left_early_;
  bool input_ended_ = false;
  std::size_t untaken_input_ = 0;

  bool is_ending_ = false;
  int interrupted_ = 0;
  bool left_ = false;
  bool hurry_ = false;
  int exit_code_ = 0;
  std::optional<Clock::time_point> deadline_, kill_at_;
  struct Suspected {
    Reason reason;
    Clock::time_point until;
  };
  std::optional<Suspected> suspected_;  // a reason, unless a better one comes
};

/// The end of a child interrupts ppoll, and nothing else.
void Head::let_children_wake() {
  struct sigaction nothing {};
  nothing.sa_handler = [](int) {};
  if (sigaction(SIGCHLD, &nothing, nullptr) != 0)
    throw Failure{1, std::string("weft: cannot handle signals: ") + strerror(errno)};
  sigprocmask(SIG_BLOCK, nullptr, &wakers_);
  sigdelset(&wakers_, SIGCHLD);
}

void Head::say_hosts() {
  std::string text = "weft: " + std::to_string(agents_.size()) + " hosts:";
  for (const Agent& agent : agents_)
    text += std::string(agent.node > 0 ? ", " : " ") + agent.host->name + " (" +
            agent.ranks.text() + ")";
  output_.say(text + "; agents by " + agent_command(options_));
}

void Head::start(Agent& agent) {
  const Started started = start_agent(options_, *agent.host, lifeline_, mask_);
  agent.pid = started.pid;
  agent.channel = std::make_unique<Channel>(started.out, started.in);
  agent.err = started.err;
  fcntl(agent.err, F_SETFL, O_NONBLOCK);
  agent.out = &output_.add_remote(false);
  agent.errors = &output_.add_remote(true);
  agent.noise = &output_.add_remote(true);
}

void Head::start_all() {
  rlimit files{};  // three for each host
  if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    setrlimit(RLIMIT_NOFILE, &files);
  }
  if (getrandom(&secret_, sizeof secret_, 0) != sizeof secret_)
    throw Failure{1, std::string("weft: the system gives no random bits: ") + strerror(errno)};
  secret_ &= (std::uint64_t{1} << memory::secret_bits) - 1;
  addresses_.resize(static_cast<std::size_t>(options_.ranks()));
  for (const Host& host : options_.hosts) {
    Agent& agent = agents_.emplace_back();
    agent.node = static_cast<int>(agents_.size()) - 1;
    agent.host = &host;
    agent.ranks = options_.ranks_on(agent.node);
  }
  if (options_.verbose) say_hosts();
  for (Agent& agent : agents_) {
    try {
      start(agent);
    } catch (const Failure& failure) {
      agent.is_over = true;
      fail(failure.exit_code, failure.text);
    }
    if (!is_ending_) continue;
    for (Agent& other : agents_)
      if (other.pid < 0) other.is_over = true;
    return;
  }
}

/// All agents have answered: their ranks may start.
void Head::give_orders() {
  for (Agent& agent : agents_) {
    agent.has_order = true;
    agent.channel->send(FrameKind::order, write_order(order_for(agent)));
  }
}

Order Head::order_for(const Agent& agent) const {
  Order order;
  order.options = options_;
  order.options.node = agent.node;
  order.options.shares_network = true;
  for (const Agent& other : agents_) {
    if (other.hello->network != agent.hello->network) order.options.shares_network = false;
    if (other.hello->kernel == agent.hello->kernel) order.sharing += other.ranks.count;
  }
  for (char** e = environ; e != nullptr && *e != nullptr; ++e)
    if (!is_of_a_host(*e)) order.environment.emplace_back(*e);
  char* const directory = getcwd(nullptr, 0);
  order.directory = directory != nullptr ? directory : "/";
  free(directory);
  order.secret = secret_;
  return order;
}

void Head::take_hello(Agent& agent, Hello hello) {
  if (hello.version != own_hello().version)
    return fail(1, "weft: host " + agent.host->name + " has version " + shown(hello.version) +
                       " of weft, this one is " WEFT_VERSION "; install the same on all hosts");
  agent.hello = std::move(hello);
  if (!agent.said.empty()) agent.noise->take(agent.said);
  agent.said.clear();
  const bool all = std::all_of(agents_.begin(), agents_.end(),
                               [](const Agent& other) { return other.hello.has_value(); });
  if (all && !is_ending_) give_orders();
}

void Head::take_addresses(Agent& agent, const Addresses& told) {
  for (const auto& [rank, text] : told) {
    if (rank < agent.ranks.first || rank >= agent.ranks.end() || text.empty() ||
        !addresses_[static_cast<std::size_t>(rank)].empty())
      throw Failure{1, "addresses of a rank that it does not have"};
    addresses_[static_cast<std::size_t>(rank)] = text;
    ++told_;
  }
  check_absence();
  if (told_ < addresses_.size()) return;
  for (Agent& other : agents_) {
    Addresses elsewhere;
    for (std::size_t r = 0; r < addresses_.size(); ++r) {
      const int rank = static_cast<int>(r);
      if (rank < other.ranks.first || rank >= other.ranks.end())
        elsewhere.emplace_back(rank, addresses_[r]);
    }
    other.channel->send(FrameKind::addresses, packed(elsewhere));
  }
}

void Head::take_left(std::int32_t rank) {
  if (rank < 0 || rank >= options_.ranks()) throw Failure{1, "a rank that there is not"};
  left_early_.push_back(rank);
  check_absence();
}

/// Ranks that have called MPI_Init would wait for ever for those that never will.
void Head::check_absence() {
  if (left_early_.empty() || told_ == 0) return;
  const auto waits = std::find_if(addresses_.begin(), addresses_.end(),
                                  [](const std::string& text) { return !text.empty(); });
  fail(1, "weft: rank " + std::to_string(left_early_[0]) + " of " +
              std::to_string(options_.ranks()) + " ended without calling MPI_Init, which rank " +
              std::to_string(waits - addresses_.begin()) +
              " has called; all ranks of a job must call it");
}

void Head::take_output(Agent& agent, Stream& stream, const std::string& text) {
  output_.take(stream, text);
  agent.owed += text.size();
  pay(agent);
}

/// While our own reader is slow the agent waits.
void Head::pay(Agent& agent) {
  if (agent.is_over) return;
  Stream* streams[] = {agent.out, agent.errors};
  for (int i = 0; i < 2; ++i) {
    if (!streams[i]->sink().closed() || agent.told_unwanted[i]) continue;
    agent.told_unwanted[i] = true;
    agent.channel->send(FrameKind::unwanted,
                        packed(i == 0 ? FrameKind::output : FrameKind::errors));
  }
  if (agent.owed == 0 || agent.out->sink().full() || agent.errors->sink().full()) return;
  agent.channel->send(FrameKind::taken, packed(agent.owed));
  agent.owed = 0;
}

void Head::take(Agent& agent, const Frame& frame) {
  if (frame.kind != FrameKind::hello && !agent.has_order && frame.kind != FrameKind::failed)
    throw Failure{1, "an answer before a question"};
  switch (frame.kind) {
    case FrameKind::hello:
      return take_hello(agent, unpacked<Hello>(frame.payload));
    case FrameKind::addresses:
      return take_addresses(agent, unpacked<Addresses>(frame.payload));
    case FrameKind::output:
      return take_output(agent, *agent.out, frame.payload);
    case FrameKind::errors:
      return take_output(agent, *agent.errors, frame.payload);
    case FrameKind::failed: {
      const auto reason = unpacked<Reason>(frame.payload);
      if (!reason.is_consequence) return fail(reason.exit_code, reason.text);
      if (!suspected_) suspected_ = {reason, Clock::now() + for_the_cause};
      return;
    }
    case FrameKind::left:
      return take_left(unpacked<std::int32_t>(frame.payload));
    case FrameKind::taken:
      untaken_input_ -=
          std::min<std::size_t>(unpacked<std::uint64_t>(frame.payload), untaken_input_);
      return;
    case FrameKind::finished: {
      const auto code = unpacked<std::int32_t>(frame.payload);
      agent.has_finished = true;
      agent.channel->close_out();
      agent.kill_at = Clock::now() + to_leave;
      if (exit_code_ == 0 && !is_ending_) exit_code_ = code;
      return;
    }
    default:
      throw Failure{1, "a frame that only mpiexec sends"};
  }
}

void Head::read(Agent& agent) {
  if (agent.channel->in() < 0) return;
  try {
    const bool goes_on = agent.channel->read();
    while (const std::optional<Frame> frame = agent.channel->next()) take(agent, *frame);
    if (!goes_on) {
      agent.channel->close();
      if (!agent.kill_at) agent.kill_at = Clock::now() + to_leave;
    }
  } catch (const Failure& failure) {
    fail(1, "weft: host " + agent.host->name + " answers with " + failure.text +
                "; what is started there must be weft's mpiexec, and nothing else may write to "
                "its output (a shell's start files?)");
    kill(agent);
  }
}

void Head::read_errors(Agent& agent) {
  char buffer[4096];
  const ssize_t n = ::read(agent.err, buffer, sizeof buffer);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    close(agent.err);
    agent.err = -1;
    return;
  }
  const std::string_view text(buffer, static_cast<std::size_t>(n));
  if (agent.hello) return agent.noise->take(text);
  agent.said.append(text);
  if (agent.said.size() > most_said) agent.said.erase(0, agent.said.size() - most_said);
}

Head::Agent* Head::reader() {
  for (Agent& agent : agents_)
    if (options_.input.rank >= agent.ranks.first && options_.input.rank < agent.ranks.end())
      return agent.has_order && !agent.has_finished && !agent.is_over ? &agent : nullptr;
  return nullptr;
}

bool Head::wants_input() const {
  return !input_ended_ && !is_ending_ && untaken_input_ < window_bytes &&
         const_cast<Head*>(this)->reader() != nullptr;
}

void Head::read_input() {
  char buffer[piece_bytes];
  const ssize_t n = ::read(0, buffer, std::min(sizeof buffer, window_bytes - untaken_input_));
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n < 0 && errno == EIO && isatty(0) == 1) return;  // it has just become another job's
  Agent* agent = reader();
  if (agent == nullptr) return;
  if (n > 0) {
    untaken_input_ += static_cast<std::size_t>(n);
    return agent->channel->send(FrameKind::input, {buffer, static_cast<std::size_t>(n)});
  }
  input_ended_ = true;
  agent->channel->send(FrameKind::input_end);
}

void Head::fail(int exit_code, const std::string& text) {
  if (is_ending_) return;
  is_ending_ = true;
  suspected_.reset();
  exit_code_ = exit_code;
  if (!text.empty()) output_.say(text);
  kill_at_ = Clock::now() + to_end;
  for (Agent& agent : agents_) {
    if (agent.has_order && !agent.has_finished && !agent.is_over)
      agent.channel->send(FrameKind::end);
    else if (!agent.has_order)
      kill(agent);
  }
}

void Head::fail_as_suspected() {
  if (!suspected_) return;
  const Reason reason = suspected_->reason;
  suspected_.reset();
  if (interrupted_ != 0)  // the user's signal came to some hosts before it came to others
    fail(128 + interrupted_, "");
  else
    fail(reason.exit_code, reason.text);
}

/// What runs on the host ends because the agent's stdin does.
void Head::kill(Agent& agent) {
  if (agent.is_over || agent.pid < 0) return;
  agent.was_killed = true;
  agent.channel->close();
  signal_process(agent.pid, SIGKILL);
}

void Head::kill_all() {
  is_ending_ = true;
  kill_at_.reset();
  for (Agent& agent : agents_) kill(agent);
}

/// Those that had their time. Who waits until our own reader takes its output has ended its ranks,
/// and goes on waiting, unless the user wants an end.
void Head::kill_late() {
  kill_at_.reset();
  for (Agent& agent : agents_) {
    if (hurry_ || agent.owed == 0)
      kill(agent);
    else
      kill_at_ = Clock::now() + to_end;
  }
}

void Head::take_orders() {
  char orders[64];
  const ssize_t n = ::read(orders_, orders, sizeof orders);
  if (n <= 0) {  // the supervisor is gone
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    left_ = true;
    orders_ = -1;
    if (exit_code_ == 0) exit_code_ = 128 + SIGKILL;
    return kill_all();
  }
  for (ssize_t i = 0; i < n; ++i) {
    const char signal = orders[i];
    const bool ends = ends_jobs(signal);
    if (ends) hurry_ = true;
    if (ends && agents_[0].has_order == false) fail(128 + signal, "");
    if (ends && interrupted_ != 0) {
      left_ = true;
      exit_code_ = 128 + signal;
      kill_at_ = Clock::now() + to_leave;
    }
    if (ends) interrupted_ = signal;
    if (signal == SIGWINCH) continue;
    for (Agent& agent : agents_)
      if (agent.has_order && !agent.is_over) agent.channel->send(FrameKind::signal, packed(signal));
  }
}

void Head::take_ends() {
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;)
    for (Agent& agent : agents_)
      if (agent.pid == pid && !agent.is_over) take_end(agent, status);
}

void Head::take_end(Agent& agent, int status) {
  while (agent.channel->in() >= 0) {
    pollfd more{agent.channel->in(), POLLIN, 0};
    if (poll(&more, 1, 0) <= 0) break;
    read(agent);
  }
  while (agent.err >= 0) {
    pollfd more{agent.err, POLLIN, 0};
    if (poll(&more, 1, 0) <= 0) break;
    read_errors(agent);
  }
  agent.is_over = true;
  agent.channel->close();
  if (agent.err >= 0) close(agent.err);
  agent.err = -1;
  if (agent.has_finished || is_ending_) return;
  const bool is_here = is_this_machine(agent.host->name);
  const std::string how =
      agent.was_killed
          ? "the connection to its agent ended"
          : how_it_ended(is_here ? "its agent" : agent_command(options_), status, agent.said);
  fail(1, agent.hello ? "weft: host " + agent.host->name + " is lost, and with it " +
                            agent.ranks.text() + ": " + how
                      : "weft: host " + agent.host->name + " cannot be used: " + how);
}

void Head::check_clocks() {
  const Clock::time_point now = Clock::now();
  if (suspected_ && now >= suspected_->until) fail_as_suspected();
  if (kill_at_ && now >= *kill_at_) kill_late();
  for (Agent& agent : agents_)
    if (agent.kill_at && now >= *agent.kill_at && !agent.was_killed) kill(agent);
  if (deadline_ && now >= *deadline_) {
    deadline_.reset();
    hurry_ = true;
    char text[128];
    snprintf(text, sizeof text, "weft: the job was stopped because it ran longer than %g s (%s)",
             options_.timeout_s, options_.timeout_from);
    fail(124, text);
  }
}

timespec Head::wait_time() const {
  std::optional<Clock::time_point> next;
  const auto consider = [&next](const std::optional<Clock::time_point>& at) {
    if (at && (!next || *at < *next)) next = at;
  };
  consider(deadline_);
  consider(kill_at_);
  if (suspected_) consider(suspected_->until);
  for (const Agent& agent : agents_)
    if (!agent.is_over && !agent.was_killed) consider(agent.kill_at);
  if (wants_input() && is_in_background()) consider(Clock::now() + terminal_check);
  if (!next && left_) next = Clock::now() + before_leaving;
  if (!next) return {forever_s, 0};
  const auto ns = std::max<std::int64_t>(std::chrono::nanoseconds(*next - Clock::now()).count(), 0);
  return timespec_of(ns);
}

void Head::poll_once() {
  const bool reads_input = wants_input() && !is_in_background();
  std::vector<pollfd> fds{{orders_, POLLIN, 0}, {reads_input ? 0 : -1, POLLIN, 0}};
  for (const Agent& agent : agents_) {
    const bool is_there = !agent.is_over && agent.pid >= 0;
    fds.push_back({is_there ? agent.channel->in() : -1, POLLIN, 0});
    fds.push_back({is_there ? agent.channel->wants_write() : -1, POLLOUT, 0});
    fds.push_back({is_there ? agent.err : -1, POLLIN, 0});
  }
  const std::size_t others = fds.size();
  output_.watch(fds);
  const timespec limit = wait_time();
  const int ready = ppoll(fds.data(), fds.size(), &limit, &wakers_);
  if (ready < 0 && errno != EINTR)
    throw Failure{1, std::string("weft: cannot wait for the hosts: ppoll: ") + strerror(errno)};
  if (ready > 0) {
    const pollfd* at = &fds[2];
    for (Agent& agent : agents_) {
      if (at[0].revents != 0) read(agent);
      if (at[1].revents != 0) agent.channel->flush();
      if (at[2].revents != 0 && agent.err >= 0) read_errors(agent);
      at += 3;
    }
    if (fds[1].revents != 0) read_input();
    output_.serve(fds.data() + others);
    for (Agent& agent : agents_)
      if (agent.pid >= 0) pay(agent);
    if (fds[0].revents != 0) take_orders();
  }
  take_ends();
  check_clocks();
}

bool Head::all_are_over() const {
  return std::all_of(agents_.begin(), agents_.end(),
                     [](const Agent& agent) { return agent.is_over; });
}

void Head::finish_output() {
  kill_descendants();
  const Clock::time_point leave = Clock::now() + before_leaving;
  while (output_.waits_for_reader() && !left_ && !(hurry_ && Clock::now() >= leave)) {
    kill_at_ = leave;  // wakes us
    if (!hurry_) kill_at_.reset();
    poll_once();
  }
  output_.close();
}

int Head::operator()() {
  let_children_wake();
  if (options_.timeout_s > 0)
    deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(options_.timeout_s));
  start_all();
  while (!all_are_over()) poll_once();
  fail_as_suspected();
  deadline_.reset();
  finish_output();
  return exit_code_ == 0 && output_.is_lost() ? 1 : exit_code_;
}

}  // namespace

int run_on_hosts(const Options& options, int orders, const sigset_t& mask) {
  return Head(options, orders, mask)();
}

}  // namespace weft::launch
