// SPDX-License-Identifier: Apache-2.0
//
// Cells on the network: a communication context's endpoint, and who its peers are by their ranks.
// Long data does not travel in cells: its sender shows its memory, and the receiver reads it from
// there, in pieces; or, up to some length, a cell announces it, and it follows as messages with a
// tag, which the receiver awaits where they are to lie.
//
// Cells for one rank travel together in a packet with what is copied behind them, if they come
// faster than anybody looks: the first few leave at once, the others when there is a look
// (begin_row), so that none waits for cells that may never come.
//
// A rank greets another one before it sends to it, and sends once that has answered: also a packet
// of the other one's is an answer. For where two ends connect to each other at the same time, the
// connection that one of them has taken may be closed by the other, and what was sent over it is
// lost without a word (decision 10). A greeting without an answer is said again.
//
// Each packet is sealed, in place of the words that say where a cell's payload lies on a node: 48
// bits of a keyed hash over the packet's number, its length, each cell and the first bytes behind
// it. The key is of one sender and one receiver: a keyed hash, by the
// job's secret, over both ranks, how many others had their places before, and both addresses. So
// what comes from elsewhere, was cut or changed, or comes a second time, is dropped before anybody
// reads more of it; only the rest of a long payload is not covered.
//
// Packets of a row are posted by idle threads too (MT-MPI, section 3.2.3), where there are some and
// posting takes long enough: the packets of some peers leave by outlets, endpoints that only send,
// so that threads share nothing. Packets are numbered, so a peer's may change to another one.
#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/keyed_hash.h"
#include "net/endpoint.h"
#include "net/fabric.h"
#include "net/limits.h"
#include "net/watcher.h"
#include "wire/network.h"

namespace weft::net {

/// A rank of another job: a secret that it shares with this end, and what they call each other.
struct Guest {
  HashKey secret;
  std::uint32_t its_name, own_name;  // no numbers of ranks
};

class Lane final : public wire::Network, private Listener {
 public:
  static constexpr int nobody = -1;
  struct Plan {
    const Fabric& fabric;
    Watcher& watcher;
    Watcher::Sleeper sleeper;  // who may sleep for what comes here
    /// This end is about to send, or has not taken all yet: who sleeps elsewhere need not be woken
    /// for that, because the thread that is at it does not leave before this end is watched again.
    /// Gets the sleeper's state.
    void (*unwatched)(void* state);
    HashKey secret;          // who does not know it is no rank of the job
    std::uint64_t& dropped;  // packets of those
    // What is to be done again after a while, without news, in all lanes of the rank: greetings
    // that nobody has answered, outlets that are not idle. relaxed: who adds one leaves its context
    // after that, and whoever sleeps by then is woken for it (contexts.h of pt2pt)
    std::atomic<int>& to_do_again;
    int world_rank, ranks;      // of this end, and how many there can be
    int context;                // of the rank; a peer's address of the same number is used
    std::uint32_t payload_max;  // bytes; all ranks have the same
    std::int64_t again_ns = first_again_ns;  // until a greeting without an answer is said again
    /// All addresses of a rank, separated by commas; "" if it has told none yet.
    std::function<std::string(int world_rank)> find;
    /// How many ranks had its place before.
    std::function<std::uint32_t(int world_rank)> incarnation;
    /// The same rank has another number in another job: what it is to this end, if it is of one.
    /// Empty: there are no others.
    std::function<std::optional<Guest>(int world_rank)> guest = {};
    /// The guest of that name; `nobody`: there is none.
    std::function<int(std::uint32_t name)> find_guest = {};
    /// A rank is dead or cannot be reached; `nobody`: the network itself does not work. Returns if
    /// nobody needs it any more.
    std::function<void(int world_rank, Err err)> lost;
    /// Has the calling thread the rank's open files? Threads of other ranks of the process have
    /// not, and so may seal packets but not post them. Empty: all have.
    std::function<bool()> may_post = {};
    bool is_crowded = false;  // more ranks than CPUs
  };
  static Result<std::unique_ptr<Lane>> open(Plan plan);
  ~Lane() override;

