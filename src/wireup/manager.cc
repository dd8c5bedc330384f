// SPDX-License-Identifier: Apache-2.0
//
// PMIx where its server's address is there; otherwise the descriptor or port of PMI, on which both
// sides agree about the version with the first line.
#include "wireup/manager.h"

#include <fcntl.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "wireup/pmi.h"
#include "wireup/pmix.h"

namespace weft::wireup {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

Result<int> connect_to(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos)
    return fail(MPI_ERR_OTHER, "PMI_PORT is \"%s\", expected host:port", address.c_str());
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(address.substr(0, colon).c_str(), address.substr(colon + 1).c_str(), &hints,
                  &found) != 0)
    return fail(MPI_ERR_OTHER, "the host of PMI_PORT=%s is unknown", address.c_str());
  int fd = -1;
  for (const addrinfo* at = found; at != nullptr && fd < 0; at = at->ai_next) {
    fd = socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (fd >= 0 && connect(fd, at->ai_addr, at->ai_addrlen) != 0) {
      close(fd);
      fd = -1;
    }
  }
  freeaddrinfo(found);
  if (fd < 0)
    return fail(MPI_ERR_OTHER, "cannot connect to the process manager at PMI_PORT=%s: %s",
                address.c_str(), std::strerror(errno));
  return fd;
}

}  // namespace

Result<std::unique_ptr<Manager>> join_manager() {
  if (has_pmix()) return join_pmix();
  const std::string fd = variable("PMI_FD"), port = variable("PMI_PORT");
  if (!fd.empty() && !variable("PMI_RANK").empty()) {
    const int number = std::atoi(fd.c_str());
    fcntl(number, F_SETFD, FD_CLOEXEC);  // our children are no ranks
    unsetenv("PMI_FD");
    return join_pmi(number, {std::atoi(variable("PMI_RANK").c_str()),
                             std::atoi(variable("PMI_SIZE").c_str()), variable("PMI_JOBID")});
  }
  if (!port.empty() && !variable("PMI_ID").empty()) {
    const Result<int> socket = connect_to(port);
    if (!socket) return socket.err;
    unsetenv("PMI_PORT");
    Result<Identity> who = identify(socket.value, std::atoi(variable("PMI_ID").c_str()));
    if (!who) return who.err;
    return join_pmi(socket.value, who.value);
  }
  return std::unique_ptr<Manager>();
}

}  // namespace weft::wireup
