// SPDX-License-Identifier: Apache-2.0
//
// Gathering and comparing signatures.
#include "coll/signature.h"

#include <cstdio>
#include <cstring>

#include "coll/messages/algorithms.h"
#include "coll/state.h"
#include "object/op.h"

namespace weft::coll {
namespace {

constexpr const char* names[] = {
    "barrier",
    "bcast",
    "gather",
    "gatherv",
    "scatter",
    "scatterv",
    "allgather",
    "allgatherv",
    "alltoall",
    "alltoallv",
    "alltoallw",
    "reduce",
    "allreduce",
    "reduce_scatter",
    "reduce_scatter_block",
    "scan",
    "exscan",
    "neighbor_allgather",
    "neighbor_allgatherv",
    "neighbor_alltoall",
    "neighbor_alltoallv",
    "neighbor_alltoallw",
};

bool sends_wrong(const Signature& s) {
  return s.sent != Signature::any_size && s.sent != s.bytes;
}

bool agree(const Signature& a, const Signature& b) {
  return a.call == b.call && a.what == b.what && a.root == b.root && a.bytes == b.bytes &&
         a.op == b.op;
}

int class_of_difference(const Signature& a, const Signature& b) {
  if (a.call != b.call || a.what != b.what) return MPI_ERR_OTHER;
  if (a.root != b.root) return MPI_ERR_ROOT;
  return a.op != b.op ? MPI_ERR_OP : MPI_ERR_TRUNCATE;
}

}  // namespace

std::string_view call_name(Call call) {
  return names[static_cast<int>(call)];
}

void describe(const Signature& s, char* text, std::size_t room) {
  const char* name = names[static_cast<int>(s.call)];
  int n = std::snprintf(text, room, "MPI_%c%s%s(", s.what == How::nonblocking ? 'I' : name[0] - 32,
                        s.what == How::nonblocking ? name : name + 1,
                        s.what == How::persistent ? "_init" : "");
  const char* comma = "";
  const auto add = [&](const char* format, auto value) {
    n += std::snprintf(text + n, room - static_cast<std::size_t>(n), "%s", comma);
    n += std::snprintf(text + n, room - static_cast<std::size_t>(n), format, value);
    comma = ", ";
  };
  if (s.root != Signature::no_root) add("root %d", s.root);
  if (s.bytes != Signature::any_size) add("%lld bytes", static_cast<long long>(s.bytes));
  if (sends_wrong(s)) add("but sends itself %lld", static_cast<long long>(s.sent));
  if (s.op != 0) add("operation %s", object::name_of(static_cast<datatype::Operation>(s.op)));
  std::snprintf(text + n, room - static_cast<std::size_t>(n), ")");
}

namespace {

void describe_note(std::uint64_t note, char* text, std::size_t room) {
  const auto bytes = static_cast<std::int64_t>(note >> 8);
  describe({.call = call_of(note), .what = how_of(note), .bytes = bytes}, text, room);
}

}  // namespace

Err notes_differ(const Comm& comm, int rank, std::uint64_t theirs, std::uint64_t mine) {
  char here[160], there[160];
  describe_note(mine, here, sizeof here);
  describe_note(theirs, there, sizeof there);
  const bool same_call = ((theirs ^ mine) & 0xff) == 0;
  const int cls = !same_call ? MPI_ERR_OTHER : theirs > mine ? MPI_ERR_TRUNCATE : MPI_ERR_COUNT;
  return fail(cls,
              "rank %d of communicator %s called %s where this rank called %s; all ranks have to "
              "call the same collectives in the same order and for the same size "
              "(WEFT_ABI_CHECK=full compares every call)",
              rank, comm.name.c_str(), there, here);
}

Err ended_early(const Comm& comm, int rank, std::uint64_t mine) {
  char here[160];
  describe_note(mine, here, sizeof here);
  return fail(
      MPI_ERR_COUNT,
      "rank %d of communicator %s has ended its part of the operation, while %s still waits "
      "for it on this rank: they do not agree in what goes between them "
      "(WEFT_ABI_CHECK=full compares every call)",
      rank, comm.name.c_str(), here);
}

void emit_comparison(Schedule& s, const Comm& comm, const Signature& mine) {
  if (!comm.coll->settings.compare || comm.is_inter() || comm.size() == 1) return;
  constexpr auto each = static_cast<std::int64_t>(sizeof(Signature));
  std::byte* own = s.bytes(each);
  std::byte* all = s.bytes(each * comm.size());
  std::memset(own, 0, sizeof mine);
  *reinterpret_cast<Signature*>(own) = mine;
  allgather_bruck(s, as_bytes(own, each), Blocks(as_bytes(all, each)), position(comm));
  s.compare(all, comm.size());
  s.next_round();
}

Err compare_signatures(const Signature* all, int ranks, const Comm& comm) {
  for (int i = 0; i < ranks; ++i) {
    if (agree(all[0], all[i]) && !sends_wrong(all[i])) continue;
    char first[160], other[160];
    describe(all[0], first, sizeof first);
    describe(all[i], other, sizeof other);
    return fail(class_of_difference(all[0], all[i]),
                "the ranks of communicator %s do not agree: rank 0 called %s, rank %d called %s; "
                "all ranks have to call the same collectives in the same order, with the same "
                "root, size and operation",
                comm.name.c_str(), first, i, other);
  }
  return ok;
}

}  // namespace weft::coll
