// SPDX-License-Identifier: Apache-2.0
#include "hang/view.h"

#include <algorithm>
#include <span>

#include "hang/checked.h"

namespace weft::hang {
namespace {

RankView::State state_of(const memory::RankEntry& entry) {
  // acquire: pairs with the rank's MPI_Init and MPI_Finalize
  switch (entry.state.load(std::memory_order_acquire)) {
    case memory::RankState::started:
      return RankView::State::not_initialized;
    case memory::RankState::initialized:
    case memory::RankState::in_session:
      return RankView::State::running;
    default:
      return RankView::State::left;
  }
}

Helper helper_of(const Board& notes) {
  const std::uint32_t says = notes.helper.load(std::memory_order_relaxed);
  return says <= static_cast<std::uint32_t>(Helper::works) ? static_cast<Helper>(says)
                                                           : Helper::none;
}

}  // namespace

JobView look_at(memory::Job& job, std::int64_t now_ns) {
  JobView view;
  view.now_ns = now_ns;
  const int ranks = job.used();
  view.ranks.resize(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    RankView& rank = view.ranks[static_cast<std::size_t>(r)];
    rank.state = state_of(job.entry(r));
    rank.pid = job.entry(r).pid.load(std::memory_order_relaxed);
    rank.world = job.entry(r).world;
    const Board& notes = board(job, r);
    rank.helper = helper_of(notes);
    if (notes.waits.load(std::memory_order_relaxed) == 0) continue;
    rank.more_threads = notes.without_slot.load(std::memory_order_relaxed) != 0;
    // relaxed: who takes a slot later is seen at the next look
    const std::uint32_t used = notes.used.load(std::memory_order_relaxed);
    for (const Slot& slot :
         std::span(notes.slot).first(std::min<std::size_t>(used, Board::slots))) {
      Thread thread;
      if (slot.read(&thread.record, &thread.looks) && make_safe(thread.record, ranks))
        rank.threads.push_back(thread);
    }
  }
  return view;
}

}  // namespace weft::hang
