// SPDX-License-Identifier: Apache-2.0
#include "simulate.h"

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numeric>
#include <sstream>

#include "base/params.h"
#include "coll/candidates.h"
#include "coll/cluster/simulate.h"
#include "explain.h"
#include "info.h"
#include "launch/network_profile.h"
#include "launch/options.h"
#include "launch/tuning.h"
#include "topo/table.h"

namespace weft::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::int64_t largest = std::int64_t{1} << 30;
constexpr int most_ranks = 1 << 18, most_each = 4096;
constexpr std::int64_t address_bytes = 48;  // of a rank's addresses as text, with one context

int refuse(const std::string& text) {
  std::cerr << "weft simulate: " << text << "\n";
  return 2;
}

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream words(text);
  for (std::string word; std::getline(words, word, ',');) out.push_back(word);
  return out;
}

bool take_unit(std::string text, const char* unit, double factor, double* out) {
  const std::string end = unit;
  if (text.size() <= end.size() || text.substr(text.size() - end.size()) != end) return false;
  text.resize(text.size() - end.size());
  char* rest = nullptr;
  const double value = std::strtod(text.c_str(), &rest);
  if (*rest != 0 || !std::isfinite(value) || value < 0) return false;
  *out = value * factor;
  return true;
}

/// 12us, 300ns or 300.
bool take_time(const std::string& text, double* out) {
  return take_unit(text, "ns", 1e-9, out) || take_unit(text, "us", 1e-6, out) ||
         take_unit(text, "ms", 1e-3, out) || take_unit(text + "ns", "ns", 1e-9, out);
}

/// Bytes per second of 10GB/s, 1000MB/s or 1000.
bool take_rate(const std::string& text, double* out) {
  return (take_unit(text, "GB/s", 1e9, out) || take_unit(text, "MB/s", 1e6, out) ||
          take_unit(text + "MB/s", "MB/s", 1e6, out)) &&
         *out > 0;
}

/// "" or what is wrong.
std::string take_network(const std::string& text, coll::Declared* out, std::string* source) {
  out->network = launch::network_prices(false, source);
  out->hop = 100e-9;
  for (const std::string& word : split(text)) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string name = word.substr(0, equals);
    const std::string value = equals < word.size() ? word.substr(equals + 1) : "";
    double rate = 0;
    std::int64_t pairs = 0;
    bool good = false;
    if (name == "latency") good = take_time(value, &out->network.latency);
    if (name == "gap") good = take_time(value, &out->network.gap);
    if (name == "hop") good = take_time(value, &out->hop);
    if (name == "bandwidth" && (good = take_rate(value, &rate)))
      out->network.line = model::line_bytes / rate;
    if (name == "pairs" && (good = parse_integer(value.c_str(), &pairs) && pairs > 0))
      out->network.pairs = static_cast<double>(pairs);
    if (!good)
      return "--network " + text + ": `" + word +
             "` is not understood; expected "
             "latency=12us,gap=3us,bandwidth=1000MB/s,pairs=1,hop=100ns";
    *source = "declared";
  }
  return "";
}

std::string take_size(const std::string& given, std::int64_t* out) {
  std::string word = given;
  for (const char* end : {"iB", "B"})
    if (word.size() > std::string(end).size() && word.ends_with(end)) {
      word.resize(word.size() - std::string(end).size());
      break;
    }
  if (parse_integer(word.c_str(), out) && *out >= 0 && *out <= largest) return "";
  return "--bytes " + given + " is no size; expected 0 to 1G, like 8,64KiB,1MiB";
}

struct Case {
  std::vector<coll::Call> calls;
  std::vector<std::int64_t> sizes;
  coll::Declared cluster;
  std::string machine, prices, network;
};

std::string take_calls(const std::string& given, std::vector<coll::Call>* out) {
  for (const std::string& name : split(given)) {
    coll::Call call{};
    std::string lower = name.rfind("MPI_", 0) == 0 ? name.substr(4) : name;
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    if (lower == "all") {
      out->assign(std::begin(coll::explained), std::end(coll::explained));
      continue;
    }
    if (!coll::find_call(lower, &call)) {
      std::string all = "all";
      for (const coll::Call known : coll::explained)
        all += ", " + std::string(coll::call_name(known));
      return "there is no collective `" + name + "`; known: " + all;
    }
    out->push_back(call);
  }
  return out->empty() ? "a collective is needed, such as allreduce" : "";
}

