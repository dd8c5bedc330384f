// SPDX-License-Identifier: Apache-2.0
#include "coll/boards/board.h"

#include <algorithm>

namespace weft::coll {

Here::Here(Comm& comm) {
  memory::Job& job = *comm.engine->job;
  const std::vector<std::int32_t>& members = comm.group->members;
  for (int r = 0; r < comm.size(); ++r) {
    const std::int32_t peer = members[static_cast<std::size_t>(r)];
    if (job.node_of(peer) != job.node_of(comm.engine->world_rank)) continue;
    if (r == comm.rank) rank = size();
    ranks.push_back(r);
    world.push_back(peer);
  }
}

std::size_t Boards::area_room(const pt2pt::Engine& e, bool direct, int ranks) {
  if (!direct) return static_cast<std::size_t>(area_bytes(e.policy.crowded, ranks));
  return (2 * static_cast<std::size_t>(ranks) * sizeof(Label) + 63) / 64 * 64;
}

Boards* Boards::attach(Comm& comm, const Here& here, std::uint32_t name) {
  pt2pt::Engine& e = *comm.engine;
  if (comm.is_inter() || here.size() < 2 || here.size() > board_ranks_max) return nullptr;
  const bool direct = e.hosts_all(here.world);
  const auto p = static_cast<std::size_t>(here.size());
  const int boards = name == 0 ? board_count : 1;
  const std::size_t lines = p * static_cast<std::size_t>(boards);
  const std::size_t flags = sizeof(Header) + p * sizeof(Finished) + lines * sizeof(Line);
  const std::size_t areas = lines * area_room(e, direct, here.size());
  const std::uint64_t offset = e.job->shared_block(block_name(comm, name), flags + areas,
                                                   direct ? flags + areas : flags, here.size());
  return offset == 0 ? nullptr : new Boards(e, here, offset, boards, direct);
}

Boards::Boards(pt2pt::Engine& engine, const Here& here, std::uint64_t offset, int boards,
               bool direct)
    : engine_(engine),
      here_(here),
      offset_(offset),
      rank_(here.rank),
      size_(here.size()),
      boards_(boards),
      direct_(direct),
      area_room_(area_room(engine, direct, size_)),
      header_(*reinterpret_cast<Header*>(engine.job->at(offset))),
      finished_(reinterpret_cast<Finished*>(&header_ + 1)),
      lines_(reinterpret_cast<Line*>(finished_ + size_)),
      areas_(reinterpret_cast<std::byte*>(lines_ + size_ * boards_)) {}

Boards::~Boards() {
  engine_.job->leave_shared_block(offset_);
}

bool Boards::look(std::uint64_t number) {
  const auto needed = static_cast<std::int64_t>(number) - boards_;
  if (static_cast<std::int64_t>(known_) >= needed) return true;
  std::uint64_t least = UINT64_MAX;
  for (int r = 0; r < size_; ++r)  // acquire: their reads come before our writes
    least = std::min(least, finished_[r].number.load(std::memory_order_acquire));
  known_ = least;
  return static_cast<std::int64_t>(known_) >= needed;
}

bool Boards::open(std::uint64_t number, bool* asked) {
  bool free = look(number);
  if (!free && !*asked) {
    *asked = true;
    header_.wanted.fetch_add(1, std::memory_order_seq_cst);  // pairs with finish()
    free = look(number);
  }
  if (free && *asked) {
    *asked = false;
    header_.wanted.fetch_sub(1, std::memory_order_relaxed);
  }
  return free;
}

void Boards::finish(std::uint64_t number) {
  beyond_ |= std::uint64_t{1} << (number - through_ - 1);  // at most `window` are open
  while ((beyond_ & 1) != 0) {
    beyond_ >>= 1;
    ++through_;
  }
  // release: what this rank has read of others comes before they write again; pairs with look()
  finished_[rank_].number.store(through_, std::memory_order_release);
  if (header_.wanted.load(std::memory_order_relaxed) != 0) [[unlikely]]
    for (int r = 0; r < size_; ++r)
      if (r != rank_) wake(r);
}

}  // namespace weft::coll
