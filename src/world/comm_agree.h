// SPDX-License-Identifier: Apache-2.0
//
// How the members of a communicator to be agree on it: a View is the ranks that talk, with a
// message space of construction; make() turns their agreement into a Comm. Private to the comm_*.cc
// files.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/err.h"
#include "memory/guests.h"
#include "memory/user_socket.h"
#include "object/objects.h"
#include "pt2pt/pt2pt.h"

namespace weft::world {

using object::Comm;
using object::Group;
using Members = std::vector<std::int32_t>;  // world ranks

/// Contexts below this one are fixed: MPI_COMM_WORLD, MPI_COMM_SELF, constructions without a
/// parent.
inline constexpr std::uint64_t contexts_per_comm = pt2pt::spaces, world_context = 0,
                               self_context = contexts_per_comm,
                               groups_context = 2 * contexts_per_comm,
                               first_context = 3 * contexts_per_comm;

enum class Among : std::uint8_t { all = 1, some = 2 };  // collective over the parent, or part of it

/// A group of ranks with a message space, for the length of one construction. Messages name their
/// source by world rank: ranks of constructions with one tag but different groups stay apart so.
class View {
 public:
  View(const Comm& parent, Among among, Members members);
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  int rank() const { return group_.rank; }
  int size() const { return group_.size(); }
  const Members& members() const { return group_.members; }
  pt2pt::Engine& engine() { return *comm_.engine; }
  Rank& owner() { return *comm_.owner; }
  /// Is a member dead? A construction that ranks need not notice it in has come to its end.
  Err died();

  /// Blocking; `tag` keeps concurrent constructions apart.
  Err bcast(void* data, std::size_t bytes, int tag, int root = 0);
  /// `mine` of all members, in order, at rank 0's `all`.
  Err gather(const void* mine, std::size_t bytes, void* all, int tag);
  /// Trade `bytes` bytes with another member.
  Err exchange(const void* mine, void* theirs, std::size_t bytes, int with, int tag);

  /// Blocking, between two that need not be members of both views.
  Err tell(const void* data, std::size_t bytes, int to, int tag);
  Err receive(void* data, std::size_t bytes, int from, int tag);
  pt2pt::Request* post_recv_from_any(void* data, std::size_t bytes, int tag);

  /// To or from another member, nonblocking. Between jobs the source is a name.
  pt2pt::Request* post_send(const void* data, std::size_t bytes, int to, int tag);
  pt2pt::Request* post_recv(void* data, std::size_t bytes, int from, int tag);

 private:
  Group group_;
  Comm comm_;
};

/// A member's place in a binomial tree over 0 .. size - 1; `parent` is -1 at the root, 0.
struct TreePlace {
  int parent = -1;
  std::vector<int> children;  // farthest (largest subtree) first
};
TreePlace tree_place(int rank, int size);

/// The next tag for a construction that is collective over `comm`.
int construction_tag(Comm& comm);
/// In the number of a communicator beside what makes it unique: its members all have several
/// communication contexts (MPI_THREAD_MULTIPLE), and its messages may go to these by tag.
inline constexpr std::uint64_t in_contexts = std::uint64_t{1} << 63, by_tag = in_contexts >> 1;
/// Numbers that each rank gives to communicators; above them is its rank in the world, so that
/// ranks need not ask each other.
inline constexpr int number_bits = 36;
/// `n` fresh contexts in a row for communicators of `members` (or of some of them). Waits until
/// these have all come to MPI_Init, as they have to; or else, if `now`, takes the first
/// communication context for them. No number is given twice.
std::uint64_t take_contexts(pt2pt::Engine& engine, std::uint32_t n, const Members& members,
                            bool now = false);
/// The same for one that spans jobs, in the first communication context.
std::uint64_t take_contexts_across(pt2pt::Engine& engine, std::uint32_t n);
/// The communicator gets its number, and with it its communication context: before coll::attach.
void set_context(Comm& made, std::uint64_t context);

/// All members of an intracommunicator, or of both sides of an intercommunicator (the side whose
/// rank 0 has the smaller world rank first; the smaller name, if it spans jobs).
Members all_members(const Comm& comm);
bool is_low_side(const Comm& comm);

/// The parent of constructions from groups alone: where their messages meet; no handle leads to it.
/// An error if the session is over that `group` comes from.
Result<Comm> groups_parent(Rank& rank, const Group& group, object::Errhandler& errhandler);
/// A tag for the user's string; different strings may share one, if their groups differ.
int tag_of(const char* stringtag);
/// MPI_Comm_create on an intercommunicator (comm_inter.cc).
Err create_intercomm_part(Comm& comm, const Group& group, MPI_Comm* out);

/// Guests that are about to be in a group (memory/guests.h): they stay for so long.
class Admitted {
 public:
  Admitted() = default;
  explicit Admitted(memory::Job& job) : job_(&job) {}
  Admitted(Admitted&&) = default;
  Admitted& operator=(Admitted&&) = default;
  ~Admitted();
  Result<std::int32_t> add(const memory::Guest& who, const std::string& addresses,
                           std::int32_t place);

 private:
  memory::Job* job_ = nullptr;
  Members places_;
};

using memory::Socket;

/// A way between two leaders, for texts in both directions. `held`: the context whose lock the
/// caller holds.
class Talk {
 public:
  virtual ~Talk() = default;
  virtual Err send(pt2pt::Engine& held, const std::string& text) = 0;
  virtual Result<std::string> receive(pt2pt::Engine& held) = 0;
  /// Nothing more is said.
  virtual void end(pt2pt::Engine&) {}
  /// Its socket, for a link from now on, if it has one.
  virtual Socket keep() { return {}; }
};

/// The other side of an intercommunicator to be.
struct Remote {
  Members members;
  std::uint64_t context = 0;
  /// At the leader, in place of these: the side is to be met across jobs.
  std::unique_ptr<Talk> talk;
  Admitted admitted;
};
/// That the two have a process in common.
Err overlap();
/// Collective: the leader (rank `root`) has not found the other group, and its error is that of
/// all.
Err share_failure(View& view, int root, int tag, Err why);
/// Leaders: trade groups through `peer`'s space of construction.
Result<Remote> meet(const Comm& peer, const Group& local, std::int32_t remote_leader, int tag);
/// The leader (rank `root` of `view`) tells its group about the other side, or that there is none.
Err spread(View& view, int root, int tag, Result<Remote>& remote);
Comm* make_inter(const Comm& like, const Group& local, Remote remote);

/// What a new communicator takes over from `like`: engine, owner, store and error handler.
Comm* skeleton(const Comm& like);
/// Give a skeleton its groups and context; it is ready for use then. `remote` is empty for an
/// intracommunicator.
void complete(Comm& made, Members members, Members remote, std::uint64_t context);
/// The usual case: an intracommunicator of `members`, who all call this, agreeing through `view`,
/// whose members they are, in order.
Result<Comm*> make(const Comm& like, View& view, int tag, Members members);
/// The same for a construction that is collective over `parent`; ranks outside of `members` do not
/// wait.
Result<Comm*> make_part(Comm& parent, Members members);

}  // namespace weft::world
