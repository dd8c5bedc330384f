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
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "branches.h"
#include "child.h"
#include "far_hangs.h"
#include "frames.h"
#include "network_profile.h"
#include "order.h"
#include "outcome.h"
#include "output.h"
#include "packing.h"
#include "remote.h"
#include "spawner.h"
#include "supervisor.h"
#include "values.h"

extern char** environ;

namespace weft::launch {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds to_end{1500};         // for agents to end their ranks
constexpr milliseconds to_leave{300};        // for agents, when the user wants an end at once
constexpr milliseconds for_the_cause{400};   // to come, when a host says that another is silent
constexpr milliseconds terminal_check{250};  // is the terminal ours again?
constexpr milliseconds before_leaving{500};  // nobody reads what we say, and the user wants an end
constexpr std::time_t forever_s = 1 << 30;

class Head : public Branches::Listener {
 public:
  Head(const Options& options, int orders, const sigset_t& mask)
      : options_(options),
        orders_(orders),
        output_(terminal_, options),
        branches_(growth(options), mask, *this),
        spawner_(
            options,
            [this](int node, FrameKind kind, std::string_view payload) {
              if (!agents_[static_cast<std::size_t>(node)].is_over)
                branches_.send(node, kind, payload);
            },
            [this](FrameKind kind, std::string_view payload) { branches_.send_all(kind, payload); },
            [this](const std::string& why) { fail(1, why); }) {}
  int operator()();

 private:
  struct Agent {
    int node = 0;
    const Host* host = nullptr;
    Ranks ranks;
    std::optional<Hello> hello;
    bool has_order = false, is_over = false;
    bool told_unwanted[2] = {false, false};
    Stream *out = nullptr, *errors = nullptr, *noise = nullptr;
    std::uint64_t owed = 0;  // bytes of output whose taking it has not been told
    std::size_t untaken_input = 0;
  };

  static Growth growth(const Options& options);
  void heard(int node, const Frame& frame) override;
  void noise(int node, std::string_view text) override;
  void lost(int node, const Loss& loss) override;

  void start_all();
  void give_orders();
  Order order() const;

  void poll_once();
  timespec wait_time() const;
  void take_orders();
  void take(Agent& agent, const Frame& frame);
  void leave(Agent& agent);
  void take_output(Agent& agent, Stream& stream, const std::string& text);
  void take_hello(Agent& agent, Hello hello);
  void take_addresses(Agent& agent, const Addresses& told);
  void take_left(std::int32_t rank);
  void take_death(const Death& death);
  void look_for_hangs(bool by_user);
  void take_seen(const Agent& agent, const Seen& seen);
  void check_absence();
  void pay(Agent& agent);
  void take_ends();
  void check_clocks();

  std::size_t room_for_input() const;
  void read_input();
  bool reads_input(const Agent& agent) const;

  void fail(int exit_code, const std::string& text);
  void fail_as_suspected();
  void fail_because_of(Reason reason);
  void say_who_died();
  void take_survival(int node, bool of_all);
  void kill_all();
  void kill_late();
  void finish_output();
  void say_hosts();

