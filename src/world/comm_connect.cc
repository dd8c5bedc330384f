// SPDX-License-Identifier: Apache-2.0
//
// Ports (MPI-5.0 §11.9): ranks that know a name meet. A port is open while its name is in the
// job's directory; the name says of which job it is, and at which rank. Who connects tells that
// rank so, by a message in the space of constructions from groups alone, or by a socket if it is of
// another job (across.h); then the two are leaders of an intercommunicator like others.
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
#include "world/across.h"
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

/// Without the host, behind an @.
std::string text_of(const HashKey& job, const Port& port) {
  char text[96];
  std::snprintf(text, sizeof text, "weft:%016" PRIx64 "%016" PRIx64 ":%d:%u", job.half[0],
                job.half[1], port.rank, port.number);
  return text;
}

/// Other characters would mean something to a shell, or to ssh.
bool is_host_name(const std::string& host) {
  constexpr const char* known =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-";
  return host.empty() || (host[0] != '-' && host.find_first_not_of(known) == host.npos);
}

/// The same for other machines. One that has a strange name is reached from itself alone.
std::string with_host(const memory::Job& job, const std::string& text) {
  const std::string host = host_of_ports(job);
  return host.empty() || !is_host_name(host) ? text : text + '@' + host;
}

/// In the directory.
std::string port_key(const char* name) {
  return std::string("port ") + name;
}

struct Named {
  HashKey job;
  Port port;
  std::string host;  // "": this one
};

Result<Named> read_port(const char* name) {
  Named out{};
  char host[256] = "", behind = 0;
  const int got =
      std::sscanf(name, "weft:%16" SCNx64 "%16" SCNx64 ":%d:%u@%255[^\n]%c", &out.job.half[0],
                  &out.job.half[1], &out.port.rank, &out.port.number, host, &behind);
  out.host = host;
  const std::string text = text_of(out.job, out.port);
  if (got >= 4 && got <= 5 && out.port.rank >= 0 && is_host_name(out.host) &&
      name == (got == 5 ? text + '@' + out.host : text))
    return out;
  return fail(MPI_ERR_PORT, "port_name is \"%.200s\"; expected a name from MPI_Open_port", name);
}

/// A port of this job that is open.
Result<Port> port_of(Rank& rank, const char* name) {
  memory::Job& job = *rank.process->job;
  const Result<Named> read = read_port(name);
  if (!read) return read.err;
  const Port port = read.value.port;
  if (read.value.job != job.header().identity)
    return fail(MPI_ERR_PORT, "port_name was opened by a process of another job");
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

bool shares_names(const Rank& rank) {
  return rank.process->params.integer(P::spawn_names) != 0;
}

}  // namespace

Err open_port(Rank& rank, char* name) {
  memory::Job& job = *rank.process->job;
  // relaxed: only the number is at stake
  const Port port{rank.world_rank, job.header().ports.fetch_add(1, std::memory_order_relaxed)};
  const std::string on_host = text_of(job.header().identity, port), text = with_host(job, on_host);
  const Result<Answer> added = ask_directory(rank, Ask::add, port_key(text.c_str()));
  if (!added) return added.err;
  OpenPort& opened = rank.ports.emplace_back();
  opened.text = text;
  // Without a socket it is a port for this job's ranks.
  opened.listening = memory::listen_at(memory::socket_of_port(on_host));
  std::snprintf(name, MPI_MAX_PORT_NAME, "%s", text.c_str());
  return ok;
}

static Err close_text(Rank& rank, std::string text) {
  const Result<Answer> removed = ask_directory(rank, Ask::remove, port_key(text.c_str()));
  std::erase_if(rank.ports, [&](const OpenPort& port) { return port.text == text; });
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
  while (!rank.ports.empty()) static_cast<void>(close_text(rank, rank.ports.back().text));
  rank.shared_names.clear();
}

Err publish_name(Rank& rank, const char* service, const char* port) {
  WEFT_TRY(check_length(service, "service_name"));
  WEFT_TRY(check_length(port, "port_name"));
  const Result<Answer> added = ask_directory(rank, Ask::add, service_key(service), port);
  if (!added) return added.err;
  if (!added.value)
    return fail(MPI_ERR_SERVICE, "service_name \"%s\" is published already", service);
  const Result<Named> read = read_port(port);
  if (read && read.value.job == rank.process->job->header().identity && shares_names(rank))
    rank.shared_names.push_back(share_name(service, text_of(read.value.job, read.value.port)));
  return ok;
}

