// SPDX-License-Identifier: Apache-2.0
//
// One thread's way to the network. Each communication context has an Endpoint of its own, with its
// own domain, completion queue, address vector and buffers: threads of a rank and ranks of a
// process share no lock on their way out. One thread at a time uses an Endpoint; the context's lock
// is what makes it so.
//
// Messages are short, unexpected by the network, and reliable: those to one peer arrive in order,
// in rooms that the receiver has posted before. Matching is the engine's. Long data goes from
// memory to memory (read, write). Nothing here waits; a call that finds no space says `false`, and
// is made again after progress().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/err.h"
#include "base/keyed_hash.h"
#include "net/library.h"
#include "net/registration.h"

struct fi_cq_msg_entry;
struct fid_av;
struct fid_cq;
struct fid_domain;
struct fid_ep;

namespace weft::net {

/// Where an endpoint is, for its peers: some ten bytes, that mean something to the same provider
/// only.
using Address = std::vector<std::byte>;

/// A peer whose address was given to an endpoint; a number of that endpoint's.
using Peer = std::uint64_t;

/// Buffers of an endpoint. Peers have the same room_bytes.
struct Rooms {
  int receives = 32;               // posted, for messages that nobody waits for yet
  int sends = 32;                  // on their way at a time
  std::size_t room_bytes = 16384;  // the longest message
  std::size_t send_bytes = 0;      // of it in a room to send, the rest lies elsewhere; 0: all
};

/// A transfer on its way. The caller keeps it, at one place, until it is finished.
struct Operation {
  std::uint64_t scratch[8];  // libfabric's, while it is on its way
  enum class What : std::uint8_t { receive, send, lent, hint, transfer } what = What::transfer;
  int room = 0;
  Peer peer = 0;
};

/// Who hears what has happened, inside progress(). May call all of the endpoint but progress().
class Listener {
 public:
  /// A message; its bytes are there, and may be written, during the call.
  virtual void received(std::span<std::byte> message) = 0;
  /// What was sent behind this room has left, and may be written.
  virtual void returned(std::byte* room) = 0;
  /// A transfer is over; an error names what went wrong.
  virtual void finished(Operation& operation, Err err) = 0;
  /// A message to `peer` did not arrive: it is dead or cannot be reached.
  virtual void lost(Peer peer, Err err) = 0;

 protected:
  ~Listener() = default;
};

/// What an endpoint is opened on.
struct Site {
  const Library& library;
  fid_fabric& fabric;
  const fi_info& info;
  bool registers_own, has_sockets;  // as in the offer
};

class Endpoint {
 public:
  static Result<std::unique_ptr<Endpoint>> open(const Site& site, const Rooms& rooms);
  /// What is on its way may be lost: first make progress until is_idle().
  ~Endpoint();
  Endpoint(const Endpoint&) = delete;
  Endpoint& operator=(const Endpoint&) = delete;

  const Address& address() const { return address_; }
  /// No word goes out before the first message.
  Result<Peer> add_peer(const Address& address);
  void remove_peer(Peer peer);

  /// A room for a message of up to send_bytes(), or null while all but `spared` are taken.
  std::byte* reserve(int spared = 0);
  /// Sends the first `bytes` of it, and behind them, if borrows(), what lies elsewhere until it is
  /// returned(). If false, or on error, the room is still the caller's.
  Result<bool> commit(std::byte* room, std::size_t bytes, Peer to,
                      std::span<const std::byte> behind = {});
  /// The same, and nobody minds if it is lost; the room is not the caller's any more.
  void hint(std::byte* room, std::size_t bytes, Peer to);
  void discard(std::byte* room);
  std::size_t send_bytes() const { return send_bytes_; }
  bool borrows() const;

  bool reaches_memory() const { return reaches_memory_; }
  /// Does that take no part of the target's, so that one that computes delays nobody?
  bool works_alone() const;
  /// Are peers reached by connections, which may be lost while they are made?
  bool connects() const;
  std::size_t longest_transfer_bytes() const { return longest_transfer_bytes_; }
  /// `memory` stays where it is until the Registration ends, which is before the Endpoint does.
  Result<Registration> enroll(std::span<std::byte> memory, Use use);
  /// From there into `memory`, which lies in `own`. Finished: it is here.
  Result<bool> read(Operation& operation, std::span<std::byte> memory, const Registration& own,
                    Peer peer, Remote from);
  /// From `memory`, which lies in `own`, to there. Finished: it is there.
  Result<bool> write(Operation& operation, std::span<const std::byte> memory,
                     const Registration& own, Peer peer, Remote to);

