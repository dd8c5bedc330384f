// SPDX-License-Identifier: Apache-2.0
//
// The operations, and their small forms on slots. Payloads in slots are packed: a rank's data is
// `bytes` bytes whatever its type; without data there is nothing to do. Reductions take predefined
// operations on dense types only (the caller checks), so a slot is an array of the basic type.
#include <cstring>

#include "coll/block/shared.h"

namespace weft::coll {
Err Shared::barrier() {
  note(Call::barrier, 0);
  if (comm_.coll->settings.explain) [[unlikely]]
    tell_once(comm_, Call::barrier, 0, *way_at(Call::barrier, Place::slots));
  meet_again();
  return agreed();
}

Err Shared::allreduce(const Operands& x, Place to) {
  const std::int64_t bytes = x.count * x.type->size;
  if (bytes == 0) return ok;
  note(Call::allreduce, bytes);
  count_by_turns(bytes);
  if (to != Place::slots) {
    if (to == Place::block)
      allreduce_strips(x);
    else
      size_ == 2 ? allreduce_of_two(x) : reduce_direct(x, everybody);
    return agreed();
  }
  auto* result = static_cast<std::byte*>(x.recv);
  reserve(bytes);
  std::memcpy(slot(rank_, bytes), operand(x), static_cast<std::size_t>(bytes));
  // Nodes fold near ranks, then those above them nodes: other bits than one rank after another.
  if (flat_ || comm_.coll->settings.reproducible) {
    come();
    // From where only this rank reads it; of more than two in place, the result overwrites that.
    const void* own = size_ > 2 && is_in_place(x.send) ? slot(rank_, bytes) : operand(x);
    fold(x, x.count, size_, result,
         [&](int i) { return i == rank_ ? static_cast<const std::byte*>(own) : await(i, bytes); });
  } else {
    publish();
    meet(&x, bytes);
    std::memcpy(result, bytes <= inline_max ? meeting_->payload : meeting_slot_,
                static_cast<std::size_t>(bytes));
  }
  met();
  return agreed();
}

Err Shared::allgather(const ConstBuffer& send, const Blocks& recv, std::int64_t bytes, Place to) {
  if (bytes == 0) return ok;
  const bool in_place = is_in_place(send.data);
  note(Call::allgather, bytes, in_place ? bytes : send.bytes());
  count_by_turns(bytes);
  if (to != Place::slots) {
    to == Place::direct ? allgather_direct(send, recv) : allgather_strips(send, recv, bytes);
    return agreed();
  }
  reserve(bytes);
  datatype::pack(contribution(send, recv[rank_]), 0, slot(rank_, bytes), bytes);
  arrive();
  if (!in_place) datatype::copy(send, recv[rank_], bytes);  // while the flags travel
  await_all();
  compare(rank_);
  for (int i = 0; i < size_; ++i)
    if (i != rank_) datatype::unpack(recv[i], 0, await(i, bytes), bytes);
  met();
  return agreed();
}

Err Shared::alltoall(const Blocks& send, const Blocks& recv, std::int64_t bytes, Place to) {
  if (bytes == 0) return ok;
  const Blocks& from = send.in_place() ? recv : send;
  note(Call::alltoall, bytes, from[0].bytes());
  const std::int64_t total = size_ * bytes;
  count_by_turns(total);
  if (to != Place::slots) {
    to == Place::direct ? alltoall_direct(send, recv) : alltoall_strips(from, recv, bytes);
    return agreed();
  }
  reserve(total);
  for (int i = 0; i < size_; ++i)
    if (i != rank_) datatype::pack(from[i], 0, slot(rank_, total) + part(rank_, i) * bytes, bytes);
  arrive();
  if (!send.in_place()) datatype::copy(send[rank_], recv[rank_], bytes);
  await_all();
  compare(rank_);
  for (int i = 0; i < size_; ++i)
    if (i != rank_) datatype::unpack(recv[i], 0, await(i, total) + part(i, rank_) * bytes, bytes);
  met();
  return agreed();
}

Err Shared::bcast(const Buffer& buffer, int root, Place to) {
  const std::int64_t bytes = buffer.bytes();
  note(Call::bcast, bytes);
  if (rank_ == root) {
    count_from(root, bytes);
    if (to != Place::slots) {
      to == Place::direct ? bcast_direct(buffer, root) : bcast_pieces(buffer, root);
      return agreed();
    }
    reserve(bytes);
    datatype::pack(buffer, 0, slot(rank_, bytes), bytes);
    publish();
    wake_all();
    finish();
    return ok;
  }
  begin();
  count_from(root, bytes);
  await(root, bytes);
  if (parted_) return agreed();
  const auto sent = static_cast<std::int64_t>(seat(root).what >> 8);
  count_from(root, sent);
  // The root decides which way it goes, whatever this rank expects.
  if (sent != bytes) [[unlikely]]
    to = place_of(Call::bcast, sent);
  if (to != Place::slots) {
    to == Place::direct ? bcast_direct(buffer, root) : bcast_pieces(buffer, root);
  } else {
    datatype::unpack(buffer, 0, slot(root, sent), std::min(bytes, sent));
    finish();
  }
  return agreed();
}

Err Shared::reduce(const Operands& x, int root, Place to) {
  const std::int64_t bytes = x.count * x.type->size;
  if (bytes == 0) return ok;
  note(Call::reduce, bytes);
  count_from(root + 1, bytes);
  if (to != Place::slots) {
    if (to == Place::direct)
      reduce_direct(x, root);
    else
      root_folds(size_, engine_.policy.crowded) ? reduce_pieces(x, root) : reduce_strips(x, root);
    return agreed_with_writers();
  }
  if (rank_ != root) {
    reserve(bytes);
    std::memcpy(slot(rank_, bytes), x.send, static_cast<std::size_t>(bytes));
    publish();
    wake(root);
  } else {
    const void* own = x.send;
    if (is_in_place(own)) {  // the result must not overwrite it
      reserve(bytes);
      own = slot(rank_, bytes);
      std::memcpy(slot(rank_, bytes), x.recv, static_cast<std::size_t>(bytes));
    } else {
      begin();
    }
    fold(x, x.count, size_, static_cast<std::byte*>(x.recv),
         [&](int i) { return i == rank_ ? static_cast<const std::byte*>(own) : await(i, bytes); });
  }
  finish();
  return agreed_with_writers();
}

Err Shared::scan(Call call, const Operands& x, Place to) {
  const std::int64_t bytes = x.count * x.type->size;
  if (bytes == 0) return ok;
  note(call, bytes);
  count_from(0, 0);
  // Pieces fold from the left, slots from the right.
  if (comm_.coll->settings.reproducible || to != Place::slots) {
    scan_pieces(call, x);
    return agreed_with_writers();
  }
  reserve(bytes);
  std::memcpy(slot(rank_, bytes), operand(x), static_cast<std::size_t>(bytes));
  publish();
  for (int i = rank_ + 1; i < size_; ++i) wake(i);
  const int operands = call == Call::scan ? rank_ + 1 : rank_;
  if (operands > 0)
    fold(x, x.count, operands, static_cast<std::byte*>(x.recv),
         [&](int i) { return i == rank_ ? slot(rank_, bytes) : await(i, bytes); });
  finish();
  return agreed_with_writers();
}

Err Shared::reduce_scatter(Call call, const Operands& x, const Parts& parts, std::int64_t total,
                           Place to) {
  if (total == 0) return ok;
  note(call, total);
  count_by_turns(total);
  if (to != Place::slots) {
    if (to == Place::block)
      reduce_scatter_strips(x, parts);
    else
      size_ == 2 ? reduce_scatter_of_two(x, parts) : reduce_scatter_direct(x, parts);
    return agreed();
  }
  reserve(total);
  std::memcpy(slot(rank_, total), operand(x), static_cast<std::size_t>(total));
  come();
  const std::int64_t begin = parts.before(rank_) * x.type->size;
  const auto* own =
      is_in_place(x.send) ? slot(rank_, total) : static_cast<const std::byte*>(x.send);
  fold(x, parts[rank_], size_, static_cast<std::byte*>(x.recv),
       [&](int i) { return (i == rank_ ? own : await(i, total)) + begin; });
  met();
  return agreed();
}

Err Shared::gather(const ConstBuffer& send, const Blocks& recv, int root, std::int64_t bytes,
                   Place to) {
  if (bytes == 0) return ok;
  note(Call::gather, bytes);
  count_from(root + 1, bytes);
  if (to != Place::slots) {
    to == Place::direct ? gather_direct(send, recv, root) : gather_pieces(send, recv, root, bytes);
    return agreed_with_writers();
  }
  if (rank_ != root) {
    reserve(bytes);
    datatype::pack(send, 0, slot(rank_, bytes), bytes);
    publish();
    wake(root);
  } else {
    begin();
    if (!is_in_place(send.data)) datatype::copy(send, recv[rank_], bytes);
    for (int i = 0; i < size_; ++i)
      if (i != rank_) datatype::unpack(recv[i], 0, await(i, bytes), bytes);
  }
  finish();
  return agreed_with_writers();
}

Err Shared::scatter(const Blocks& send, const Buffer& recv, int root, std::int64_t bytes,
                    Place to) {
  if (bytes == 0) return ok;
  note(Call::scatter, bytes);
  const std::int64_t total = size_ * bytes;
  count_from(root + 1, total);
  if (to != Place::slots) {
    to == Place::direct ? scatter_direct(send, recv, root) : scatter_pieces(send, recv, root);
    return agreed_with_writers();
  }
  if (rank_ == root) {
    reserve(total);
    for (int i = 0; i < size_; ++i)
      if (i != rank_)
        datatype::pack(send[i], 0, slot(rank_, total) + part(rank_, i) * bytes, bytes);
    publish();
    wake_all();
    if (!is_in_place(recv.data)) datatype::copy(send[rank_], recv, bytes);
  } else {
    begin();
    datatype::unpack(recv, 0, await(root, total) + part(root, rank_) * bytes, bytes);
  }
  finish();
  return agreed_with_writers();
}

}  // namespace weft::coll