Err lookup_name(Rank& rank, const char* service, char* port) {
  const Result<Answer> found = ask_directory(rank, Ask::find, service_key(service));
  if (!found) return found.err;
  std::string text = found.value.value_or("");
  if (!found.value && shares_names(rank)) {
    text = find_shared(service);
    if (!text.empty()) text = with_host(*rank.process->job, text);
  }
  if (text.empty())
    return fail(
        MPI_ERR_NAME,
        "service_name \"%.200s\" is not published; names are known to the job that publishes "
        "them, and with WEFT_SPAWN_NAMES=machine to jobs on the publisher's host",
        service);
  std::snprintf(port, MPI_MAX_PORT_NAME, "%s", text.c_str());
  return ok;
}

Err unpublish_name(Rank& rank, const char* service, const char* port) {
  const Result<Answer> removed = ask_directory(rank, Ask::remove, service_key(service), port);
  if (!removed) return removed.err;
  std::erase_if(rank.shared_names, [service](const SharedName& n) { return n.service == service; });
  if (removed.value) return ok;
  const Result<Answer> found = ask_directory(rank, Ask::find, service_key(service));
  if (!found) return found.err;
  if (!found.value)
    return fail(MPI_ERR_SERVICE, "service_name \"%.200s\" is not published", service);
  return fail(MPI_ERR_SERVICE, "service_name \"%s\" is published with the port \"%s\"", service,
              found.value->c_str());
}

