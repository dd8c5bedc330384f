// SPDX-License-Identifier: Apache-2.0
#include "branches.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <algorithm>

#include "hosts.h"
#include "options.h"
#include "packing.h"
#include "remote.h"

namespace weft::launch {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds to_leave{300};    // for the command of an agent that has ended
constexpr std::size_t most_said = 4096;  // of what commands say before their agent answers

}  // namespace

std::vector<Row> parts(Row row, int width) {
  std::vector<Row> out;
  const int n = std::min(row.count, width);
  for (int i = 0, at = row.first; i < n; ++i) {
    out.push_back({at, row.count / n + (i < row.count % n ? 1 : 0)});
    at += out.back().count;
  }
  return out;
}

std::string wrapped(int node, FrameKind kind, std::string_view payload) {
  return packed(std::int32_t{node}) + framed(kind, payload);
}

Unwrapped unwrapped(std::string_view payload) {
  std::int32_t node = 0;
  if (payload.size() < sizeof node) throw Failure{1, "what is no frame for another host"};
  memcpy(&node, payload.data(), sizeof node);
  FrameReader reader;
  reader.add(payload.substr(sizeof node));
  std::optional<Frame> frame = reader.next();
  if (!frame || !reader.is_empty() || frame->kind == FrameKind::relayed ||
      frame->kind == FrameKind::for_all)
    throw Failure{1, "what is no frame for another host"};
  return {node, std::move(*frame)};
}

Branches::Branches(Growth growth, const sigset_t& mask, Listener& listener)
    : growth_(std::move(growth)), mask_(mask), listener_(listener) {
  for (const Row& row :
       parts({growth_.first, static_cast<int>(growth_.hosts.size())}, growth_.width)) {
    Agent& agent = agents_.emplace_back();
    agent.row = row;
  }
}

const std::string& Branches::name(const Agent& agent) const {
  return growth_.hosts[static_cast<std::size_t>(agent.row.first - growth_.first)];
}

Branches::Agent& Branches::agent_for(int node) {
  return *std::find_if(agents_.begin(), agents_.end(), [node](const Agent& agent) {
    return node < agent.row.first + agent.row.count;
  });
}

void Branches::start(Agent& agent) {
  const Started started = start_agent(growth_.command, name(agent), lifeline_, mask_);
  agent.pid = started.pid;
  agent.channel = std::make_unique<Channel>(started.out, started.in);
  agent.err = started.err;
  fcntl(agent.err, F_SETFL, O_NONBLOCK);
}

void Branches::start() {
  for (Agent& agent : agents_) {
    try {
      start(agent);
    } catch (const Failure& failure) {
      return lose(agent, failure.text);
    }
  }
}

void Branches::send(int node, FrameKind kind, std::string_view payload) {
  Agent& agent = agent_for(node);
  if (!agent.is_there()) return;
  if (node != agent.row.first)
    return agent.channel->send(FrameKind::relayed, wrapped(node, kind, payload));
  agent.channel->send(kind, payload);
}

void Branches::send_all(FrameKind kind, std::string_view payload) {
  for (Agent& agent : agents_)
    if (agent.is_there())
      agent.channel->send(FrameKind::for_all, wrapped(agent.row.first, kind, payload));
}

/// What runs on the host ends because the agent's stdin does.
void Branches::kill(Agent& agent) {
  if (!agent.is_there()) return;
  agent.was_killed = true;
  agent.channel->close();
  signal_process(agent.pid, SIGKILL);
}

void Branches::kill(int node) {
  Agent& agent = agent_for(node);
  agent.is_lost = true;
  kill(agent);
}

void Branches::kill_all() {
  for (Agent& agent : agents_) kill(agent.row.first);
}

void Branches::lose(Agent& agent, const std::string& how) {
  if (agent.is_lost) return;
  agent.is_lost = true;
  listener_.lost(agent.row.first, {agent.row.count, how});
}

void Branches::take(Agent& agent, const Frame& frame) {
  if (frame.kind == FrameKind::beat) return;
  if (frame.kind == FrameKind::relayed) {
    const Unwrapped inner = unwrapped(frame.payload);
    if (inner.node <= agent.row.first || inner.node >= agent.row.first + agent.row.count)
      throw Failure{1, "a frame of a host that is not behind it"};
    return listener_.heard(inner.node, inner.frame);
  }
  if (frame.kind == FrameKind::hello && !agent.has_answered) {
    agent.has_answered = true;
    agent.pulse.begin(Clock::now());
    if (!agent.said.empty()) listener_.noise(agent.row.first, agent.said);
  }
  if (frame.kind == FrameKind::finished) {
    agent.has_finished = true;
    agent.channel->close_out();
    agent.kill_at = Clock::now() + to_leave;
  }
  listener_.heard(agent.row.first, frame);
  if (frame.kind != FrameKind::hello || agent.row.count == 1 || agent.was_killed) return;
  const auto own = growth_.hosts.begin() + (agent.row.first - growth_.first);
  agent.channel->send(FrameKind::grow, packed(Growth{agent.row.first + 1,
                                                     {own + 1, own + agent.row.count},
                                                     growth_.command,
                                                     growth_.width,
                                                     growth_.silent_turns}));
}

