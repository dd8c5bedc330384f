// SPDX-License-Identifier: Apache-2.0
//
// Making and giving up channels. All ranks of the communicator tell each other what they want; so
// all of them find out if they do not agree, or one of them has passed nonsense. The rows are one
// block of the job's memory, zero at the start, which goes when all have left it.
#include <algorithm>
#include <set>

#include "base/hash.h"
#include "channel/channel.h"
#include "coll/coll.h"
#include "memory/job.h"
#include "pt2pt/completion.h"

namespace weft::channel {
namespace {

/// What a rank wants; bytes that are compared.
struct Proposal {
  std::int64_t error = 0;  // class
  std::int64_t type_bytes = 0, extent = 0, elements = 0, basic = 0;
  std::int64_t count = 0, asynchrony = 0, on_demand = 0;
  std::uint64_t senders = 0, receivers = 0;  // hashes
};

Proposal proposal(const Err& wrong, const Options& o) {
  if (wrong) return {.error = wrong.cls};
  return {.type_bytes = o.type->size,
          .extent = o.type->extent,
          .elements = o.type->elements,
          .basic = static_cast<std::int64_t>(o.type->basic),
          .count = o.count,
          .asynchrony = o.asynchrony,
          .on_demand = o.on_demand ? 1 : 0,
          .senders = hash_of(o.senders),
          .receivers = hash_of(o.receivers)};
}

Err differ(const char* what, int rank, const Comm& comm) {
  return fail(MPI_ERR_ARG,
              "rank %d of %s passed another %s than rank 0; all ranks must make the same channel",
              rank, comm.name.c_str(), what);
}

Err compare(const Proposal& first, const Proposal& other, int rank, const Comm& comm) {
  if (other.error != 0)
    return fail(MPI_ERR_ARG, "rank %d of %s passed wrong options, so no channel was made", rank,
                comm.name.c_str());
  if (other.type_bytes != first.type_bytes || other.extent != first.extent ||
      other.elements != first.elements || other.basic != first.basic)
    return differ("type", rank, comm);
  if (other.count != first.count) return differ("count", rank, comm);
  if (other.asynchrony != first.asynchrony) return differ("asynchrony", rank, comm);
  if (other.on_demand != first.on_demand) return differ("distribution", rank, comm);
  if (other.senders != first.senders) return differ("list of senders", rank, comm);
  if (other.receivers != first.receivers) return differ("list of receivers", rank, comm);
  return ok;
}

Err agree(Comm& comm, const Err& wrong, const Options& options) {
  const datatype::Type* const byte = &datatype::byte_type();
  const Proposal mine = proposal(wrong, options);
  std::vector<Proposal> all(static_cast<std::size_t>(comm.size()));
  constexpr std::int64_t n = sizeof(Proposal);
  WEFT_TRY(coll::allgather({&mine, n, byte}, {all.data(), n, byte}, comm));
  if (wrong) return wrong;
  for (int rank = 0; rank < comm.size(); ++rank)
    WEFT_TRY(compare(all[0], all[static_cast<std::size_t>(rank)], rank, comm));
  return ok;
}

/// Bytes of all rows; false: more than 64 bits hold.
bool rows_bytes(const Options& o, std::int64_t* bytes) {
  const RowShape one(o.count * o.type->size, 0);
  const auto rows = static_cast<std::int64_t>(o.senders.size() * o.receivers.size());
  std::int64_t buffers;
  return !__builtin_mul_overflow(one.stride, o.asynchrony + 1, &buffers) &&
         !__builtin_add_overflow(buffers, std::int64_t{sizeof(RowWords)}, &buffers) &&
         !__builtin_mul_overflow(buffers, rows, bytes);
}

Err no_memory(const Options& o) {
  return fail(
      MPI_ERR_NO_MEM,
      "the job's memory has no room for %lld buffers of %lld bytes for each of %zu pairs of "
      "a sender and a receiver: take a smaller k or shorter messages",
      static_cast<long long>(o.asynchrony + 1), static_cast<long long>(o.count * o.type->size),
      o.senders.size() * o.receivers.size());
}

// Names of blocks beside those of the communicator's boards and flags (coll/block).
constexpr std::uint64_t channel_names = std::uint64_t{1} << 32;

}  // namespace

Err create(Channels& channels, Comm& comm, const Err& wrong, const Options& options,
           Channel** out) {
  const std::uint64_t number = comm.constructions++;
  WEFT_TRY(agree(comm, wrong, options));
  if (!comm.engine->reaches(comm.group->members))
    return fail(
        MPI_ERR_COMM,
        "the ranks of %s are on several nodes, and a channel is on one: take a communicator "
        "made by MPI_Comm_split_type with MPI_COMM_TYPE_SHARED",
        comm.name.c_str());
  std::int64_t bytes = 0;
  if (!rows_bytes(options, &bytes)) return no_memory(options);
  const std::uint64_t block = comm.engine->job->shared_block(
      {comm.context, channel_names + number}, static_cast<std::size_t>(bytes),
      static_cast<std::size_t>(bytes), comm.size());
  if (block == 0) return no_memory(options);
  Couriers* couriers = nullptr;
  if (!options.couriers.name.empty())
    if (Err e = channels.couriers->join(*comm.engine->job, comm.engine->policy, options.couriers,
                                        &couriers)) {
      comm.engine->job->leave_shared_block(block);
      return e;
    }
  const sync::Guard guard(comm.engine->contexts->objects);
  *out = channels.pool.create(comm, options, block, couriers);
  channels.live.push_back(*out);
  return ok;
}

void free(Channels& channels, Channel& channel) {
  channel.end();
  const pt2pt::Inside inside(*channel.comm().engine);  // of the communicator, which it leaves
  const sync::Guard guard(channel.comm().engine->contexts->objects);
  std::erase(channels.live, &channel);
  const Done done = channel.done();
  channels.ended.messages += done.messages;
  channels.ended.copies += done.copies;
  Couriers* const couriers = channel.couriers();
  channels.pool.destroy(&channel);
  if (couriers != nullptr) channels.couriers->leave(*couriers);
}

void free_all(Channels& channels) {
  while (!channels.live.empty()) free(channels, *channels.live.back());
}

Done Channels::done() const {
  Done all = ended;
  for (const Channel* channel : live) {
    const Done done = channel->done();
    all.messages += done.messages;
    all.copies += done.copies;
  }
  return all;
}

}  // namespace weft::channel