  const Options& options_;
  int orders_;
  sigset_t wakers_{};
  Terminal terminal_;
  Output output_;
  Branches branches_;
  Spawner spawner_;
  std::vector<Agent> agents_;
  HashKey secret_{};
  std::vector<std::string> addresses_;        // by rank
  std::size_t told_ = 0;                      // how many of them there are
  std::vector<std::pair<int, Frame>> early_;  // about spawned ranks, before there are all
  std::vector<std::int32_t> left_early_;
  bool input_ended_ = false;

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
  std::optional<FarHangs> hangs_;       // from the order on
  std::optional<Suspected> suspected_;  // a reason, unless a better one comes
  /// A death, which all others may go on without.
  struct Survived {
    Reason reason;
    std::vector<int> asked;  // nodes that have not answered
  };
  std::vector<Survived> survived_;
};

Growth Head::growth(const Options& options) {
  Growth out{
      0, {}, agent_command(options), tree_width(options), Pulse::turns_in(options.host_timeout_s)};
  for (const Host& host : options.hosts) out.hosts.push_back(host.name);
  return out;
}

void Head::say_hosts() {
  std::string text = "weft: " + std::to_string(agents_.size()) + " hosts:";
  for (const Agent& agent : agents_)
    text += std::string(agent.node > 0 ? ", " : " ") + agent.host->name + " (" +
            agent.ranks.text() + ")";
  output_.say(text + "; agents by " + agent_command(options_));
}

void Head::start_all() {
  raise_file_limit();  // three for each host
  const Result<HashKey> secret = random_key();
  if (!secret) throw Failure{1, std::string("weft: ") + last_error_text(secret.err.cls)};
  secret_ = secret.value;
  addresses_.resize(static_cast<std::size_t>(options_.ranks()));
  for (const Host& host : options_.hosts) {
    Agent& agent = agents_.emplace_back();
    agent.node = static_cast<int>(agents_.size()) - 1;
    agent.host = &host;
    agent.ranks = options_.ranks_on(agent.node);
    agent.out = &output_.add_remote(false);
    agent.errors = &output_.add_remote(true);
    agent.noise = &output_.add_remote(true);
  }
  if (options_.verbose) say_hosts();
  branches_.start();
}

/// All agents have answered: their ranks may start.
void Head::give_orders() {
  for (Agent& agent : agents_) agent.has_order = true;
  branches_.send_all(FrameKind::order, write_order(order()));
  if (!options_.attends()) hangs_.emplace(options_);
}

Order Head::order() const {
  Order order;
  order.options = options_;
  std::vector<const Hello*> hellos;
  std::vector<int> ranks;
  order.options.shares_network = true;
  for (const Agent& agent : agents_) {
    if (agent.hello->network != agents_.front().hello->network)
      order.options.shares_network = false;
    hellos.push_back(&*agent.hello);
    ranks.push_back(agent.ranks.count);
  }
  for (const std::int32_t sharing : ranks_on_cpus(hellos, ranks))
    order.sharing.push_back(std::max(sharing, 1));
  for (char** e = environ; e != nullptr && *e != nullptr; ++e)
    if (!is_of_a_host(*e)) order.environment.emplace_back(*e);
  if (!options_.attends())  // ranks of the start have no such prices, and all have to choose alike
    for (const auto& [name, value] : network_variables(order.options.shares_network))
      order.environment.push_back(name + "=" + value);
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
  const bool all = std::all_of(agents_.begin(), agents_.end(),
                               [](const Agent& other) { return other.hello.has_value(); });
  if (all && !is_ending_) give_orders();
}

void Head::take_addresses(Agent& agent, const Addresses& told) {
  for (const auto& [rank, text] : told) {
    if (rank < agent.ranks.first || rank >= options_.ranks() || text.empty() ||
        !addresses_[static_cast<std::size_t>(rank)].empty())
      throw Failure{1, "addresses of a rank that it does not have"};
    addresses_[static_cast<std::size_t>(rank)] = text;
    ++told_;
  }
  check_absence();
  if (told_ < addresses_.size()) return;
  Addresses all;
  for (const std::string& text : addresses_)
    all.emplace_back(static_cast<std::int32_t>(all.size()), text);
  branches_.send_all(FrameKind::addresses, packed(all));
  for (const auto& [node, frame] : std::exchange(early_, {})) spawner_.take(node, frame);
}

void Head::take_left(std::int32_t rank) {
  if (rank < 0 || rank >= options_.ranks()) throw Failure{1, "a rank that there is not"};
  left_early_.push_back(rank);
  check_absence();
}

/// Agents mark the ranks as dead and say so, or refuse.
void Head::take_death(const Death& death) {
  if (is_ending_) return;
  if (suspected_) return fail_because_of(death.reason);
  if (exit_code_ == 0) exit_code_ = death.reason.exit_code;
  Survived& survived = survived_.emplace_back(Survived{death.reason, {}});
  for (Agent& other : agents_) {
    const bool is_its =
        death.first < other.ranks.end() && other.ranks.first < death.first + death.count;
    if (other.is_over || is_its) continue;
    survived.asked.push_back(other.node);
    branches_.send(other.node, FrameKind::died, packed(death));
  }
  say_who_died();
}

/// A node's ranks go on without the first of those it was asked about, or it has none any more.
void Head::take_survival(int node, bool of_all) {
  for (Survived& survived : survived_)
    if (std::erase(survived.asked, node) > 0 && !of_all) break;
  say_who_died();
}

void Head::look_for_hangs(bool by_user) {
  if (!hangs_ || is_ending_) return;
  branches_.send_all(FrameKind::look, packed(hangs_->ask(spawner_.spawned_on(), by_user)));
}

void Head::take_seen(const Agent& agent, const Seen& seen) {
  const std::string report = hangs_->take(static_cast<std::size_t>(agent.node), seen);
  if (report.empty() || is_ending_) return;
  if (hangs_->is_hang() && options_.on_hang == OnHang::abort) return fail(125, report);
  output_.say(report);
  if (!hangs_->is_hang() || options_.on_hang != OnHang::debugger) return;
  for (const std::int32_t rank : hangs_->to_debug()) {
    const Agent& its = agents_[static_cast<std::size_t>(hangs_->node_of(rank))];
    if (!its.is_over) branches_.send(its.node, FrameKind::debug, packed(rank));
  }
}

/// Ranks that have called MPI_Init, or opened a session, would wait for ever for those that never
/// will.
void Head::check_absence() {
  if (left_early_.empty() || told_ == 0) return;
  const auto waits = std::find_if(addresses_.begin(), addresses_.end(),
                                  [](const std::string& text) { return !text.empty(); });
  fail(1, "weft: rank " + std::to_string(left_early_[0]) + " of " +
              std::to_string(options_.ranks()) +
              " ended without calling MPI_Init or MPI_Session_init, as rank " +
              std::to_string(waits - addresses_.begin()) +
              " has; on several hosts all ranks of a job must call one of them");
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
    branches_.send(agent.node, FrameKind::unwanted,
                   packed(i == 0 ? FrameKind::output : FrameKind::errors));
  }
  if (agent.owed == 0 || agent.out->sink().full() || agent.errors->sink().full()) return;
  branches_.send(agent.node, FrameKind::taken, packed(agent.owed));
  agent.owed = 0;
}

