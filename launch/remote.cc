// SPDX-License-Identifier: Apache-2.0
#include "remote.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include "base/limits.h"
#include "base/params.h"
#include "values.h"

extern char** environ;

namespace weft::launch {
namespace {

bool is_ssh(const std::string& command) {
  return command == ssh_command;
}

bool is_srun(const Options& options) {
  return options.launch_agent.empty() && std::getenv("SLURM_JOB_ID") != nullptr;
}

std::string own_path() {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  if (n <= 0)
    throw Failure{1, std::string("weft: mpiexec cannot find its own place (/proc/self/exe): ") +
                         strerror(errno)};
  return {path, static_cast<std::size_t>(n)};
}

/// For the shell to which ssh gives what follows the host.
std::string quoted(const std::string& path) {
  std::string out = "'";
  for (const char c : path) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of(" \t\r\n");
  if (end == text.npos) return "";
  const std::size_t newline = text.find_last_of("\r\n", end);
  return text.substr(newline == text.npos ? 0 : newline + 1, end - (newline + 1) + 1);
}

}  // namespace

// Without --unbuffered srun keeps what is no whole line; frames are none.
std::string agent_command(const Options& options) {
  if (!options.launch_agent.empty()) return options.launch_agent;
  return is_srun(options) ? "srun --unbuffered --nodes=1 --ntasks=1 -w" : ssh_command;
}

int tree_width(const Options& options) {
  return is_srun(options) ? static_cast<int>(options.hosts.size()) : options.tree_width;
}

std::vector<std::string> words_for_agent(const std::string& command, const std::string& host) {
  const std::string path = own_path();
  if (is_this_machine(host)) return {path, "--agent"};
  return {"/bin/sh", "-c", "exec " + command + " \"$@\"",
          "sh",      host, is_ssh(command) ? quoted(path) : path,
          "--agent"};
}

Started start_agent(const std::string& command, const std::string& host, const Lifeline& lifeline,
                    const sigset_t& mask) {
  const auto cannot = [&](const std::string& why, int error) {
    throw Failure{
        1, "no agent can be started for it: " + why + ": " + strerror(error) + limit_behind(error)};
  };
  int in[2], out[2], err[2];
  for (int* ends : {in, out, err})
    if (pipe2(ends, O_CLOEXEC) != 0) cannot("pipe", errno);
  std::vector<std::string> words = words_for_agent(command, host);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  Start s;
  s.path = argv[0];
  s.argv = argv.data();
  s.env = environ;
  s.in = in[0];
  s.out = out[1];
  s.err = err[1];
  s.lifeline = &lifeline;
  s.signal_mask = mask;
  std::string step;
  const pid_t pid = start_process(s, step);
  const int error = errno;
  for (int fd : {in[0], out[1], err[1]}) close(fd);
  if (pid > 0) return {pid, in[1], out[0], err[0]};
  for (int fd : {in[1], out[0], err[0]}) close(fd);
  cannot(step, error);
  return {};
}

std::string how_it_ended(const std::string& command, int status, const std::string& said) {
  const std::string name = command.substr(0, command.find(' '));
  std::string out = name + (WIFSIGNALED(status) ? " was killed by signal " : " ended with code ");
  out += std::to_string(WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
  if (WIFSIGNALED(status)) out += std::string(" (") + strsignal(WTERMSIG(status)) + ")";
  const std::string line = last_line(said);
  return line.empty() ? out : out + ": " + line;
}

}  // namespace weft::launch
