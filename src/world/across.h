// SPDX-License-Identifier: Apache-2.0
//
// Groups of different jobs meet. A job is what one mpiexec started, or a process alone; its ranks
// know each other by places in its memory. So leaders of two jobs tell each other who is in their
// groups (memory/guests.h), in a text of lines, and where in the network; the members of each group
// open their network before, admit the others, and have a communicator like any other. All go
// through the network to each other, on one machine too.
//
// On one machine leaders find each other by a socket in the kernel's memory, named by the port
// (MPI-5.0 §11.9), and tell by its credentials that they are of one user (memory/user_socket.h).
// Between machines a relay leads to it (port_far.h). One such socket for each
// world that a rank has met stays open as a link: if it ends without a word, that world has died.
// Names that are published are such sockets, too: their own names, which the kernel lists, say it
// all, so nobody has to answer, and they end with their process.
#pragma once

#include <poll.h>

#include <atomic>
#include <cerrno>
#include <list>
#include <memory>
#include <string>
#include <utility>

#include "base/err.h"
#include "memory/guests.h"
#include "net/watcher.h"
#include "object/objects.h"
#include "world/comm_agree.h"
#include "world/connected.h"

namespace weft {
struct Rank;
}

namespace weft::world {

/// By a connection between two processes. Both may send at once, whatever its buffers hold.
class SocketTalk final : public Talk {
 public:
  explicit SocketTalk(Socket socket) : socket_(std::move(socket)) {}
  Err send(pt2pt::Engine& held, const std::string& text) override;
  Result<std::string> receive(pt2pt::Engine& held) override;
  Socket keep() override { return std::move(socket_); }
  /// What the next receive() is to say.
  void put_back(const std::string& text);

 private:
  Socket socket_;
  std::string heard_;  // and not received yet
};

/// By messages of the caller and another member of a communicator that spans jobs.
std::unique_ptr<Talk> talk_by_messages(const Comm& peer, std::int32_t remote_leader, int tag);

/// All of it, by `move(done)`, which does what it can; the rank goes on meanwhile. False: the other
/// end is gone.
template <class Move>
bool move_all(pt2pt::Engine& held, int fd, short event, std::size_t bytes, Move&& move) {
  for (std::size_t done = 0; done < bytes;) {
    pollfd waits{fd, event, 0};
    look_until(held, [&] { return poll(&waits, 1, 0) != 0; });
    const ssize_t n = move(done);
    if (n < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

/// A port that a rank has opened (MPI-5.0 §11.9.2).
struct OpenPort {
  std::string text;
  Socket listening;  // none: ranks of other jobs cannot connect
  /// Who has connected, and has to wait for the next MPI_Comm_accept.
  std::unique_ptr<Talk> in_front;
};
using Ports = std::list<OpenPort>;
/// Of a port without its host: "": this one. MPI_ERR_PORT if nobody listens.
Result<std::unique_ptr<Talk>> connect_to(Rank& rank, const std::string& port,
                                         const std::string& host);

/// A service that a rank has published for a port of its job (§11.9.4), and the socket whose own
/// name says both.
struct SharedName {
  std::string service;
  Socket socket;
};
using SharedNames = std::list<SharedName>;
SharedName share_name(const std::string& service, const std::string& port);
/// The port that a job of this user has published on this machine; "": none has.
std::string find_shared(const std::string& service);

/// Collective over `view`, a group: meet the one behind `talk` (at the leader, rank `root`; null
/// elsewhere).
Result<Remote> meet_across(View& view, int root, int tag, Talk* talk);

/// To a world of another job. Its end is news for the rank's watcher of links, whose thread is the
/// only one that looks; the object goes when that has seen the end, or has ended itself.
class Link {
 public:
  Link(Rank& rank, Socket socket, const HashKey& job, memory::World world);
  ~Link();
  Link(const Link&) = delete;
  Link& operator=(const Link&) = delete;
  bool is_to(const HashKey& job, memory::World world) const {
    return job_ == job && world_ == world;
  }
  /// The other side has ended; the watcher's thread has no more to do with it.
  bool is_over() const { return is_over_.load(std::memory_order_acquire); }
  /// This side is about to end, and is connected with nobody any more.
  void say_goodbye();

 private:
  void has_news();

  Rank& rank_;
  Socket socket_;
  HashKey job_;
  memory::World world_;
  std::atomic<bool> is_over_{false};       // release; pairs with is_over()
  std::atomic<bool> said_goodbye_{false};  // release and acquire
  net::Watcher::Sleeper sleeper_;
};
/// Of all of the rank's links.
void say_goodbye(Rank& rank);

}  // namespace weft::world