void Head::take(Agent& agent, const Frame& frame) {
  const bool is_early = frame.kind == FrameKind::hello || frame.kind == FrameKind::failed ||
                        frame.kind == FrameKind::lost || frame.kind == FrameKind::noise;
  if (!is_early && !agent.has_order) throw Failure{1, "an answer before a question"};
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
      if (is_ending_) return;
      if (!suspected_) suspected_ = {reason, Clock::now() + for_the_cause};
      if (!survived_.empty()) fail_because_of(survived_.front().reason);
      return;
    }
    case FrameKind::died: {
      const auto death = unpacked<Death>(frame.payload);
      if (death.first < agent.ranks.first || death.count < 1 ||
          death.first + death.count > agent.ranks.end())
        throw Failure{1, "ranks that died, which it does not have"};
      return take_death(death);
    }
    case FrameKind::survives:
      return take_survival(agent.node, false);
    case FrameKind::seen:
      return take_seen(agent, unpacked<Seen>(frame.payload));
    case FrameKind::begun:
      return spawner_.begun(unpacked<Begun>(frame.payload).places);
    case FrameKind::spawn:
    case FrameKind::placed:
    case FrameKind::known:
    case FrameKind::ended:
    case FrameKind::question:
    case FrameKind::told:
    case FrameKind::leaving:
      if (is_ending_) return;
      // Ranks that run already may spawn before all agents are there.
      if (told_ < addresses_.size() && options_.attends())
        early_.emplace_back(agent.node, frame);
      else
        spawner_.take(agent.node, frame);
      return;
    case FrameKind::noise:
      return noise(agent.node, frame.payload);
    case FrameKind::lost:
      return lost(agent.node, unpacked<Loss>(frame.payload));
    case FrameKind::left:
      return take_left(unpacked<std::int32_t>(frame.payload));
    case FrameKind::taken:
      agent.untaken_input -=
          std::min<std::size_t>(unpacked<std::uint64_t>(frame.payload), agent.untaken_input);
      return;
    case FrameKind::finished: {
      const auto code = unpacked<std::int32_t>(frame.payload);
      leave(agent);
      if (exit_code_ == 0 && !is_ending_) exit_code_ = code;
      return take_survival(agent.node, true);
    }
    default:
      throw Failure{1, "a frame that only mpiexec sends"};
  }
}

