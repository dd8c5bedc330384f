// SPDX-License-Identifier: Apache-2.0
//
// Ports (MPI-5.0 §11.9): ranks that know a name meet. A port is open while its name is in the
// job's directory; the name says of which job it is, and at which rank. Who connects tells that
// rank so, by a message in the space of constructions from groups alone; then the two are leaders
// of an intercommunicator like others.
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "object/group.h"
#include "world/comm_agree.h"
#include "world/comms.h"
#include "world/connected.h"
#include "world/directory.h"
#include "world/rank.h"

namespace weft::world {
namespace {

using memory::Ask;
using Answer = std::optional<std::string>;

struct Port {
  std::int32_t rank = 0;
  std::uint32_t number = 0;
  int tag() const { return static_cast<int>(number & 0x7fffffff); }
};

std::string text_of(const memory::Job& job, const Port& port) {
  const HashKey& id = const_cast<memory::Job&>(job).header().identity;
  char text[96];
  std::snprintf(text, sizeof text, "weft:%016" PRIx64 "%016" PRIx64 ":%d:%u", id.half[0],
                id.half[1], port.rank, port.number);
  return text;
}

/// In the directory.
std::string port_key(const char* name) {
  return std::string("port ") + name;
}

/// A port that is open.
Result<Port> port_of(Rank& rank, const char* name) {
  memory::Job& job = *rank.process->job;
  Port port;
  std::uint64_t id[2] = {};
  char behind = 0;
  const int got = std::sscanf(name, "weft:%16" SCNx64 "%16" SCNx64 ":%d:%u%c", &id[0], &id[1],
                              &port.rank, &port.number, &behind);
  if (got != 4 || port.rank < 0)
    return fail(MPI_ERR_PORT, "port_name is \"%.200s\"; expected a name from MPI_Open_port", name);
  const HashKey& own = job.header().identity;
  if (id[0] != own.half[0] || id[1] != own.half[1])
    return fail(MPI_ERR_PORT,
                "port_name is of a job of another mpiexec; only jobs that one mpiexec has started, "
                "or that these have spawned, can be connected");
  const Result<Answer> open = ask_directory(rank, Ask::find, port_key(name));
  if (!open) return open.err;
  if (port.rank >= job.places() || !open.value)
    return fail(MPI_ERR_PORT, "port_name is \"%s\", which is not open (any more)", name);
  return port;
}

std::string service_key(const char* service) {
  return std::string("name ") + service;
}

Err check_length(const char* text, const char* name) {
  if (std::strlen(text) < MPI_MAX_PORT_NAME) return ok;
  return fail(MPI_ERR_ARG, "%s has %zu characters; expected fewer than MPI_MAX_PORT_NAME, %d", name,
              std::strlen(text), MPI_MAX_PORT_NAME);
}

/// Who keeps the directory where nodes have memories of their own? weft's mpiexec.
Err check_nodes(Rank& rank) {
  const int nodes = rank.process->job->nodes();
  if (nodes == 1 || rank.process->manager == nullptr) return ok;
  return fail(MPI_ERR_UNSUPPORTED_OPERATION,
              "this job was started on %d nodes by another process manager; ranks of several nodes "
              "can meet at ports where weft's mpiexec has started them",
              nodes);
}

}  // namespace

Err open_port(Rank& rank, char* name) {
  memory::Job& job = *rank.process->job;
  WEFT_TRY(check_nodes(rank));
  // relaxed: only the number is at stake
  const Port port{rank.world_rank, job.header().ports.fetch_add(1, std::memory_order_relaxed)};
  const std::string text = text_of(job, port);
  const Result<Answer> added = ask_directory(rank, Ask::add, port_key(text.c_str()));
  if (!added) return added.err;
  rank.ports.push_back(text);
  std::snprintf(name, MPI_MAX_PORT_NAME, "%s", text.c_str());
  return ok;
}

static Err close_text(Rank& rank, std::string text) {
  const Result<Answer> removed = ask_directory(rank, Ask::remove, port_key(text.c_str()));
  std::erase(rank.ports, text);
  return removed.err;
}

Err close_port(Rank& rank, const char* name) {
  const Result<Port> port = port_of(rank, name);
  if (!port) return port.err;
  if (port.value.rank != rank.world_rank)
    return fail(MPI_ERR_PORT, "port_name was opened by another process, which has to close it");
  return close_text(rank, name);
}

void close_ports(Rank& rank) {
  while (!rank.ports.empty()) static_cast<void>(close_text(rank, rank.ports.back()));
}

Err publish_name(Rank& rank, const char* service, const char* port) {
  WEFT_TRY(check_nodes(rank));
  WEFT_TRY(check_length(service, "service_name"));
  WEFT_TRY(check_length(port, "port_name"));
  const Result<Answer> added = ask_directory(rank, Ask::add, service_key(service), port);
  if (!added) return added.err;
  if (added.value) return ok;
  return fail(MPI_ERR_SERVICE, "service_name \"%s\" is published already", service);
}

Err lookup_name(Rank& rank, const char* service, char* port) {
  const Result<Answer> found = ask_directory(rank, Ask::find, service_key(service));
  if (!found) return found.err;
  if (!found.value)
    return fail(MPI_ERR_NAME,
                "service_name \"%.200s\" is not published; names are known to the jobs of one "
                "mpiexec",
                service);
  std::snprintf(port, MPI_MAX_PORT_NAME, "%s", found.value->c_str());
  return ok;
}

Err unpublish_name(Rank& rank, const char* service, const char* port) {
  const Result<Answer> removed = ask_directory(rank, Ask::remove, service_key(service), port);
  if (!removed) return removed.err;
  if (removed.value) return ok;
  const Result<Answer> found = ask_directory(rank, Ask::find, service_key(service));
  if (!found) return found.err;
  if (!found.value)
    return fail(MPI_ERR_SERVICE, "service_name \"%.200s\" is not published", service);
  return fail(MPI_ERR_SERVICE, "service_name \"%s\" is published with the port \"%s\"", service,
              found.value->c_str());
}

namespace {

/// The root of MPI_Comm_accept: whoever comes first.
Result<Remote> await_caller(Rank& rank, Comm& comm, const char* name) {
  const Result<Port> port = port_of(rank, name);
  if (!port) return port.err;
  if (port.value.rank != rank.world_rank)
    return fail(MPI_ERR_PORT,
                "port_name was opened by another process; the root of MPI_Comm_accept must have "
                "opened it");
  Result<Comm> found = groups_parent(rank, *comm.group, *comm.errhandler);
  if (!found) return found.err;
  Comm& parent = found.value;
  View view(parent, Among::some, {rank.world_rank});
  std::int32_t caller = -1;
  WEFT_TRY(view.receive_from_any(&caller, sizeof caller, port.value.tag()));
  meet_members(parent, {caller});
  return meet(parent, *comm.group, caller, port.value.tag());
}

/// The root of MPI_Comm_connect.
Result<Remote> call_port(Rank& rank, Comm& comm, const char* name) {
  const Result<Port> port = port_of(rank, name);
  if (!port) return port.err;
  if (object::rank_in(*comm.group, port.value.rank) != MPI_UNDEFINED)
    return fail(MPI_ERR_PORT,
                "port_name was opened by a process of comm; the two groups that "
                "connect must not have a process in common");
  Result<Comm> found = groups_parent(rank, *comm.group, *comm.errhandler);
  if (!found) return found.err;
  Comm& parent = found.value;
  meet_members(parent, {port.value.rank});
  View view(parent, Among::some, {rank.world_rank, port.value.rank});
  const std::int32_t own = rank.world_rank;
  WEFT_TRY(view.tell(&own, sizeof own, 1, port.value.tag()));
  return meet(parent, *comm.group, port.value.rank, port.value.tag());
}

/// Collective over `comm`, whose root finds the other side by `find`.
template <class Find>
Err connect(Comm& comm, int root, MPI_Comm* out, Find find) {
  *out = MPI_COMM_NULL;
  const int construction = construction_tag(comm);
  Rank& rank = *comm.owner;
  Result<Remote> remote = Remote{};
  if (comm.rank == root) {
    const sync::Away away(comm.engine->lock);  // one context's lock at a time
    const pt2pt::Inside inside(rank.engine);
    remote = find(rank);
  }
  View view(comm, Among::all, comm.group->members);
  WEFT_TRY(spread(view, root, construction, remote));
  meet_members(comm, remote.value.members);
  *out = object::handle_of(*make_inter(comm, *comm.group, std::move(remote.value)));
  return ok;
}

}  // namespace

Err comm_accept(Comm& comm, const char* name, int root, MPI_Comm* out) {
  WEFT_TRY(check_nodes(*comm.owner));
  return connect(comm, root, out, [&](Rank& rank) { return await_caller(rank, comm, name); });
}

Err comm_connect(Comm& comm, const char* name, int root, MPI_Comm* out) {
  WEFT_TRY(check_nodes(*comm.owner));
  return connect(comm, root, out, [&](Rank& rank) { return call_port(rank, comm, name); });
}

namespace {

/// What both ends of a socket tell each other.
struct Card {
  HashKey identity;
  std::int32_t rank;
};

Err socket_trouble(const char* what) {
  return fail(MPI_ERR_ARG, "fd cannot be %s: %s; expected a connected stream socket", what,
              errno != 0 ? std::strerror(errno) : "it ended");
}

/// All of it, also where the socket does not block; the rank goes on meanwhile.
template <class Move>
Err move_all(pt2pt::Engine& e, int fd, short event, std::size_t bytes, Move&& move) {
  const char* const what = event == POLLIN ? "read" : "written";
  for (std::size_t done = 0; done < bytes;) {
    pollfd waits{fd, event, 0};
    int ready = 0;
    look_until(e, [&] { return (ready = poll(&waits, 1, 0)) != 0; });
    if (ready < 0 && errno == EINTR) continue;
    errno = 0;
    const ssize_t n = ready < 0 ? -1 : move(done);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) return socket_trouble(what);
    done += static_cast<std::size_t>(n);
  }
  return ok;
}

}  // namespace