  /// Its own, as text.
  const std::string& address() const { return address_; }

  void meet(int world_rank) override { plan_.find(world_rank); }
  void forget(int world_rank) override;
  std::uint32_t payload_max() const override { return plan_.payload_max; }
  std::uint32_t lent_max() const override { return lent_max_; }
  wire::Cell* take(int world_rank, std::uint32_t payload_bytes) override;
  void send(wire::Cell* cell, std::uint32_t payload_bytes, int world_rank) override;
  void send_from(wire::Cell* cell, std::span<const std::byte> payload, int world_rank,
                 void (*finished)(void* state), void* state) override;
  std::uint32_t announced_max() const override {
    return endpoint_->has_tags() ? cuts_.announced : 0;
  }
  bool may_announce(int world_rank) override {
    const To* const to = find(world_rank);
    return to == nullptr || to->following_bytes < announced_ahead_bytes;
  }
  void announce(wire::Cell* cell, std::span<const std::byte> payload, int world_rank,
                void (*finished)(void* state), void* state) override;
  void await(std::span<std::byte> memory, int world_rank, std::uint64_t tag,
             void (*finished)(void* state), void* state) override;
  void begin_row() override {
    in_row_ = true;
    is_decided_ = false;
  }
  void end_row() override;
  bool show(std::uint32_t name, std::span<const std::byte> memory, wire::Place* out) override;
  void hide(std::uint32_t name) override;
  bool read(std::span<std::byte> memory, int world_rank, const wire::Place& from,
            void (*finished)(void* state), void* state) override;
  bool open_memory(std::span<std::byte> memory, wire::Place* out) override;
  void close_memory(std::uint64_t key) override;
  std::int64_t reach_min() const override { return endpoint_->works_alone() ? 1 : reached_bytes; }
  bool write(std::span<const std::byte> memory, int world_rank, const wire::Place& to,
             void (*finished)(void* state), void* state) override;
  void abandon(int world_rank) override;
  bool look(void (*arrived)(void* state, const wire::Cell& cell), void* state,
            bool in_passing = false) override;
  bool is_idle() const override {
    return endpoint_->is_idle() && waiting_.empty() && held_up_.empty() && !outlets_are_busy();
  }
  bool arm() override;
  bool is_watched() const override { return watched_.load(std::memory_order_seq_cst); }
  std::int64_t nap_ns() const override;

