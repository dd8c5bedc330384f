// SPDX-License-Identifier: Apache-2.0
//
// Splitting by color and key (§7.4.2): colors travel up the tree, all of them and a context for
// each travel down. Intercommunicators split both sides at once.
#include <algorithm>
#include <bit>

#include "world/comm_agree.h"
#include "world/comms.h"

namespace weft::world {
namespace {

struct Choice {
  std::int32_t color, key;
};

/// The different colors, sorted; MPI_UNDEFINED is none.
std::vector<std::int32_t> distinct_colors(const Choice* choices, std::size_t n) {
  std::vector<std::int32_t> colors;
  for (std::size_t i = 0; i < n; ++i)
    if (choices[i].color != MPI_UNDEFINED) colors.push_back(choices[i].color);
  std::sort(colors.begin(), colors.end());
  colors.erase(std::unique(colors.begin(), colors.end()), colors.end());
  return colors;
}

/// The members of `side` that chose `color`, by key, then by rank.
Members chosen(const Group& side, const Choice* choices, std::int32_t color) {
  std::vector<std::pair<std::int32_t, std::int32_t>> found;  // key, member
  for (std::size_t i = 0; i < side.members.size(); ++i)
    if (choices[i].color == color) found.push_back({choices[i].key, side.members[i]});
  std::stable_sort(found.begin(), found.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  Members members;
  for (const auto& [key, member] : found) members.push_back(member);
  return members;
}

}  // namespace

Err comm_split(Comm& comm, int color, int key, MPI_Comm* out) {
  *out = MPI_COMM_NULL;
  if (color < 0 && color != MPI_UNDEFINED)
    return fail(MPI_ERR_ARG, "color is %d; it must be MPI_UNDEFINED or not negative", color);
  const int tag = construction_tag(comm);
  View view(comm, Among::all, all_members(comm));
  const auto n = static_cast<std::size_t>(view.size());
  // Everybody's choice, then the first context as one more record.
  std::vector<Choice> table(n + 1);
  const Choice mine{color, key};
  WEFT_TRY(view.gather(&mine, sizeof mine, table.data(), tag));
  if (view.rank() == 0) {
    const auto colors = static_cast<std::uint32_t>(distinct_colors(table.data(), n).size());
    table[n] = std::bit_cast<Choice>(take_contexts(view.engine(), colors, all_members(comm)));
  }
  WEFT_TRY(view.bcast(table.data(), (n + 1) * sizeof(Choice), tag));
  const auto first = std::bit_cast<std::uint64_t>(table[n]);
  if (color == MPI_UNDEFINED) return ok;

  const bool low = is_low_side(comm);
  const Choice* local = table.data() + (low ? 0 : comm.remote->size());
  Members members = chosen(*comm.group, local, color);
  Members remote;
  if (comm.is_inter()) {
    remote = chosen(*comm.remote, table.data() + (low ? comm.group->size() : 0), color);
    if (remote.empty()) return ok;
  }
  const auto colors = distinct_colors(table.data(), n);
  const auto at = std::lower_bound(colors.begin(), colors.end(), color) - colors.begin();
  Comm* made = skeleton(comm);
  complete(*made, std::move(members), std::move(remote),
           first + static_cast<std::uint64_t>(at) * contexts_per_comm);
  *out = object::handle_of(*made);
  return ok;
}

}  // namespace weft::world