  /// May messages have tags, by which their receiver chooses where they go? Only where that is
  /// faster than a peer's reading: providers over sockets.
  bool has_tags() const;
  /// `memory`, to a peer that awaits it. Finished: it may be written.
  Result<bool> send_tagged(Operation& operation, std::span<const std::byte> memory, Peer to,
                           std::uint64_t tag);
  /// A message with this tag, of any peer. Finished: it is here.
  Result<bool> await_tagged(Operation& operation, std::span<std::byte> memory, std::uint64_t tag);
  /// It is finished soon, with an error.
  void cancel(Operation& operation);
  /// That nobody guesses.
  std::uint64_t next_tag();

  /// Goes on with what was begun, and tells the listener; returns how much has happened. Never
  /// waits.
  Result<int> progress(Listener& listener);
  /// Nothing of one's own is on its way.
  bool is_idle() const { return on_their_way_ == 0 && to_send_again_.empty(); }
  /// One is readable when progress() has work, provided that may_sleep() was true; empty: the
  /// provider has none, poll.
  std::span<const int> wait_fds() const { return wait_fds_; }
  bool may_sleep();
  /// Is one readable now?
  bool has_news() const;
  /// One is always readable: leave those out that are. False: nothing would be left. libfabric
  /// 1.17's net needs it: it has the sockets' set (epoll), which stays, and a signal that nobody
  /// takes back.
  bool leave_out_readable();
  /// There is work of which the others do not know.
  bool hides_news() const { return leaves_some_out_ && !is_quiet_; }

  /// Messages that came and were longer than a room: whoever sends them is no peer of ours. Its
  /// connection may be closed; others go on.
  std::uint64_t dropped() const { return dropped_; }

 private:
  explicit Endpoint(const Site& site) : site_(site) {}
  Err open_objects(int wait_object);
  Err open_rooms(const Rooms& rooms);
  Err check(int rc, const char* what) const;
  Err lost_peer(const char* what, int code) const;
  Err post_receives();
  /// What is in a room for sends.
  struct Sent {
    std::size_t bytes = 0;
    std::span<const std::byte> behind;
    int failures = 0;  // of its connections
  };
  Sent& sent_in(int room);
  Result<bool> post_send(int room);
  bool may_come_again(const Operation& operation, int error);
  void send_again(Listener& listener);
  void lose(const Operation& operation, Err err, Listener& listener);
  Result<bool> posted(ssize_t rc, const char* what);
  std::uint64_t next_key();
  void complete(const fi_cq_msg_entry& entry, Listener& listener);
  Err complete_failed(Listener& listener);
  std::byte* bytes_of(int room);
  int room_of(const std::byte* bytes) const;

  Site site_;
  fid_domain* domain_ = nullptr;
  fid_av* peers_ = nullptr;
  fid_cq* queue_ = nullptr;
  fid_ep* endpoint_ = nullptr;
  std::vector<int> wait_fds_;
  Address address_;
  bool reaches_memory_ = false;
  std::size_t longest_transfer_bytes_ = 0;

  std::size_t room_bytes_ = 0, send_bytes_ = 0;
  std::size_t receives_ = 0;
  std::unique_ptr<std::byte[], void (*)(void*)> rooms_{nullptr, nullptr};  // receives, then sends
  Registration rooms_registered_;
  std::vector<Operation> operations_;  // of each room
  std::vector<int> to_post_;           // receives that are not posted
  std::vector<int> free_;              // rooms for sends
  std::vector<Sent> sent_;             // in each of these
  std::vector<int> to_send_again_;     // likewise, of those on their way
  int on_their_way_ = 0;
  bool is_quiet_ = false;  // the last progress() found nothing, and nothing was begun since
  bool leaves_some_out_ = false;
  HashKey key_of_keys_{};
  std::uint64_t keys_ = 0;
  std::uint64_t dropped_ = 0;
};

}  // namespace weft::net