 private:
  struct To;
  struct Transfer;
  /// Filled, and the provider had no space, or the peer has not answered yet.
  struct Waiting {
    wire::Cell* cell;
    std::size_t bytes;
    To* to;
    std::span<const std::byte> behind;
    Transfer* data = nullptr;  // follows it by itself
  };
  /// An endpoint by which packets of some peers leave.
  struct Outlet final : Listener {
    Lane& lane;
    std::unique_ptr<Endpoint> endpoint;
    Outlet(Lane& whose, std::unique_ptr<Endpoint> own) : lane(whose), endpoint(std::move(own)) {}
    void received(std::span<std::byte>) override {}  // nobody knows its address
    void returned(std::byte* room) override { lane.returned(room); }
    void finished(Operation&, Err) override {}
    void lost(Peer peer, Err err) override { lane.lost_by(*this, peer, err); }
  };
  /// Packets that one thread posts, by one endpoint; those that are posted lose their cell.
  struct Share {
    std::span<Waiting> packets;
    std::int64_t ns;  // that each of them took
  };
  /// Who lends what is sent behind a cell; lies behind that cell meanwhile.
  struct Lender {
    void (*finished)(void* state);
    void* state;
    const To* to;
  };
  explicit Lane(Plan plan);
  /// Memory of a peer that is being read, or written, or a message that has been announced, to a
  /// peer or by one.
  struct Transfer {
    enum Way : std::uint8_t { read, write, follow, await } way;
    bool has_failed = false;
    To* to = nullptr;
    std::span<std::byte> memory;  // here; only reads and what is awaited change it
    Remote there{};               // key: the tag of a message
    Registration own{};
    std::size_t asked_bytes = 0, here_bytes = 0;
    void (*finished)(void* state);
    void* state;
    std::list<Transfer>::iterator self{};
  };
  struct To {
    Peer peer = 0;
    std::uint32_t incarnation = 0;
    bool is_dead = false;
    bool has_answered = false;    // what is sent to it comes there
    bool is_unanswered = false;   // in unanswered_
    std::int64_t greeted_ns = 0;  // it was, at this time; 0: not yet
    std::int64_t again_ns = 0;    // and when to do it again
    HashKey key{};
    std::uint32_t own_name = 0;  // what it calls this end
    int waiting = 0;             // packets in waiting_
    std::uint64_t sent = 0;      // packets
    std::uint64_t look = 0;      // before which the last ones were sent
    std::size_t packets_since_look = 0, bytes_since_look = 0;
    std::byte* row = nullptr;                  // a packet that may get more cells
    std::size_t row_bytes = 0;                 // of it, so far
    bool is_row_taken = false;                 // the place of its next cell was
    std::deque<Transfer*> readings;            // that are not asked for to their end, in order
    std::size_t ahead_bytes = 0;               // asked for, and not here
    std::deque<Transfer*> following, awaited;  // the same of messages that are announced
    std::size_t following_bytes = 0;           // that have not left
    bool is_held_up = false;                   // the provider had no space for the next piece
    Outlet* outlet = nullptr;          // that its packets leave by; else by the lane's own endpoint
    std::map<const Outlet*, Peer> at;  // it is, for the outlets
    int turn = -1;                     // the peers of rows take outlets in turn
    int kept = 0;                      // packets in kept_
    bool is_held_back = false;         // one of these could not be posted
  };
  struct Piece : Operation {
    Transfer* transfer = nullptr;  // null: none
    To* to;
    std::size_t bytes;
  };
  /// A packet, in room that is aligned as cells are.
  struct Early {
    std::unique_ptr<wire::Cell[]> room;
    std::size_t bytes;
  };
  /// A peer's packets are counted, because a provider may finish a long one after a short one that
  /// was sent later, and because a stranger may send one again. What comes early is kept.
  struct From {
    int world_rank = nobody;
    std::uint32_t incarnation = 0;
    HashKey key{};
    std::uint64_t taken = 0;
    bool is_heard = false;                 // more than greetings
    std::map<std::uint64_t, Early> early;  // by number
  };
  To* find(int world_rank);
  void post_row(To& to);
  void seal_and_post(To& to, std::byte* packet, std::size_t bytes,
                     std::span<const std::byte> behind = {}, Transfer* data = nullptr);
  void seal(const Waiting& packet);
  void post_alone(const Waiting& packet);
  void queue(const Waiting& packet);
  static Result<Peer> introduce(Endpoint& endpoint, const std::string& address);
  Endpoint& endpoint_of(const To& to) const {
    return to.outlet ? *to.outlet->endpoint : *endpoint_;
  }
  Peer peer_of(const To& to) const { return to.outlet ? to.at.find(to.outlet)->second : to.peer; }
  bool keeps_packets();
  bool open_outlets(int wanted);
  bool outlets_are_busy() const;
  void note_outlets();
  int progress_outlets();
  void settle(To& to, int world_rank);
  int most_kept() const;
  void keep(const Waiting& packet);
  void post_kept();
  void post_shares(std::span<Waiting> packets);
  void post_share(Share& share);
  void posted_in(std::int64_t ns);
  void lost_by(const Outlet& outlet, Peer peer, Err err);
  bool may_send(To& to);
  void greet(To& to, bool answers);
  void greet_again();
  void has_answered(int world_rank);
  void greeted(const From& from, const wire::Cell& greeting);
  void unwatch();
  void tell_sleeper();
  bool post(const Waiting& packet);
  bool post_waiting();
  bool reach(Transfer&& what, int world_rank);
  Transfer& begin(Transfer&& what, To& to);
  void follow(Transfer& data);
  void ask(To& to);
  bool ask_piece(To& to, std::deque<Transfer*>& of);
  void end(Transfer& transfer);
  void ask_held_up();
  bool naps() const;
  bool watch_others();
  void leave_watcher();
  std::string address_of(int world_rank) const;
  std::optional<Guest> guest(int world_rank) const {
    return plan_.guest ? plan_.guest(world_rank) : std::nullopt;
  }
  static std::uint32_t name_of(int world_rank, const std::optional<Guest>& guest) {
    return guest ? guest->its_name : static_cast<std::uint32_t>(world_rank);
  }
  std::uint32_t own_name(const std::optional<Guest>& guest) const {
    return guest ? guest->own_name : static_cast<std::uint32_t>(plan_.world_rank);
  }
  int rank_of(std::uint32_t name) const;
  HashKey key_of(int peer, const std::optional<Guest>& guest, const std::string& its_address,
                 bool from_peer) const;
  static bool has_sealed(const HashKey& key, std::span<const std::byte> packet, std::uint64_t taken,
                         std::uint64_t seal, std::uint64_t* number);
  From* sender_of(std::span<std::byte> packet, std::uint64_t* number);
  void hand_over(const From& from, std::span<std::byte> packet);
  void received(std::span<std::byte> packet) override;
  void returned(std::byte* room) override;
  void finished(Operation& operation, Err err) override;
  void lost(Peer peer, Err err) override;

