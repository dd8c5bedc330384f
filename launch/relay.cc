// SPDX-License-Identifier: Apache-2.0
#include "relay.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <string>
#include <thread>

#include "memory/user_socket.h"

namespace weft::launch {
namespace {

/// read() or write(), also where the descriptor does not block.
template <class Move>
ssize_t patiently(int fd, short event, Move&& move) {
  for (;;) {
    const ssize_t n = move();
    if (n >= 0 || (errno != EAGAIN && errno != EINTR)) return n;
    pollfd waits{fd, event, 0};
    poll(&waits, 1, -1);
  }
}

/// Until one of the two ends; then all of it does.
[[noreturn]] void pump(int from, int to) {
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = patiently(from, POLLIN, [&] { return read(from, buffer, sizeof buffer); });
    if (n <= 0) _exit(0);
    for (ssize_t done = 0; done < n;) {
      const auto rest = static_cast<std::size_t>(n - done);
      const ssize_t m = patiently(to, POLLOUT, [&] { return write(to, buffer + done, rest); });
      if (m <= 0) _exit(0);
      done += m;
    }
  }
}

}  // namespace

int relay(const char* port_name) {
  signal(SIGPIPE, SIG_IGN);
  const std::string name = memory::socket_of_port(port_name);
  memory::Socket port;
  while (!(port = memory::connect_to(name)) && errno == EAGAIN) usleep(1000);
  if (!port) {
    printf("%s%s\n", memory::relay_cannot, "nobody listens there: the port is not open (any more)");
    return 1;
  }
  printf("%s\n", memory::relay_has_reached);
  fflush(stdout);
  std::thread([fd = port.fd()] { pump(fd, 1); }).detach();
  pump(0, port.fd());
}

}  // namespace weft::launch