std::string take_machine(const Experiment& e, Case* out) {
  auto node = e.machine.empty() ? topo::Topology::this_node()
                                : topo::Topology::synthetic(e.machine.c_str());
  if (!node) {
    const char* why = last_error_text(node.err.cls);
    return why != nullptr ? why : "hwloc could not read the machine";
  }
  const int cores = static_cast<int>(node.value.cores().size());
  const int each = e.each > 0 ? e.each : cores;
  if (each > most_each || std::int64_t{each} * e.nodes > most_ranks)
    return "a node has 4096 ranks at most, and a cluster 262144";
  if (std::int64_t{each} * e.nodes < 2) return "a collective needs at least 2 ranks";
  const launch::Tuning tuning = launch::read_tuning(node.value);
  if (!tuning.complaint.empty()) std::cerr << "weft simulate: " << tuning.complaint << "\n";
  std::vector<std::uint64_t> memory(
      topo::HierarchyTable::bytes(static_cast<std::size_t>(each)) / 8 + 1);
  auto& table = *reinterpret_cast<topo::HierarchyTable*>(memory.data());
  topo::fill_table(node.value, topo::slices(node.value, each), table);
  std::vector<std::int32_t> all(static_cast<std::size_t>(each));
  std::iota(all.begin(), all.end(), 0);
  model::Machine& x = out->cluster.node;
  x = model::machine_of(tuning.prices, topo::Hierarchy(table), all);
  if (each > node.value.cpus()) x.cpus = node.value.cpus();
  out->machine = node.value.count_levels() + (node.value.is_here() ? "" : " (declared)");
  out->prices = tuning.prices.measured ? "measured " + tuning.when : "built in";
  return "";
}

std::string take_ways(const Experiment& e, const Case& c) {
  for (const auto& [option, name] : {std::pair{"--way", &e.way}, {"--on-node", &e.on_node}}) {
    bool any = name->empty();
    for (const coll::Call call : coll::explained) {
      const coll::Way* way = coll::find_way(call, *name);
      const bool fits = way != nullptr && (name == &e.way ? way->place >= coll::Place::messages
                                                          : way->place == coll::Place::board);
      const bool wanted = std::find(c.calls.begin(), c.calls.end(), call) != c.calls.end();
      any |= fits && (wanted || name == &e.on_node);
    }
    if (!any)
      return std::string(option) + " " + *name + " is no way of that; `weft explain " +
             e.collective + " --nodes 2` lists them";
  }
  return "";
}

std::string take(const Experiment& e, Case* out) {
  if (std::string why = take_calls(e.collective, &out->calls); !why.empty()) return why;
  for (const std::string& word : split(e.bytes)) {
    if (std::string why = take_size(word, &out->sizes.emplace_back()); !why.empty()) return why;
  }
  if (out->sizes.empty()) return "--bytes needs a size, like 8,64KiB,1MiB";
  coll::Declared& cluster = out->cluster;
  cluster.nodes = e.nodes;
  cluster.threads = e.mode == "thread";
  cluster.on_node = e.on_node;
  if (std::string why = take_network(e.network, &cluster, &out->network); !why.empty()) return why;
  if (std::string why = take_machine(e, out); !why.empty()) return why;
  std::string why;
  auto fabric = coll::Fabric::parse(e.fabric, e.nodes, &why);
  if (!fabric) return "--fabric " + e.fabric + ": " + why;
  cluster.fabric = *fabric;
  return take_ways(e, *out);
}

Json cluster_as_json(const Experiment& e, const Case& c) {
  const coll::Declared& x = c.cluster;
  return {{"nodes", x.nodes},
          {"ranks_per_node", x.each()},
          {"ranks", x.ranks()},
          {"mode", e.mode},
          {"machine", c.machine},
          {"prices", c.prices},
          {"crowded", x.node.crowded()},
          {"fabric", e.fabric},
          {"fabric_is", x.fabric.describe()},
          {"network", c.network},
          {"latency_ns", x.network.latency * 1e9},
          {"gap_ns", x.network.gap * 1e9},
          {"bandwidth_mb_s", model::line_bytes / x.network.line / 1e6},
          {"pairs", x.network.pairs},
          {"hop_ns", x.hop * 1e9}};
}

