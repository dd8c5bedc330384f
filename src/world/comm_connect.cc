// SPDX-License-Identifier: Apache-2.0
//
// Ports (MPI-5.0 §11.9): ranks that know a name meet. A port is open while the job's memory has a
// block of its number; its name says of which job it is, and at which rank. Who connects tells that
// rank so, by a message in the space of constructions from groups alone; then the two are leaders
// of an intercommunicator like others. Published names are blocks, too.
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

#include "base/hash.h"
#include "object/group.h"
#include "world/comm_agree.h"
#include "world/comms.h"
#include "world/connected.h"
#include "world/rank.h"

namespace weft::world {
namespace {

// Blocks that no communicator has.
constexpr std::uint64_t port_block = ~std::uint64_t{1}, name_block = ~std::uint64_t{2};

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

/// A port that is open; `call` wants it.
Result<Port> port_of(memory::Job& job, const char* name) {
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
  if (port.rank >= job.places() || !job.has_shared_block({port.number, port_block}))
    return fail(MPI_ERR_PORT, "port_name is \"%s\", which is not open (any more)", name);
  return port;
}

struct Published {
  std::atomic<std::uint32_t> state;  // 0: free, 1: somebody writes, 2: there
  char service[MPI_MAX_PORT_NAME], port[MPI_MAX_PORT_NAME];
};

memory::BlockName block_of(const char* service) {
  return {hash_of(std::string_view(service)) & ~std::uint64_t{0x3f}, name_block};
}

/// nullptr: nobody has published it.
Published* find(memory::Job& job, const char* service) {
  const std::uint64_t at = job.find_shared_block(block_of(service));
  if (at == 0) return nullptr;
  auto* found = reinterpret_cast<Published*>(job.at(at));
  // acquire: the texts; pairs with publish_name()
  const bool is_it = found->state.load(std::memory_order_acquire) == 2 &&
                     std::strncmp(found->service, service, sizeof found->service) == 0;
  return is_it ? found : nullptr;
}

Err check_length(const char* text, const char* name) {
  if (std::strlen(text) < MPI_MAX_PORT_NAME) return ok;
  return fail(MPI_ERR_ARG, "%s has %zu characters; expected fewer than MPI_MAX_PORT_NAME, %d", name,
              std::strlen(text), MPI_MAX_PORT_NAME);
}

Err check_nodes(memory::Job& job) {
  if (job.nodes() == 1) return ok;
  return fail(MPI_ERR_UNSUPPORTED_OPERATION,
              "ports connect ranks in jobs on one node only; this one has %d", job.nodes());
}

}  // namespace

Err open_port(Rank& rank, char* name) {
  memory::Job& job = *rank.process->job;
  WEFT_TRY(check_nodes(job));
  // relaxed: only the number is at stake
  const Port port{rank.world_rank, job.header().ports.fetch_add(1, std::memory_order_relaxed)};
  if (job.shared_block({port.number, port_block}, sizeof(std::uint64_t), 0, 1) == 0)
    return fail(MPI_ERR_NO_MEM, "no shared memory is left for a port");
  rank.ports.push_back(port.number);
  std::snprintf(name, MPI_MAX_PORT_NAME, "%s", text_of(job, port).c_str());
  return ok;
}

static void close_number(Rank& rank, std::uint32_t number) {
  memory::Job& job = *rank.process->job;
  job.leave_shared_block(job.find_shared_block({number, port_block}));
  std::erase(rank.ports, number);
}

Err close_port(Rank& rank, const char* name) {
  const Result<Port> port = port_of(*rank.process->job, name);
  if (!port) return port.err;
  if (port.value.rank != rank.world_rank)
    return fail(MPI_ERR_PORT, "port_name was opened by another process, which has to close it");
  close_number(rank, port.value.number);
  return ok;
}

void close_ports(Rank& rank) {
  while (!rank.ports.empty()) close_number(rank, rank.ports.back());
}

Err publish_name(Rank& rank, const char* service, const char* port) {
  memory::Job& job = *rank.process->job;
  WEFT_TRY(check_nodes(job));
  WEFT_TRY(check_length(service, "service_name"));
  WEFT_TRY(check_length(port, "port_name"));
  const std::uint64_t at =
      job.shared_block(block_of(service), sizeof(Published), sizeof(Published), 1);
  if (at == 0) return fail(MPI_ERR_NO_MEM, "no shared memory is left for a name");
  auto& made = *reinterpret_cast<Published*>(job.at(at));
  std::uint32_t none = 0;
  // acquire: after who freed it; only one of several gets it
  if (!made.state.compare_exchange_strong(none, 1, std::memory_order_acquire))
    return fail(MPI_ERR_SERVICE, "service_name \"%s\" is published already", service);
  std::snprintf(made.service, sizeof made.service, "%s", service);
  std::snprintf(made.port, sizeof made.port, "%s", port);
  made.state.store(2, std::memory_order_release);  // the texts; pairs with find()
  return ok;
}

Err lookup_name(Rank& rank, const char* service, char* port) {
  const Published* found = find(*rank.process->job, service);
  if (found == nullptr)
    return fail(MPI_ERR_NAME,
                "service_name \"%.200s\" is not published; names are known to the jobs of one "
                "mpiexec",
                service);
  std::snprintf(port, MPI_MAX_PORT_NAME, "%s", found->port);
  return ok;
}

Err unpublish_name(Rank& rank, const char* service, const char* port) {
  memory::Job& job = *rank.process->job;
  const Published* found = find(job, service);
  if (found == nullptr)
    return fail(MPI_ERR_SERVICE, "service_name \"%.200s\" is not published", service);
  if (std::strcmp(found->port, port) != 0)
    return fail(MPI_ERR_SERVICE, "service_name \"%s\" is published with the port \"%s\"", service,
                found->port);
  job.leave_shared_block(job.find_shared_block(block_of(service)));
  return ok;
}

namespace {

/// The root of MPI_Comm_accept: whoever comes first.
Result<Remote> await_caller(Rank& rank, Comm& comm, const char* name) {
  const Result<Port> port = port_of(*rank.process->job, name);
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
  const Result<Port> port = port_of(*rank.process->job, name);
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
  WEFT_TRY(check_nodes(*comm.engine->job));
  return connect(comm, root, out, [&](Rank& rank) { return await_caller(rank, comm, name); });
}

Err comm_connect(Comm& comm, const char* name, int root, MPI_Comm* out) {
  WEFT_TRY(check_nodes(*comm.engine->job));
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
  WEFT_TRY(check_nodes(job));
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