namespace {

/// nullptr: not by this rank. It stays where it is until it is closed.
OpenPort* opened_here(Rank& rank, const char* name) {
  const sync::Guard guard(rank.store.lock);
  for (OpenPort& port : rank.ports)
    if (port.text == name) return &port;
  return nullptr;
}

/// Who has connected and says who it is. nullptr: it has ended.
std::unique_ptr<Talk> hear_first(pt2pt::Engine& e, Socket socket) {
  auto talk = std::make_unique<SocketTalk>(std::move(socket));
  const Result<std::string> said = talk->receive(e);
  if (!said) return nullptr;
  talk->put_back(said.value);
  return talk;
}

Result<Remote> call_other_job(Rank& rank, const Named& name) {
  Result<std::unique_ptr<Talk>> talk = connect_to(rank, text_of(name.job, name.port), name.host);
  if (!talk) return talk.err;
  Remote remote;
  remote.talk = std::move(talk.value);
  return remote;
}

/// The root of MPI_Comm_accept: whoever comes first.
Result<Remote> await_caller(Rank& rank, Comm& comm, const char* name) {
  const Result<Port> port = port_of(rank, name);
  if (!port) return port.err;
  OpenPort* const own = opened_here(rank, name);
  if (own == nullptr)
    return fail(MPI_ERR_PORT,
                "port_name was opened by another process; the root of MPI_Comm_accept must have "
                "opened it");
  Result<Comm> found = groups_parent(rank, *comm.group, *comm.errhandler);
  if (!found) return found.err;
  Comm& parent = found.value;
  View view(parent, Among::some, {rank.world_rank});
  std::int32_t caller = -1;
  pt2pt::Request* const request = view.post_recv_from_any(&caller, sizeof caller, port.value.tag());
  Remote remote;
  remote.talk = std::move(own->in_front);
  while (remote.talk == nullptr && !request->done) {
    Socket came;
    look_until(rank.engine,
               [&] { return request->done || (came = memory::accept_at(own->listening)); });
    if (came) remote.talk = hear_first(rank.engine, std::move(came));
  }
  pt2pt::give_up_receive(*request);
  pt2pt::free_request(request);
  if (caller < 0) return remote;
  own->in_front = std::move(remote.talk);  // this job's rank has come first
  meet_members(parent, {caller});
  return meet(parent, *comm.group, caller, port.value.tag());
}

/// The root of MPI_Comm_connect.
Result<Remote> call_port(Rank& rank, Comm& comm, const char* name) {
  memory::Job& job = *rank.process->job;
  const Result<Named> read = read_port(name);
  if (!read) return read.err;
  if (read.value.job != job.header().identity) return call_other_job(rank, read.value);
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

/// Collective over `comm`, whose root has found the other side.
Err join_sides(Comm& comm, int root, Result<Remote> remote, MPI_Comm* out) {
  View view(comm, Among::all, comm.group->members);
  WEFT_TRY(spread(view, root, construction_tag(comm), remote));
  meet_members(comm, remote.value.members);
  *out = object::handle_of(*make_inter(comm, *comm.group, std::move(remote.value)));
  return ok;
}

/// The same, by `find`.
template <class Find>
Err connect(Comm& comm, int root, MPI_Comm* out, Find find) {
  *out = MPI_COMM_NULL;
  Rank& rank = *comm.owner;
  Result<Remote> remote = Remote{};
  if (comm.rank == root) {
    const sync::Away away(comm.engine->lock);  // one context's lock at a time
    const pt2pt::Inside inside(rank.engine);
    remote = find(rank);
  }
  return join_sides(comm, root, std::move(remote), out);
}

}  // namespace

Err comm_accept(Comm& comm, const char* name, int root, MPI_Comm* out) {
  return connect(comm, root, out, [&](Rank& rank) { return await_caller(rank, comm, name); });
}

Err comm_connect(Comm& comm, const char* name, int root, MPI_Comm* out) {
  return connect(comm, root, out, [&](Rank& rank) { return call_port(rank, comm, name); });
}

namespace {

/// What both ends of a socket tell each other.
struct Card {
  HashKey identity;
  std::int32_t rank;
  char port[MPI_MAX_PORT_NAME];  // of the end that opens one
};

Err socket_trouble(const char* what) {
  return fail(MPI_ERR_ARG, "fd cannot be %s: %s; expected a connected stream socket", what,
              errno != 0 ? std::strerror(errno) : "it ended");
}

/// Both say as much.
Err trade_all(pt2pt::Engine& e, int fd, const void* mine, void* theirs, std::size_t bytes) {
  const auto* from = static_cast<const char*>(mine);
  auto* to = static_cast<char*>(theirs);
  errno = 0;
  if (!move_all(e, fd, POLLOUT, bytes, [&](std::size_t done) {
        return send(fd, from + done, bytes - done, MSG_NOSIGNAL);
      }))
    return socket_trouble("written");
  errno = 0;
  if (!move_all(e, fd, POLLIN, bytes,
                [&](std::size_t done) { return recv(fd, to + done, bytes - done, 0); }))
    return socket_trouble("read");
  return ok;
}

/// Two jobs: one opens a port, tells its name by the socket, and hears whether the other one has
/// found it.
Err join_other_job(Rank& rank, int fd, Card mine, const Card& theirs, MPI_Comm* out) {
  pt2pt::Engine& e = rank.engine;
  const bool opens = std::memcmp(&mine.identity, &theirs.identity, sizeof mine.identity) < 0;
  Err trouble = opens ? open_port(rank, mine.port) : ok;
  Card named{};
  WEFT_TRY(trade_all(e, fd, &mine, &named, sizeof mine));
  Result<Remote> remote = Remote{};
  if (!opens) {
    const Result<Named> read = read_port(named.port);
    remote = read ? call_other_job(rank, read.value) : Result<Remote>(read.err);
  }
  const char found = !remote.err && !trouble;
  char is_found = 0;
  WEFT_TRY(trade_all(e, fd, &found, &is_found, sizeof found));
  Comm& self = *rank.store.comm_self;
  if (opens && is_found != 0) remote = await_caller(rank, self, mine.port);
  if (opens && !trouble) static_cast<void>(close_text(rank, mine.port));
  if (trouble) return trouble;
  if (remote.err) return remote.err;
  if (is_found == 0)
    return fail(MPI_ERR_OTHER,
                "the process at the other end of fd cannot reach this one, and has its own error "
                "that says why");
  return join_sides(self, 0, std::move(remote), out);
}

}  // namespace

Err comm_join(Rank& rank, int fd, MPI_Comm* out) {
  *out = MPI_COMM_NULL;
  memory::Job& job = *rank.process->job;
  // poll() overlooks such a one.
  if (fd < 0 || fcntl(fd, F_GETFD) < 0)
    return fail(MPI_ERR_ARG, "fd is %d, which is not open; expected a connected stream socket", fd);
  Card mine{}, theirs{};
  mine.identity = job.header().identity;
  mine.rank = rank.world_rank;
  WEFT_TRY(trade_all(rank.engine, fd, &mine, &theirs, sizeof mine));
  if (mine.identity != theirs.identity) return join_other_job(rank, fd, mine, theirs, out);
  if (theirs.rank == mine.rank || theirs.rank < 0 || theirs.rank >= job.places())
    return fail(MPI_ERR_ARG, "both ends of fd are this process's; expected those of two");
  Comm& self = *rank.store.comm_self;
  Result<Comm> found = groups_parent(rank, *self.group, *self.errhandler);
  if (!found) return found.err;
  Comm& parent = found.value;
  meet_members(parent, {theirs.rank});
  return join_sides(self, 0, meet(parent, *self.group, theirs.rank, tag_of("MPI_Comm_join")), out);
}

}  // namespace weft::world
