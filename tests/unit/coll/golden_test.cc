// SPDX-License-Identifier: Apache-2.0
//
// Which way every collective goes on declared machines, as text: golden/<machine>.txt. Who changes
// a price or a rule sees here what that changes. To write the files anew:
//   WEFT_WRITE_GOLDEN=1 build/release/tests/unit/weft_unit --gtest_filter='*Golden*'
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "coll/boards/board.h"
#include "coll/choose.h"
#include "launch/tuning.h"
#include "model/prediction.h"
#include "topo/slices.h"
#include "topo/table.h"

namespace weft::coll {
namespace {

struct Declared {
  const char* name;
  const char* topology;
};
constexpr Declared machines[] = {
    {"2_near", "pack:1 l3:1(size=32MiB) l2:2(size=512KiB) core:1 pu:1"},
    {"2_near_l2_1m", "pack:1 l3:1(size=32MiB) l2:2(size=1MiB) core:1 pu:1"},
    {"2_far", "pack:1 l3:2(size=32MiB) l2:1(size=512KiB) core:1 pu:1"},
    {"8_one_l3", "pack:1 l3:1(size=32MiB) l2:8(size=512KiB) core:1 pu:1"},
    {"16_one_l3", "pack:1 l3:1(size=32MiB) l2:16(size=1MiB) core:1 pu:1"},
    {"2x6", "pack:2 l3:1(size=12MiB) l2:6(size=256KiB) core:1 pu:1"},
    {"4x8", "pack:4 l3:1(size=6MiB) l2:8(size=512KiB) core:1 pu:1"},
    {"2x64_l3_of_8", "pack:2 l3:8(size=32MiB) l2:8(size=1MiB) core:1 pu:1"},
    {"2x32_l2_2m", "pack:2 l3:1(size=60MiB) l2:32(size=2MiB) core:1 pu:1"},
};

model::Machine machine_of(const topo::Topology& node, const model::Parameters& prices, int ranks) {
  std::vector<std::uint64_t> memory(
      topo::HierarchyTable::bytes(static_cast<std::size_t>(ranks)) / 8 + 1);
  auto& table = *reinterpret_cast<topo::HierarchyTable*>(memory.data());
  topo::fill_table(node, topo::slices(node, ranks), table);
  std::vector<std::int32_t> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  model::Machine x = model::machine_of(prices, topo::Hierarchy(table), all);
  if (ranks > node.cpus()) x.cpus = node.cpus();
  return x;
}

/// "slots pieces:2049": what is taken, and from which size on.
std::string ways_over_size(Choices& choices, Case c) {
  const auto name_at = [&](std::int64_t bytes) {
    c.bytes = bytes;
    return std::string(choose(choices, c).name);
  };
  if (c.call == Call::barrier) return name_at(0);
  std::string out;
  for (const auto& range : model::ranges(1, 64 << 20, name_at))
    out += (out.empty() ? "" : " ") + range.name +
           (range.from_bytes > 1 ? ":" + std::to_string(range.from_bytes) : "");
  return out;
}

std::string table_of(const Declared& declared) {
  const auto node = topo::Topology::synthetic(declared.topology);
  if (!node) return "hwloc could not read it";
  const model::Parameters prices = launch::read_tuning(node.value).prices;
  std::ostringstream out;
  out << "# " << declared.topology << "\n# Built-in prices.\n";
  for (int ranks = 2; ranks <= 128; ranks *= 2) {
    const model::Machine x = machine_of(node.value, prices, ranks);
    out << "\n"
        << ranks << " ranks" << (x.crowded() ? ", more than CPUs" : "") << ", "
        << model::bulk_bytes(prices, ranks) / 1024 << " KiB for bulk data\n";
    for (const char* mode : {"processes", "threads", "nonblocking", "messages"}) {
      const std::string form = mode;
      if (form == "messages" && ranks > 32) continue;  // a second of walks, and seldom taken
      Choices choices{.machine = x};
      for (const Call call : explained)
        out << "  " << form << " " << call_name(call) << ": "
            << ways_over_size(choices,
                              {.call = call,
                               .slot_bytes = form == "processes" || form == "threads" ? 4096 : 0,
                               .reach = form == "threads",
                               .boards = form != "messages"})
            << "\n";
    }
  }
  return out.str();
}

void PrintTo(const Declared& declared, std::ostream* out) {
  *out << declared.name;
}

class Golden : public testing::TestWithParam<Declared> {};

TEST_P(Golden, TableOfWays) {
  const std::string now = table_of(GetParam());
  const auto path = std::filesystem::path(__FILE__).parent_path() / "golden" /
                    (std::string(GetParam().name) + ".txt");
  if (std::getenv("WEFT_WRITE_GOLDEN") != nullptr) std::ofstream(path) << now;
  std::ifstream file(path);
  const std::string recorded(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(now, recorded) << "the ways on " << GetParam().name
                           << " have changed; the head of golden_test.cc says how to record them";
}
/// Sanitizers, with which a table takes 5 to 20 s, see one.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::span tested(&machines[3], 1);
#else
constexpr std::span tested(machines);
#endif
INSTANTIATE_TEST_SUITE_P(Machines, Golden, testing::ValuesIn(tested.begin(), tested.end()),
                         [](const auto& info) { return "on_" + std::string(info.param.name); });

}  // namespace
}  // namespace weft::coll