Json wire_up_as_json(const Experiment& e, const coll::Declared& x) {
  const int width = e.tree_width > 0 ? e.tree_width : launch::Options{}.tree_width;
  const coll::WireUp w = coll::wire_up(x, width, address_bytes);
  return {{"tree_width", width},
          {"address_bytes", address_bytes},
          {"messages", w.messages},
          {"deepest", w.deepest},
          {"sent_by_mpiexec", w.sent},
          {"got_by_mpiexec", w.got},
          {"messages_per_node", w.node_messages},
          {"bytes_of_addresses", w.addresses_bytes},
          {"bytes_from_mpiexec", w.first_bytes},
          {"memory_per_node", w.memory_per_node},
          {"memory_per_rank", w.memory_per_rank},
          {"memory_for_each_other_rank", w.memory_for_other},
          {"memory_per_peer", w.memory_per_peer}};
}

Json row_of(const coll::Declared& x, coll::Call call, std::int64_t bytes, const coll::Way& way,
            bool taken) {
  Json row{{"collective", coll::call_name(call)},
           {"bytes", bytes},
           {"way", way.name},
           {"chosen", taken}};
  const coll::Simulated found = coll::simulate(x, way, call, bytes);
  row["simulated"] = !found.is_too_long;
  if (found.is_too_long) return row;
  row["us"] = found.result.longest * 1e6;
  row["median_us"] = found.result.median * 1e6;
  row["node_messages"] = found.result.messages;
  row["node_bytes"] = found.result.bytes;
  row["all_messages"] = found.result.all_messages;
  row["all_bytes"] = found.result.all_bytes;
  row["memory_per_rank"] = found.memory;
  row["replayed_ranks"] = found.result.replayed;
  row["steps"] = found.result.steps;
  return row;
}

Json rows_of(const Experiment& e, const Case& c) {
  Json rows = Json::array();
  for (const coll::Call call : c.calls)
    for (const std::int64_t size :
         call == coll::Call::barrier ? std::vector<std::int64_t>{0} : c.sizes) {
      const coll::Way& taken = coll::way_taken(c.cluster, call, size);
      Json here = Json::array();
      for (const coll::Way* way : coll::ways_across(c.cluster, call, size))
        if (e.way.empty() || e.way == way->name)
          here.push_back(row_of(c.cluster, call, size, *way, way == &taken));
      std::stable_sort(here.begin(), here.end(), [](const Json& a, const Json& b) {
        return a.value("us", 1e300) < b.value("us", 1e300);
      });
      rows.insert(rows.end(), here.begin(), here.end());
    }
  return rows;
}

/// Runs what was simulated, on pretended nodes of this machine, and says how far off it was.
std::string compare(const Experiment& e, const Case& c, const std::filesystem::path& prefix,
                    Json* rows) {
  for (const coll::Call call : c.calls) {
    std::vector<std::string> ways;
    for (const coll::Way* way : coll::ways_across(c.cluster, call, 8))
      if (e.way.empty() || e.way == way->name) ways.emplace_back(way->name);
    if (ways.empty()) continue;
    Question question;
    question.mode = e.mode;
    question.nodes = e.nodes;
    std::string problem;
    const auto all = measure_collective(question, std::string(coll::call_name(call)),
                                        c.cluster.ranks(), ways, prefix, &problem);
    if (!problem.empty()) return problem;
    for (std::size_t i = 0; i < all.size(); ++i)
      for (const Measured& one : all[i])
        for (Json& row : *rows)
          if (row["collective"] == coll::call_name(call) && row["way"] == ways[i] &&
              row["bytes"] == one.bytes && row["simulated"] == true) {
            row["measured_us"] = one.us;
            row["measured_by_simulated"] = one.us / row["us"].get<double>();
          }
  }
  return "";
}

}  // namespace

int simulate(const Experiment& e, const std::filesystem::path& prefix) {
  Case c;
  if (const std::string why = take(e, &c); !why.empty()) return refuse(why);
  if (e.compare && (!e.machine.empty() || !e.network.empty() || e.fabric != "full"))
    return refuse(
        "a declared machine, network or fabric cannot be measured; leave --machine, "
        "--network and --fabric out");
  if (e.compare && (e.nodes < 2 || c.cluster.ranks() > 64))
    return refuse("--compare runs on pretended nodes of this machine: 2 or more, 64 ranks at most");
  if (e.compare) c.cluster.network = launch::network_prices(true, &c.network);
  Json answer{{"label", "simulated"},
              {"cluster", cluster_as_json(e, c)},
              {"wire_up", wire_up_as_json(e, c.cluster)},
              {"rows", rows_of(e, c)}};
  if (e.compare)
    if (const std::string why = compare(e, c, prefix, &answer["rows"]); !why.empty())
      return refuse(why);
  std::cout << (e.json ? json_text(answer) + "\n" : simulation_as_text(answer));
  return 0;
}

}  // namespace weft::tool
