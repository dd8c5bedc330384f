// SPDX-License-Identifier: Apache-2.0
//
// A rank's end of a channel (weft/channel.h): a row (row.h) for each pair of a sender and a
// receiver. Messages are handed over without the rank's lock; it is taken only to wait, since who
// waits here looks after the rank's messages too (pt2pt::wait_until). One thread at a time.
//
// No lost wake-up: who waits sleeps on its rank's mailbox and looks at the rows once more after it
// has said so; whoever changes what the other end may wait for (a message, `received`, `released`,
// closed, gone) rings there afterwards (sync/wait.h).
#pragma once

#include <cstdint>
#include <vector>

#include "base/err.h"
#include "base/pool.h"
#include "channel/couriers.h"
#include "channel/row.h"
#include "object/objects.h"
#include "shm/mailbox.h"

namespace weft::channel {

using object::Comm;

/// WEFT_Channel_options, with objects for handles.
struct Options {
  const datatype::Type* type = nullptr;
  std::int64_t count = 0;
  std::int64_t asynchrony = 0;
  std::vector<int> senders, receivers;  // ranks of the communicator
  bool on_demand = false;
  Couriers::Plan couriers;  // of this rank's end; no name: none
};

/// A delegated send.
struct Ticket {
  int row = 0;                           // which receiver
  std::uint64_t queued = 0, handed = 0;  // its number among the delegated, and among all
};

/// What the channels of a rank have done; written by the thread that uses an end, read by any.
struct Done {
  std::uint64_t messages = 0, copies = 0;
};

class Channel : public Object {
 public:
  Channel(Comm& comm, const Options& options, std::uint64_t block, Couriers* couriers);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  Comm& comm() const { return comm_; }
  bool sends() const { return !to_.empty(); }
  bool receives() const { return !from_.empty(); }
  bool is_synchronous() const { return asynchrony_ == 0; }
  bool is_closed() const { return closed_; }
  Couriers* couriers() const { return couriers_; }
  Done done() const;

  // The sender's side. Not after close().
  Err send(const void* message);
  Err try_send(const void* message, bool* sent);
  Err reserve(void** message);
  /// nullptr: that would wait.
  Err try_reserve(void** message);
  Err commit(const void* message);
  Err close();
  Err send_delegated(const void* message, Ticket* out);
  bool knows(const Ticket& ticket) const;
  /// Until the message's buffer is the sender's again.
  Err wait(const Ticket& ticket);
  Err test(const Ticket& ticket, bool* done);

  // The receiver's side.
  /// nullptr: all senders have closed it, and nothing is left.
  Err receive(const void** message, int* source);
  Err try_receive(const void** message, int* source, bool* flag);
  Err release(const void* message);

  /// Give up this end: close, and tell the senders.
  void end();

 private:
  /// A row of which this rank is the sender. While messages are queued `end` is for who holds the
  /// delivery, else for the sender's thread.
  struct Receiver final : Delivery::Row {
    Receiver(Channel& channel, std::byte* row, const RowShape& shape, int rank);
    bool has_room() override { return end.has_room(); }
    bool is_deserted() const override { return end.is_deserted(); }
    void carry(const void* message) override;
    void tell_sender() override { channel->mine_.ring(); }

    bool is_drained() const { return delivery == nullptr || !delivery->is_pending(); }
    std::uint64_t unreleased() const {
      // acquire: pairs with Receiving::release
      return handed - end.words().released.load(std::memory_order_acquire);
    }
    /// Are no more than `more` messages waiting to be received?
    bool accepts(std::uint64_t more) const {
      // acquire: pairs with Receiving::take
      return handed - end.words().received.load(std::memory_order_acquire) <= more;
    }

    Channel* channel;
    Sending end;
    shm::View mailbox;  // to ring at
    std::int32_t rank;  // of the communicator
    std::int32_t world_rank;
    std::uint64_t handed = 0;  // messages, sent or delegated; the sender's
    std::shared_ptr<Delivery> delivery;
    std::uint64_t messages = 0, copies = 0;
  };
  struct Sender {
    Receiving end;
    shm::View mailbox;
    std::int32_t rank, world_rank;
  };
  /// What a wait is for: one receiver or sender, or any.
  struct Wait {
    bool for_room;
    int rank;  // of the communicator; MPI_ANY_SOURCE: any
  };

  /// Wait until done(), which is cheap; or an error: who would make it so has ended.
  template <class Ready>
  Err await(const Wait& wait, Ready&& ready);
  template <class Ready>
  Err await_slowly(const Wait& wait, Ready&& ready);
  bool is_awaited(int rank, const Wait& wait) const;
  /// A peer without which the wait cannot end; nobody: there is none.
  int lost(const Wait& wait) const;

  void looked_in_vain();

  /// Whose turn it is. `wait`: until there is room; else nullptr if there is none now.
  Err choose(bool wait, Receiver** out);
  Receiver* next_receiver();
  Receiver* idlest();
  bool is_any() const { return on_demand_ && to_.size() > 1; }
  Err check_nothing_reserved() const;
  Err check_peer(const Receiver& to) const;
  void copy_in(Receiver& to, const void* message);
  Err publish(Receiver& to);
  void pass_turn(const Receiver& to);
  Delivery& delivery_of(Receiver& to);
  bool is_done(Receiver& to, const Ticket& ticket) const;
  Err drain(Receiver& to);
  void say_room(Sender& from);
  Sender* with_message();
  bool is_over() const;
  Err deliver(Sender& from, const void** message, int* source);
  Err check_room_to_receive() const;

  Comm& comm_;
  pt2pt::Engine& engine_;
  const datatype::Type& type_;
  const std::int64_t count_, bytes_;
  const std::uint64_t asynchrony_;
  const bool on_demand_;
  const std::uint64_t block_;
  bool closed_ = false;
  std::vector<Receiver> to_;
  std::vector<Sender> from_;
  std::size_t next_to_ = 0, next_from_ = 0;
  Receiver* reserved_ = nullptr;
  Couriers* const couriers_;
  shm::View mine_;  // this rank's mailbox
};

/// The channels of a rank. Guarded by the rank's object lock.
struct Channels {
  CourierSets* couriers = nullptr;  // the process's
  Pool<Channel, Kind::channel> pool;
  std::vector<Channel*> live;
  Done ended;

  /// Of the live and the ended.
  Done done() const;
};

/// Collective over `comm`, under its context's lock.
Err create(Channels& channels, Comm& comm, const Err& wrong, const Options& options, Channel** out);
/// The rank gives it up.
void free(Channels& channels, Channel& channel);
/// At the beginning of MPI_Finalize.
void free_all(Channels& channels);

}  // namespace weft::channel