void Head::heard(int node, const Frame& frame) {
  take(agents_[static_cast<std::size_t>(node)], frame);
}

void Head::noise(int node, std::string_view text) {
  agents_[static_cast<std::size_t>(node)].noise->take(text);
}

/// Of several hosts, the one in front of the others is named.
void Head::lost(int node, const Loss& loss) {
  const auto first = agents_.begin() + node;
  const auto count = std::clamp<std::ptrdiff_t>(loss.count, 1, agents_.end() - first);
  std::for_each(first, first + count, [this](Agent& agent) { leave(agent); });
  const Ranks ranks{first->ranks.first, (first + count - 1)->ranks.end() - first->ranks.first};
  const std::string text =
      "weft: host " + first->host->name +
      (first->hello ? " is lost, and with it " + ranks.text() : " cannot be used") + ": " +
      loss.how;
  const bool others_remain = std::any_of(agents_.begin(), agents_.end(),
                                         [](const Agent& agent) { return !agent.is_over; });
  // Who did not answer about an earlier loss was lost with it.
  if (!others_remain && !survived_.empty()) return fail_because_of(survived_.front().reason);
  if (!first->has_order || !others_remain || ranks.count == 0) return fail(1, text);
  take_death({ranks.first, ranks.count, {1, text, false}});
  for (int lost = node; lost < node + count; ++lost) take_survival(lost, true);
}

void Head::leave(Agent& agent) {
  agent.is_over = true;
  if (hangs_) hangs_->leave(static_cast<std::size_t>(agent.node));
}

/// Does somebody on its host read our input?
bool Head::reads_input(const Agent& agent) const {
  return options_.input.is_among(agent.ranks) && agent.has_order && !agent.is_over;
}

/// How much may be read: what each reader has room for.
std::size_t Head::room_for_input() const {
  if (input_ended_ || is_ending_) return 0;
  std::size_t room = piece_bytes;
  bool is_read = false;
  for (const Agent& agent : agents_) {
    if (!reads_input(agent)) continue;
    is_read = true;
    room = std::min(room, window_bytes - agent.untaken_input);
  }
  return is_read ? room : 0;
}

void Head::read_input() {
  char buffer[piece_bytes];
  const std::size_t room = room_for_input();
  if (room == 0) return;
  const ssize_t n = ::read(0, buffer, room);
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n < 0 && errno == EIO && isatty(0) == 1) return;  // it has just become another job's
  input_ended_ = n <= 0;
  const std::string_view piece(buffer, input_ended_ ? 0 : static_cast<std::size_t>(n));
  for (Agent& agent : agents_) {
    if (!reads_input(agent)) continue;
    agent.untaken_input += piece.size();
    branches_.send(agent.node, input_ended_ ? FrameKind::input_end : FrameKind::input, piece);
  }
}

