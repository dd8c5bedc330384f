// SPDX-License-Identifier: Apache-2.0
#include "explain.h"

#include <algorithm>
#include <iostream>
#include <numeric>

#include "base/cpus.h"
#include "base/params.h"
#include "info.h"
#include "launch/network_profile.h"
#include "launch/plan.h"
#include "launch/tuning.h"
#include "topo/table.h"
#include "tune.h"

namespace weft::tool {
namespace {

using Json = nlohmann::ordered_json;
using model::Machine;

constexpr std::int64_t largest = std::int64_t{1} << 30;
constexpr std::int64_t plotted = std::int64_t{64} << 20;

int refuse(const std::string& text) {
  std::cerr << "weft explain: " << text << "\n";
  return 2;
}

/// "" or what is wrong with the collective's name.
std::string take_collective(const std::string& given, coll::Setting* out) {
  std::string name = given;
  if (name.rfind("MPI_", 0) == 0) name.erase(0, 4);
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (coll::find_call(name, &out->call)) return "";
  std::string all;
  std::vector<const char*> names;
  for (const coll::Call call : coll::explained) {
    names.push_back(coll::call_name(call).data());
    all += std::string(all.empty() ? "" : ", ") + names.back();
  }
  const char* near = nearest_name(name.c_str(), names);
  return "there is no collective `" + given + "`" +
         (near != nullptr ? std::string("; did you mean `") + near + "`?" : "; known: " + all);
}

std::string take_bytes(const std::string& given, std::int64_t* out) {
  if (parse_integer(given.c_str(), out) && *out >= 0 && *out <= largest) return "";
  return "--bytes " + given + " is no size; expected 0 to 1G, like 8, 16k or 1M";
}

/// What is explained, with everything it depends on.
struct Case {
  coll::Setting setting;
  Machine machine;
  topo::Topology node;
  launch::Tuning tuning;
  std::string network;  // where its prices come from
  int ranks = 0;
};

/// "" or why the question cannot be answered.
std::string take(const Question& q, Case* out) {
  if (std::string why = take_collective(q.collective, &out->setting); !why.empty()) return why;
  if (std::string why = take_bytes(q.bytes, &out->setting.bytes); !why.empty()) return why;
  if (out->setting.call == coll::Call::barrier) out->setting.bytes = 0;
  auto node = q.topology.empty() ? topo::Topology::this_node()
                                 : topo::Topology::synthetic(q.topology.c_str());
  if (!node) {
    const char* why = last_error_text(node.err.cls);
    return why != nullptr ? why : "hwloc could not read the machine";
  }
  out->node = std::move(node.value);
  const int cores = static_cast<int>(out->node.cores().size());
  out->ranks = q.ranks > 0 ? q.ranks : cores;
  if (out->ranks < 2) return "a collective needs at least 2 ranks; say how many with -n";
  out->tuning = launch::read_tuning(out->node);

  const Params params = Params::from_env(true);
  out->setting.threads = q.mode == "thread";
  out->setting.shared_max = params.integer(P::coll_shared_max);
  out->setting.explore = static_cast<double>(params.integer(P::coll_explore)) / 100;
  const ParamDef& asked = coll::way_parameter(out->setting.call);
  if (const std::int64_t way = params.integer(asked.id); way > 0)
    out->setting.asked = param_word(asked, way);
  constexpr int most = 4096;
  if (q.nodes == 1 && out->ranks > most) return "-n: one node has 4096 ranks at most; see --nodes";
  if (q.nodes > 1) {
    if ((out->ranks + q.nodes - 1) / q.nodes > most) return "-n: a node has 4096 ranks at most";
    if (out->ranks < q.nodes)
      return "--nodes: every node has a rank at least; say how many with -n";
    out->machine = model::machine_across(q.nodes, (out->ranks + q.nodes - 1) / q.nodes,
                                         launch::network_prices(false, &out->network));
    out->tuning.prices.measured = false;  // each node chooses between its ranks by its own
    return "";
  }

  std::vector<std::uint64_t> memory(
      topo::HierarchyTable::bytes(static_cast<std::size_t>(out->ranks)) / 8 + 1);
  auto& table = *reinterpret_cast<topo::HierarchyTable*>(memory.data());
  topo::fill_table(out->node, topo::slices(out->node, out->ranks), table);
  std::vector<std::int32_t> all(static_cast<std::size_t>(out->ranks));
  std::iota(all.begin(), all.end(), 0);
  out->machine = model::machine_of(out->tuning.prices, topo::Hierarchy(table), all);

  const int cpus = q.cpus > 0 ? q.cpus : out->node.is_here() ? usable_cpus() : out->node.cpus();
  if (out->ranks > cpus) out->machine.cpus = cpus;
  return "";
}

const coll::Candidate& fastest(const std::vector<coll::Candidate>& all) {
  const coll::Candidate* best = nullptr;
  for (const coll::Candidate& c : all)
    if (best == nullptr || c.cost.seconds() < best->cost.seconds()) best = &c;
  return *best;
}

bool is_among(const std::vector<const coll::Way*>& ways, const std::string& name) {
  return std::any_of(ways.begin(), ways.end(),
                     [&](const coll::Way* way) { return name == way->name; });
}

double predicted_us(const Machine& x, const coll::Setting& s, const std::string& name) {
  for (const coll::Candidate& c : coll::candidates(x, s))
    if (name == c.name()) return c.cost.seconds() * 1e6;
  return 0;
}

Json machine_as_json(const Case& c) {
  Json levels = Json::array();
  for (int l = 0; l < c.machine.levels; ++l)
    levels.push_back({{"name", c.machine.level[l].name},
                      {"parts", c.machine.fan[l]},
                      {"a_ns", c.machine.level[l].a * 1e9},
                      {"b_ns_per_line", c.machine.level[l].b * 1e9},
                      {"B_ns_per_line", c.machine.level[l].B * 1e9},
                      {"w_ns_per_line", c.machine.level[l].back() * 1e9}});
  return {{"topology", c.node.count_levels()},
          {"declared", !c.node.is_here()},
          {"prices", c.tuning.prices.measured ? "measured " + c.tuning.when : "built in"},
          {"levels", levels},
          {"copy_ns_per_line", c.machine.copy * 1e9},
          {"reduce_ns_per_line", c.machine.reduce * 1e9},
          {"call_ns", c.machine.call * 1e9},
          {"message_ns", c.machine.message * 1e9},
          {"step_ns", c.machine.step * 1e9},
          {"memory_ns_per_line", c.machine.memory.copy(c.machine.ranks()) * 1e9},
          {"cache_bytes_per_rank", c.machine.cache_lines * model::line_bytes},
          {"turn_ns", c.machine.turn * 1e9},
          {"nodes", c.machine.nodes},
          {"network", c.network},
          {"latency_ns", c.machine.network.latency * 1e9},
          {"gap_ns", c.machine.network.gap * 1e9},
          {"network_ns_per_line", c.machine.network.line * 1e9},
          {"network_pairs", c.machine.network.pairs},
          {"cpus", c.machine.cpus}};
}

Json candidates_as_json(const Case& c) {
  const std::string taken = coll::chosen(c.machine, c.setting).name;
  const auto tried = coll::tried(c.machine, c.setting);
  Json rows = Json::array();
  for (const coll::Candidate& one : coll::candidates(c.machine, c.setting)) {
    Json parts = Json::array();
    for (const model::Part& part : one.cost.parts())
      parts.push_back({{"what", part.what}, {"source", part.source}, {"us", part.seconds * 1e6}});
    rows.push_back({{"name", one.name()},
                    {"chosen", taken == one.name()},
                    {"tried", is_among(tried, one.name())},
                    {"us", one.cost.seconds() * 1e6},
                    {"parts", parts}});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Json& a, const Json& b) { return a["us"] < b["us"]; });
  return rows;
}

template <class NameAt>
Json ranges_as_json(const Case& c, NameAt&& name_at) {
  Json out = Json::array();
  if (c.setting.call == coll::Call::barrier) return out;
  coll::Setting s = c.setting;
  for (const auto& range : model::ranges(1, plotted, [&](std::int64_t bytes) {
         s.bytes = bytes;
         return std::string(name_at(s));
       }))
    out.push_back({{"from_bytes", range.from_bytes}, {"name", range.name}});
  return out;
}

/// Predicted times over size, for plots.
Json curves_as_json(const Case& c) {
  Json out = Json::object();
  if (c.setting.call == coll::Call::barrier) return out;
  coll::Setting s = c.setting;
  for (s.bytes = 8; s.bytes <= plotted; s.bytes *= 2)
    for (const coll::Candidate& one : coll::candidates(c.machine, s))
      out[one.name()].push_back({s.bytes, one.cost.seconds() * 1e6});
  return out;
}

/// Every way that can be asked for, at every size that it serves.
Json measured_as_json(const Case& c, const Question& q, const std::string& call,
                      const std::filesystem::path& prefix, std::string* problem) {
  std::vector<std::string> ways;
  for (const coll::Way& way : coll::ways_of(c.setting.call))
    if (c.setting.threads || way.place != coll::Place::direct) ways.emplace_back(way.name);
  const auto all = measure_collective(q, call, c.ranks, ways, prefix, problem);
  Json out = Json::array();
  for (std::size_t i = 0; i < all.size(); ++i)
    for (const Measured& row : all[i]) {
      coll::Setting s = c.setting;
      s.bytes = row.bytes;
      const bool taken = ways[i] == coll::chosen(c.machine, s).name;
      const bool tried = is_among(coll::tried(c.machine, s), ways[i]);
      s.asked = ways[i];
      if (coll::chosen(c.machine, s).name != ways[i]) continue;
      out.push_back({{"bytes", row.bytes},
                     {"way", ways[i]},
                     {"chosen", taken},
                     {"tried", tried},
                     {"measured_us", row.us},
                     {"predicted_us", predicted_us(c.machine, s, ways[i])}});
    }
  std::stable_sort(out.begin(), out.end(), [](const Json& a, const Json& b) {
    return std::pair(a["bytes"].get<std::int64_t>(), a["measured_us"].get<double>()) <
           std::pair(b["bytes"].get<std::int64_t>(), b["measured_us"].get<double>());
  });
  return out;
}

}  // namespace