void Branches::read(Agent& agent) {
  if (agent.channel->in() < 0) return;
  try {
    const bool goes_on = agent.channel->read();
    agent.pulse.heard();
    while (const std::optional<Frame> frame = agent.channel->next()) take(agent, *frame);
    if (goes_on) return;
    agent.channel->close();
    if (!agent.kill_at) agent.kill_at = Clock::now() + to_leave;
  } catch (const Failure& failure) {
    lose(agent, "it answers with " + failure.text +
                    "; what is started there must be weft's mpiexec, and nothing else may write "
                    "to its output (a shell's start files?)");
    kill(agent);
  }
}

void Branches::read_errors(Agent& agent) {
  char buffer[4096];
  const ssize_t n = ::read(agent.err, buffer, sizeof buffer);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n <= 0) {
    close(agent.err);
    agent.err = -1;
    return;
  }
  const std::string_view text(buffer, static_cast<std::size_t>(n));
  if (agent.has_answered) return listener_.noise(agent.row.first, text);
  agent.said.append(text);
  if (agent.said.size() > most_said) agent.said.erase(0, agent.said.size() - most_said);
}

void Branches::watch(std::vector<pollfd>& fds) const {
  for (const Agent& agent : agents_) {
    const bool is_there = agent.is_there();
    fds.push_back({is_there ? agent.channel->in() : -1, POLLIN, 0});
    fds.push_back({is_there ? agent.channel->wants_write() : -1, POLLOUT, 0});
    fds.push_back({is_there ? agent.err : -1, POLLIN, 0});
  }
}

void Branches::serve(const pollfd* fds) {
  for (Agent& agent : agents_) {
    if (fds[0].revents != 0) read(agent);
    if (fds[1].revents != 0) agent.channel->flush();
    if (fds[2].revents != 0 && agent.err >= 0) read_errors(agent);
    fds += 3;
  }
}

bool Branches::take_end(pid_t pid, int status) {
  const auto found = std::find_if(agents_.begin(), agents_.end(),
                                  [pid](const Agent& a) { return a.pid == pid && !a.has_ended; });
  if (found == agents_.end()) return false;
  Agent& agent = *found;
  const auto has_more = [](int fd) {
    pollfd more{fd, POLLIN, 0};
    return fd >= 0 && poll(&more, 1, 0) > 0;
  };
  while (has_more(agent.channel->in())) read(agent);
  while (has_more(agent.err)) read_errors(agent);
  agent.has_ended = true;
  agent.channel->close();
  if (agent.err >= 0) close(agent.err);
  agent.err = -1;
  if (agent.has_finished) return true;
  const std::string command = is_this_machine(name(agent)) ? "its agent" : growth_.command;
  lose(agent, agent.was_killed ? "the connection to its agent ended"
                               : how_it_ended(command, status, agent.said));
  return true;
}

/// A host that is off, or whose link is, says nothing about that.
void Branches::take_turn(Agent& agent) {
  if (agent.pulse.take_turn(Clock::now(), growth_.silent_turns)) {
    if (agent.channel->wants_write() < 0) agent.channel->send(FrameKind::beat);
    return;
  }
  const auto silence =
      std::chrono::duration_cast<std::chrono::seconds>(growth_.silent_turns * Pulse::turn);
  lose(agent, "nothing has been heard of its agent for " + std::to_string(silence.count()) +
                  " s; the host or its link is down");
  kill(agent);
}

std::optional<Branches::Clock::time_point> Branches::next() const {
  std::optional<Clock::time_point> out;
  const auto consider = [&out](Clock::time_point at) { out = out ? std::min(*out, at) : at; };
  for (const Agent& agent : agents_) {
    if (agent.is_expected()) consider(agent.pulse.next());
    if (agent.kill_at && agent.is_there() && !agent.was_killed) consider(*agent.kill_at);
  }
  return out;
}

void Branches::check_clocks() {
  const Clock::time_point now = Clock::now();
  for (Agent& agent : agents_) {
    if (agent.is_expected() && agent.pulse.is_due(now)) take_turn(agent);
    if (agent.kill_at && now >= *agent.kill_at && !agent.was_killed) kill(agent);
  }
}

bool Branches::all_have_ended() const {
  return std::none_of(agents_.begin(), agents_.end(),
                      [](const Agent& agent) { return agent.is_there(); });
}

std::vector<pid_t> Branches::processes() const {
  std::vector<pid_t> out;
  for (const Agent& agent : agents_)
    if (agent.is_there()) out.push_back(agent.pid);
  return out;
}

std::vector<Row> Branches::rows() const {
  std::vector<Row> out;
  for (const Agent& agent : agents_)
    if (agent.is_there()) out.push_back(agent.row);
  return out;
}

}  // namespace weft::launch
