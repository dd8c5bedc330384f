// SPDX-License-Identifier: Apache-2.0
//
// Sockets that have names in the kernel's memory and no file: by them processes of one user find
// each other on one machine, whoever started them. The kernel says whose the other end is. Names
// belong to a network of the kernel, of which a machine may have several (containers).
#pragma once

#include <string>
#include <utility>

namespace weft::memory {

/// A descriptor, closed when it is no longer wanted; -1: none.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int fd) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();
  int fd() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

/// None: the system has none, or another socket has this name. To listen, and to be found.
Socket listen_at(const std::string& name);
Socket bound_to(const std::string& name);
/// One who has connected and is of this user; it never blocks. None: nobody.
Socket accept_at(const Socket& listening);
/// To who listens there and is of this user; it never blocks. None: nobody does; or, errno is
/// EAGAIN, too many wait to be accepted.
Socket connect_to(const std::string& name);

/// Of a port (MPI-5.0 §11.9).
std::string socket_of_port(const std::string& port);

/// What mpiexec's relay says once it has reached the port (launch/relay.h), and what stands in
/// front of the reason why it cannot; a line each.
inline constexpr const char* relay_has_reached = "weft-relay is there";
inline constexpr const char* relay_cannot = "weft-relay cannot: ";

}  // namespace weft::memory
