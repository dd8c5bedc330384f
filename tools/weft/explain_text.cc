// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "explain.h"

namespace weft::tool {
namespace {

using Json = nlohmann::ordered_json;

template <class... Values>
std::string line(const char* format, Values... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return std::string(text) + "\n";
}

std::string size_of(std::int64_t bytes) {
  for (const auto& [shift, unit] : {std::pair{20, "MiB"}, {10, "KiB"}})
    if (bytes >= std::int64_t{1} << shift && bytes % (std::int64_t{1} << shift) == 0)
      return std::to_string(bytes >> shift) + " " + unit;
  return std::to_string(bytes) + " bytes";
}

std::string levels_of(const Json& machine) {
  std::string text;
  const char* before = "ranks";
  std::string held;
  for (const Json& level : machine["levels"]) {
    text += (text.empty() ? "" : ", ") + std::to_string(level["parts"].get<int>()) + " " +
            (held.empty() ? before : held) + " in a " + level["name"].get<std::string>();
    held = level["name"].get<std::string>() + "s";
  }
  return text;
}

const char* mark_of(const Json& way) {
  return way["chosen"] ? ">" : way["tried"] ? "~" : " ";
}

std::string candidate_as_text(const Json& c) {
  const auto name = c["name"].get<std::string>();
  std::string text = line("%s %-27s %12.3f us", mark_of(c), name.c_str(), c["us"].get<double>());
  for (const Json& part : c["parts"])
    text += line("    %-32s %7.3f us   %s", part["what"].get<std::string>().c_str(),
                 part["us"].get<double>(), part["source"].get<std::string>().c_str());
  return text;
}

std::string ranges_as_text(const Json& ranges) {
  std::string text;
  for (const Json& range : ranges)
    text += text.empty()
                ? range["name"].get<std::string>()
                : "; from " + size_of(range["from_bytes"]) + " " + range["name"].get<std::string>();
  return text;
}

/// How much slower what weft takes is than the fastest, over all sizes. Rows are sorted by size and
/// time, so the first one tried of a size is what looks would find.
std::string regret_as_text(const Json& rows) {
  double sum = 0, worst = 0, sum_found = 0;
  int sizes = 0;
  std::int64_t last = -1, worst_at = 0;
  double best = 0;
  bool found = false;
  for (const Json& row : rows) {
    const std::int64_t bytes = row["bytes"];
    if (bytes != last) {
      best = row["measured_us"];
      found = false;
    }
    last = bytes;
    const double regret = row["measured_us"].get<double>() / best - 1;
    if (row["tried"] && !found) sum_found += regret;
    found = found || row["tried"];
    if (!row["chosen"]) continue;
    sum += regret;
    ++sizes;
    if (regret > worst) {
      worst = regret;
      worst_at = bytes;
    }
  }
  if (sizes == 0) return "";
  return line(
             "what weft takes is %.0f %% slower than the fastest way, on average over sizes; at "
             "most %.0f %%, at %lld bytes",
             100 * sum / sizes, 100 * worst, static_cast<long long>(worst_at)) +
         line("the fastest of those that it tries is %.0f %% slower", 100 * sum_found / sizes);
}

std::string measured_as_text(const Json& rows) {
  std::string text =
      "\nmeasured here now (medians), every way where it serves, fastest first; > is what weft "
      "takes, ~ what it tries too\n";
  text +=
      line("  %12s    %-20s %12s %12s %8s", "bytes", "way", "measured us", "modelled us", "ratio");
  for (const Json& row : rows) {
    const double measured = row["measured_us"], predicted = row["predicted_us"];
    text += line("  %12lld  %s %-20s %12.3f %12.3f %8.2f",
                 static_cast<long long>(row["bytes"].get<std::int64_t>()), mark_of(row),
                 row["way"].get<std::string>().c_str(), measured, predicted, measured / predicted);
  }
  return text + regret_as_text(rows);
}

}  // namespace

std::string explanation_as_text(const Json& a) {
  const Json& machine = a["machine"];
  const auto text_of = [](const Json& j) { return j.get<std::string>(); };
  std::string out = text_of(a["collective"]) + " of " + size_of(a["bytes"]) + ", " +
                    std::to_string(a["ranks"].get<int>()) + " ranks, mode " + text_of(a["mode"]) +
                    "\n";
  out += "machine: " + text_of(machine["topology"]) + (machine["declared"] ? " (declared)" : "") +
         "\n";
  out += "ranks:   " + levels_of(machine) + "\n";
  out += "prices:  " + text_of(machine["prices"]) +
         (machine["prices"] == "built in" && !machine["declared"]
              ? "; `weft tune` measures this machine\n"
              : "\n");
  if (machine["nodes"] > 1)
    out += line(
        "nodes:   %d; a message takes %.1f us, %.1f us each one after the other, and %.0f MB/s "
        "(%s)",
        machine["nodes"].get<int>(), machine["latency_ns"].get<double>() / 1e3,
        machine["gap_ns"].get<double>() / 1e3, 64e3 / machine["network_ns_per_line"].get<double>(),
        text_of(machine["network"]).c_str());
  const double cache = machine["cache_bytes_per_rank"];
  out += cache > 0 ? line("caches:  a rank has %.0f KiB; a line from memory and back %.1f ns",
                          cache / 1024, machine["memory_ns_per_line"].get<double>())
                   : "caches:  none known, so everything counts as cached\n";
  if (a["crowded"])
    out += line("note:    more ranks than CPUs (%d): ranks take turns of %.0f ns",
                machine["cpus"].get<int>(), machine["turn_ns"].get<double>());
  out += "\nmodelled time of one operation; > is what weft takes, ~ what it tries too\n";
  for (const Json& c : a["candidates"]) out += candidate_as_text(c);
  const bool agree = a["chosen"] == a["fastest"];
  out +=
      "\nweft takes " + text_of(a["chosen"]) +
      (agree ? ", the fastest that it has by the model\n"
             : "; by the model " + text_of(a["fastest"]) +
                   " would be faster,\nbut a blocking call leaves a slot only for what takes two "
                   "thirds, the block for a board only\nfor four fifths, and goes by messages only "
                   "if it can do nothing else, or if they\nare tried and faster\n");
  if (!a["chosen_over_size"].empty())
    out += "over size, taken:             " + ranges_as_text(a["chosen_over_size"]) +
           "\n           fastest by model: " + ranges_as_text(a["fastest_over_size"]) + "\n";
  return a.contains("measured") ? out + measured_as_text(a["measured"]) : out;
}

}  // namespace weft::tool
