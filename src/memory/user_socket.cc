// SPDX-License-Identifier: Apache-2.0
#include "memory/user_socket.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

namespace weft::memory {
namespace {

/// Its first byte is 0: the kernel knows it, no file system.
sockaddr_un address_of(const std::string& name, socklen_t* bytes) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  const std::size_t n = std::min(name.size(), sizeof at.sun_path - 1);
  std::memcpy(at.sun_path + 1, name.data(), n);
  *bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + n);
  return at;
}

/// bind() or connect().
bool name_it(int (*call)(int, const sockaddr*, socklen_t), const Socket& socket,
             const std::string& name) {
  socklen_t bytes = 0;
  const sockaddr_un at = address_of(name, &bytes);
  return call(socket.fd(), reinterpret_cast<const sockaddr*>(&at), bytes) == 0;
}

Socket new_socket() {
  return Socket(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

bool is_of_this_user(const Socket& socket) {
  ucred other{};
  socklen_t bytes = sizeof other;
  return getsockopt(socket.fd(), SOL_SOCKET, SO_PEERCRED, &other, &bytes) == 0 &&
         other.uid == geteuid();
}

}  // namespace

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

Socket bound_to(const std::string& name) {
  Socket made = new_socket();
  return name_it(bind, made, name) ? std::move(made) : Socket();
}

Socket listen_at(const std::string& name) {
  Socket made = bound_to(name);
  return listen(made.fd(), SOMAXCONN) == 0 ? std::move(made) : Socket();
}

Socket accept_at(const Socket& listening) {
  Socket made(accept4(listening.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  return made && is_of_this_user(made) ? std::move(made) : Socket();
}

Socket connect_to(const std::string& name) {
  Socket made = new_socket();
  if (!name_it(connect, made, name)) return {};
  errno = EACCES;
  return is_of_this_user(made) ? std::move(made) : Socket();
}

std::string socket_of_port(const std::string& port) {
  return "weft-port " + port;
}

}  // namespace weft::memory