void Head::fail(int exit_code, const std::string& text) {
  if (is_ending_) return;
  is_ending_ = true;
  suspected_.reset();
  survived_.clear();
  exit_code_ = exit_code;
  if (!text.empty()) output_.say(text);
  kill_at_ = Clock::now() + to_end;
  if (!agents_[0].has_order) return branches_.kill_all();
  branches_.send_all(FrameKind::end);
}

void Head::fail_as_suspected() {
  if (suspected_) fail_because_of(suspected_->reason);
}

void Head::fail_because_of(Reason reason) {
  if (interrupted_ != 0)  // the user's signal came to some hosts before it came to others
    fail(128 + interrupted_, "");
  else
    fail(reason.exit_code, reason.text);
}

/// Once nobody refuses to go on any more.
void Head::say_who_died() {
  while (!survived_.empty() && survived_.front().asked.empty()) {
    output_.say(survived_.front().reason.text + others_go_on);
    survived_.erase(survived_.begin());
  }
}

void Head::kill_all() {
  is_ending_ = true;
  kill_at_.reset();
  branches_.kill_all();
}

/// Those that had their time. Who waits until our own reader takes its output has ended its ranks,
/// and goes on waiting, unless the user wants an end.
void Head::kill_late() {
  kill_at_.reset();
  for (const Row& row : branches_.rows()) {
    const auto first = agents_.begin() + row.first;
    const auto owes = [](const Agent& agent) { return !agent.is_over && agent.owed > 0; };
    if (hurry_ || std::none_of(first, first + row.count, owes))
      branches_.kill(row.first);
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
    if (signal == SIGUSR1) look_for_hangs(true);
    if (agents_[0].has_order) branches_.send_all(FrameKind::signal, packed(signal));
  }
}

void Head::take_ends() {
  int status = 0;
  for (pid_t pid = 0; (pid = waitpid(-1, &status, WNOHANG)) > 0;) branches_.take_end(pid, status);
}

void Head::check_clocks() {
  const Clock::time_point now = Clock::now();
  branches_.check_clocks();
  if (suspected_ && now >= suspected_->until) fail_as_suspected();
  if (hangs_ && hangs_->next_ns() > 0 && now_ns() >= hangs_->next_ns()) look_for_hangs(false);
  if (kill_at_ && now >= *kill_at_) kill_late();
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
  if (hangs_ && hangs_->next_ns() > 0 && !is_ending_)
    consider(Clock::time_point(std::chrono::nanoseconds(hangs_->next_ns())));
  consider(branches_.next());
  if (room_for_input() > 0 && is_in_background()) consider(Clock::now() + terminal_check);
  if (!next && left_) next = Clock::now() + before_leaving;
  if (!next) return {forever_s, 0};
  const auto ns = std::max<std::int64_t>(std::chrono::nanoseconds(*next - Clock::now()).count(), 0);
  return timespec_of(ns);
}

void Head::poll_once() {
  const bool reads = room_for_input() > 0 && !is_in_background();
  std::vector<pollfd> fds{{orders_, POLLIN, 0}, {reads ? 0 : -1, POLLIN, 0}};
  branches_.watch(fds);
  const std::size_t others = fds.size();
  output_.watch(fds);
  const timespec limit = wait_time();
  const int ready = ppoll(fds.data(), fds.size(), &limit, &wakers_);
  if (ready < 0 && errno != EINTR)
    throw Failure{1, std::string("weft: cannot wait for the hosts: ppoll: ") + strerror(errno)};
  if (ready > 0) {
    branches_.serve(&fds[2]);
    if (fds[1].revents != 0) read_input();
    output_.serve(fds.data() + others);
    for (Agent& agent : agents_) pay(agent);
    if (fds[0].revents != 0) take_orders();
  }
  take_ends();
  check_clocks();
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
  wakers_ = let_children_wake();
  if (options_.timeout_s > 0)
    deadline_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(options_.timeout_s));
  start_all();
  while (!branches_.all_have_ended()) poll_once();
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
