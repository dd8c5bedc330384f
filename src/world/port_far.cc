// SPDX-License-Identifier: Apache-2.0
#include "world/port_far.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/params.h"
#include "world/across.h"
#include "world/apart.h"

namespace weft::world {
namespace {

using memory::Socket;

Err unreachable(const std::string& host, const std::string& why) {
  return fail(MPI_ERR_PORT, "port_name is of host %s, which cannot be reached: %s", host.c_str(),
              why.c_str());
}

/// What stands last in what the command has said: there its reason is.
std::string last_line(const Socket& said) {
  char text[4096];
  const ssize_t n = read(said.fd(), text, sizeof text);
  std::string all(text, static_cast<std::size_t>(n > 0 ? n : 0));
  all.erase(all.find_last_not_of(" \t\r\n") + 1);
  return all.substr(all.find_last_of("\r\n") + 1);
}

/// What the relay says; "": it has ended. Lines before are of a shell's start files.
std::string first_word(pt2pt::Engine& held, const Socket& way) {
  std::string line;
  char c = 0;
  const auto get = [&](std::size_t) { return recv(way.fd(), &c, 1, MSG_DONTWAIT); };
  while (move_all(held, way.fd(), POLLIN, 1, get)) {
    if (c != '\n') {
      line += c;
      continue;
    }
    if (line == memory::relay_has_reached || line.starts_with(memory::relay_cannot)) return line;
    line.clear();
  }
  return "";
}

}  // namespace

Result<Socket> connect_far(pt2pt::Engine& held, const std::string& agent, const std::string& host,
                           const std::string& port) {
  const std::string path = own_mpiexec();
  if (path.empty()) return unreachable(host, "weft's mpiexec is not beside weft's library");
  int way[2], said[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, way) != 0)
    return unreachable(host, std::strerror(errno));
  Socket own(way[0]), other(way[1]);
  if (pipe2(said, O_CLOEXEC | O_NONBLOCK) != 0) return unreachable(host, std::strerror(errno));
  const Socket errors(said[0]);
  Socket to_errors(said[1]);
  fcntl(to_errors.fd(), F_SETFL, 0);
  // A shell is behind ssh; the command of the user is his to know.
  const std::string there = agent == ssh_command ? "'" + path + "'" : path;
  const pid_t process = start_apart(
      {.words = {"/bin/sh", "-c", "exec " + agent + " \"$@\"", "sh", host, there, "--relay", port},
       .in = other.fd(),
       .out = other.fd(),
       .err = to_errors.fd()});
  if (process == 0) return unreachable(host, std::string("/bin/sh: ") + std::strerror(errno));
  other = Socket();
  to_errors = Socket();
  const std::string answer = first_word(held, own);
  if (answer == memory::relay_has_reached) return own;
  if (!answer.empty())
    return fail(MPI_ERR_PORT, "port_name is of host %s: %s", host.c_str(),
                answer.c_str() + std::strlen(memory::relay_cannot));
  const std::string reason = last_line(errors);
  return unreachable(
      host, agent.substr(0, agent.find(' ')) + " ended" + (reason.empty() ? "" : ": " + reason));
}

}  // namespace weft::world