int explain(const Question& q, const std::filesystem::path& prefix) {
  Case c;
  if (const std::string why = take(q, &c); !why.empty()) return refuse(why);
  if (!c.tuning.complaint.empty()) std::cerr << "weft explain: " << c.tuning.complaint << "\n";
  if (const std::string end = std::filesystem::path(q.plot).extension();
      !q.plot.empty() && end != ".svg" && end != ".png" && end != ".pdf")
    return refuse("--plot " + q.plot +
                  " is no picture; expected a name that ends in .svg, .png or .pdf");
  if (q.measure && q.nodes > 1)
    return refuse("several nodes cannot be measured here; leave --measure or --nodes out");
  if (q.measure && !c.node.is_here())
    return refuse("a declared machine cannot be measured; leave --measure or --topology out");

  Json answer{{"collective", coll::call_name(c.setting.call)},
              {"bytes", c.setting.bytes},
              {"ranks", c.ranks},
              {"mode", q.mode},
              {"crowded", c.machine.crowded()},
              {"machine", machine_as_json(c)},
              {"candidates", candidates_as_json(c)},
              {"chosen", coll::chosen(c.machine, c.setting).name},
              {"fastest", fastest(coll::candidates(c.machine, c.setting)).name()}};
  answer["chosen_over_size"] =
      ranges_as_json(c, [&](const coll::Setting& s) { return coll::chosen(c.machine, s).name; });
  answer["fastest_over_size"] = ranges_as_json(
      c, [&](const coll::Setting& s) { return fastest(coll::candidates(c.machine, s)).name(); });
  answer["predicted"] = curves_as_json(c);
  if (q.measure) {
    std::string problem;
    answer["measured"] = measured_as_json(c, q, answer["collective"], prefix, &problem);
    if (!problem.empty()) return refuse(problem);
  }
  std::cout << (q.json ? json_text(answer) + "\n" : explanation_as_text(answer));
  if (q.plot.empty()) return 0;
  const std::string problem = plot_explanation(answer, q.plot, prefix);
  std::cerr << (problem.empty() ? "plot: " + q.plot : "no plot: " + problem) << "\n";
  return problem.empty() ? 0 : 1;
}

}  // namespace weft::tool