Err comm_join(Rank& rank, int fd, MPI_Comm* out) {
  *out = MPI_COMM_NULL;
  memory::Job& job = *rank.process->job;
  WEFT_TRY(check_nodes(rank));
  // poll() overlooks such a one.
  if (fd < 0 || fcntl(fd, F_GETFD) < 0)
    return fail(MPI_ERR_ARG, "fd is %d, which is not open; expected a connected stream socket", fd);
  pt2pt::Engine& e = rank.engine;
  const Card mine{job.header().identity, rank.world_rank};
  Card theirs{};
  const auto* from = reinterpret_cast<const char*>(&mine);
  auto* to = reinterpret_cast<char*>(&theirs);
  WEFT_TRY(move_all(e, fd, POLLOUT, sizeof mine, [&](std::size_t done) {
    return send(fd, from + done, sizeof mine - done, MSG_NOSIGNAL);
  }));
  WEFT_TRY(move_all(e, fd, POLLIN, sizeof theirs, [&](std::size_t done) {
    return recv(fd, to + done, sizeof theirs - done, 0);
  }));
  if (std::memcmp(&mine.identity, &theirs.identity, sizeof mine.identity) != 0)
    return fail(MPI_ERR_UNSUPPORTED_OPERATION,
                "the process at the other end of fd is not of this job; only jobs that one mpiexec "
                "has started, or that these have spawned, can be connected");
  if (theirs.rank == mine.rank || theirs.rank < 0 || theirs.rank >= job.places())
    return fail(MPI_ERR_ARG, "both ends of fd are this process's; expected those of two");
  Comm& self = *rank.store.comm_self;
  Result<Comm> found = groups_parent(rank, *self.group, *self.errhandler);
  if (!found) return found.err;
  Comm& parent = found.value;
  meet_members(parent, {theirs.rank});
  Result<Remote> remote = meet(parent, *self.group, theirs.rank, tag_of("MPI_Comm_join"));
  if (!remote) return remote.err;
  meet_members(self, remote.value.members);
  *out = object::handle_of(*make_inter(self, *self.group, std::move(remote.value)));
  return ok;
}

}  // namespace weft::world
