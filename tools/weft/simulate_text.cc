// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdio>
#include <vector>

#include "simulate.h"

namespace weft::tool {
namespace {

using Json = nlohmann::ordered_json;

template <class... Values>
std::string line(const char* format, Values... values) {
  char text[320];
  std::snprintf(text, sizeof text, format, values...);
  return std::string(text) + "\n";
}

std::string amount(std::int64_t bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(units); ++unit) value /= 1024;
  char text[32];
  std::snprintf(
      text, sizeof text,
      unit == 0 || value == static_cast<double>(static_cast<int>(value)) ? "%.0f %s" : "%.1f %s",
      value, units[unit]);
  return text;
}

std::string cluster_as_text(const Json& c) {
  std::string out =
      line("simulated: %d ranks on %d nodes, %d each, ranks as %s", c["ranks"].get<int>(),
           c["nodes"].get<int>(), c["ranks_per_node"].get<int>(),
           c["mode"] == "thread" ? "threads" : "processes");
  out += "node:      " + c["machine"].get<std::string>() + "; prices " +
         c["prices"].get<std::string>() +
         (c["crowded"] == true ? "; more ranks than CPUs, which take turns\n" : "\n");
  out += line(
      "network:   latency %.0f ns, gap %.0f ns, %.0f MB/s, pairs at once %.0f, %.0f ns more for "
      "each link (%s)",
      c["latency_ns"].get<double>(), c["gap_ns"].get<double>(), c["bandwidth_mb_s"].get<double>(),
      c["pairs"].get<double>(), c["hop_ns"].get<double>(), c["network"].get<std::string>().c_str());
  return out + "fabric:    " + c["fabric_is"].get<std::string>() + "\n";
}

std::string wire_up_as_text(const Json& w) {
  const auto bytes = [&](const char* key) { return amount(w[key].get<std::int64_t>()); };
  const auto number = [&](const char* key) {
    return static_cast<long long>(w[key].get<std::int64_t>());
  };
  return line(
             "wire-up:   %lld messages between agents, %d deep; mpiexec sends %lld and gets %lld; "
             "all addresses are %s, of which it sends %s",
             number("messages"), w["deepest"].get<int>(), number("sent_by_mpiexec"),
             number("got_by_mpiexec"), bytes("bytes_of_addresses").c_str(),
             bytes("bytes_from_mpiexec").c_str()) +
         line(
             "memory:    %s of a node's shared memory; %s of each rank, %lld bytes for each other "
             "one; %lld more for each that it speaks to",
             bytes("memory_per_node").c_str(), bytes("memory_per_rank").c_str(),
             number("memory_for_each_other_rank"), number("memory_per_peer"));
}

std::string row_as_text(const Json& row) {
  const std::string name =
      std::string(row["chosen"] == true ? "> " : "  ") + row["way"].get<std::string>();
  if (row["simulated"] == false) return line("    %-22s too many steps to replay", name.c_str());
  std::string out = line("    %-22s %14.1f %14.1f %12lld %12s %12s", name.c_str(),
                         row["median_us"].get<double>(), row["us"].get<double>(),
                         static_cast<long long>(row["node_messages"].get<std::int64_t>()),
                         amount(row["node_bytes"]).c_str(), amount(row["memory_per_rank"]).c_str());
  if (!row.contains("measured_us")) return out;
  out.pop_back();
  return out + line("   measured here %10.1f us, %5.2f times as long",
                    row["measured_us"].get<double>(), row["measured_by_simulated"].get<double>());
}

std::string error_as_text(const Json& rows) {
  std::vector<double> off;
  for (const Json& row : rows)
    if (row.contains("measured_by_simulated"))
      off.push_back(row["measured_by_simulated"].get<double>());
  if (off.empty()) return "";
  std::sort(off.begin(), off.end());
  return line("\nmeasured / simulated: median %.2f, %.2f to %.2f, %zu rows", off[off.size() / 2],
              off.front(), off.back(), off.size());
}

}  // namespace

std::string simulation_as_text(const Json& a) {
  std::string out = cluster_as_text(a["cluster"]) + wire_up_as_text(a["wire_up"]);
  std::string last;
  for (const Json& row : a["rows"]) {
    std::string title = row["collective"].get<std::string>();
    if (row["collective"] != "barrier") title += " of " + amount(row["bytes"]);
    if (title != last) {
      out += "\n" + title + ", simulated; > is what weft takes\n";
      out += line("    %-22s %14s %14s %12s %12s %12s", "  way", "median us", "longest us",
                  "msgs/node", "bytes/node", "memory/rank");
      last = title;
    }
    out += row_as_text(row);
  }
  return out + error_as_text(a["rows"]);
}

}  // namespace weft::tool
