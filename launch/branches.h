// SPDX-License-Identifier: Apache-2.0
//
// Agents on hosts, as a tree: mpiexec starts some, and each of these may start others (agent.h), so
// that no process has more than `width` below it. The hosts are in a row; who starts some of them
// cuts the row into parts, starts an agent on the first host of each, and leaves the rest of the
// part to it. Frames of and for agents further below pass through the ones between, wrapped with
// the number of the host. What is for all agents travels once to each: every one passes it on to
// those that it has started, and learns its own number from it.
//
// An agent has ended when its command's process has, and everything it sent has been read.
#pragma once

#include <poll.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "child.h"
#include "frames.h"
#include "pulse.h"

namespace weft::launch {

/// A row of hosts by their numbers.
struct Row {
  int first = 0, count = 0;
};
/// Its parts: at most `width`, as equal as can be.
std::vector<Row> parts(Row row, int width);

/// What is to be started, and how.
struct Growth {
  int first = 0;  // number of hosts[0]
  std::vector<std::string> hosts;
  std::string command;  // of the launch agent
  int width = 1;
  int silent_turns = Pulse::most_silent_turns;  // until an agent is lost
};
template <class A>
void fields(A& a, Growth& g) {
  a(g.first, g.hosts, g.command, g.width, g.silent_turns);
}

/// An agent has ended, and with it those below it: `count` hosts from its own on.
struct Loss {
  int count = 1;
  std::string how;
};
template <class A>
void fields(A& a, Loss& l) {
  a(l.count, l.how);
}

/// A frame within a frame of kind `relayed` or `for_all`: bytes of `node`, then the frame.
std::string wrapped(int node, FrameKind kind, std::string_view payload);
struct Unwrapped {
  int node;
  Frame frame;
};
/// Throws Failure where there is not exactly one.
Unwrapped unwrapped(std::string_view payload);

class Branches {
 public:
  using Clock = std::chrono::steady_clock;

  /// Who is above. `node` is the number of a host.
  class Listener {
   public:
    virtual void heard(int node, const Frame& frame) = 0;
    /// What its command and its host's libraries say beside.
    virtual void noise(int node, std::string_view text) = 0;
    virtual void lost(int node, const Loss& loss) = 0;

   protected:
    ~Listener() = default;
  };

  Branches(Growth growth, const sigset_t& mask, Listener& listener);

  /// All at once.
  void start();
  /// To any agent below.
  void send(int node, FrameKind kind, std::string_view payload = {});
  /// To all agents below.
  void send_all(FrameKind kind, std::string_view payload = {});
  void kill(int node);
  void kill_all();

  /// For poll: what to wait for, and what to do about it, with the same entries.
  void watch(std::vector<pollfd>& fds) const;
  void serve(const pollfd* fds);
  /// A process has ended: is it one of these?
  bool take_end(pid_t pid, int status);
  /// When to call check_clocks.
  std::optional<Clock::time_point> next() const;
  void check_clocks();

  bool has(int node) const { return node >= growth_.first && node < end(); }
  int hosts() const { return static_cast<int>(growth_.hosts.size()); }
  bool all_have_ended() const;
  /// The processes that are there, and the hosts behind each.
  std::vector<pid_t> processes() const;
  std::vector<Row> rows() const;

 private:
  struct Agent {
    Row row;  // its own host, and those behind it
    pid_t pid = -1;
    std::unique_ptr<Channel> channel;
    int err = -1;
    std::string said;  // on stderr, until it has answered
    Pulse pulse;       // from its answer on
    bool has_answered = false, has_finished = false;
    bool was_killed = false, is_lost = false, has_ended = false;
    std::optional<Clock::time_point> kill_at;

    bool is_there() const { return pid >= 0 && !has_ended; }
    bool is_expected() const { return has_answered && is_there() && !has_finished && !was_killed; }
  };

  int end() const { return growth_.first + hosts(); }
  const std::string& name(const Agent& agent) const;
  Agent& agent_for(int node);
  void start(Agent& agent);
  void read(Agent& agent);
  void take(Agent& agent, const Frame& frame);
  void read_errors(Agent& agent);
  void kill(Agent& agent);
  void lose(Agent& agent, const std::string& how);
  void take_turn(Agent& agent);

  Growth growth_;
  sigset_t mask_;
  Listener& listener_;
  Lifeline lifeline_;
  std::vector<Agent> agents_;
};

}  // namespace weft::launch