  Plan plan_;
  std::unique_ptr<Endpoint> endpoint_;
  std::string address_;
  std::unordered_map<int, To> to_;                // by world rank
  int last_to_ = nobody;                          // whom something was last sent to,
  To* last_ = nullptr;                            // of to_
  std::unordered_map<std::uint32_t, From> from_;  // by what their packets call them
  std::deque<Waiting> waiting_;                   // in order, for each peer
  std::vector<To*> unanswered_;
  bool in_row_ = false;
  std::size_t most_in_row_ = 0, joined_max_ = 0;  // bytes of a row; of a packet that is of one
  Cuts cuts_;
  std::uint32_t lent_max_ = 0;
  bool is_decided_ = false, keeps_ = false;  // are this row's packets kept for idle threads?
  bool is_timed_ = false;                    // or one of its packets, to know the price
  // What a packet takes of what all idle threads may do: to seal it, and to post it unless threads
  // of other ranks are among them. 0: not known.
  std::int64_t post_ns_ = 0;
  std::vector<std::unique_ptr<Outlet>> outlets_;
  bool has_all_outlets_ = false;  // there can be no more
  bool busy_outlets_ = false;     // some are not idle; counted in to_do_again
  int turns_ = 0;
  std::vector<Waiting> kept_;  // of the row, in order for each peer
  std::vector<To*> rows_;      // that have a packet which may get more
  std::uint64_t looks_ = 1;    // so far
  std::vector<To*> held_up_;
  std::vector<Registration> shown_;  // by name
  std::vector<Registration> opened_;
  std::list<Transfer> transfers_;
  std::deque<Piece> pieces_;
  std::vector<Piece*> spare_;
  Watcher::Sleeper news_;  // runs in the watcher's thread
  // Somebody sleeps until a descriptor is readable. Set with the lock, before the watcher is told;
  // the watcher takes it back before it wakes. seq_cst, as watched_.
  std::atomic<bool> armed_{};
  bool is_at_watcher_ = false;   // some descriptors are in its set
  std::uint64_t armed_at_ = 0;   // which look that was
  std::atomic<bool> watched_{};  // seq_cst: against the words of those who sleep (contexts.h)
  std::uint64_t too_long_ = 0;   // packets that the endpoint dropped
  int in_vain_ = 0;  // times in a row that the descriptor was readable and there was nothing
  std::int64_t nap_ns_ = 0;                   // where nobody wakes who sleeps for what comes here
  std::int64_t come_ns_ = 0;                  // when it was first armed after something had come
  std::uint64_t come_ = 0, come_before_ = 0;  // packets and pieces, and when it was last armed
  void (*arrived_)(void* state, const wire::Cell& cell) = nullptr;  // during a look
  void* state_ = nullptr;
};

}  // namespace weft::net
