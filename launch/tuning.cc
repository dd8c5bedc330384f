// SPDX-License-Identifier: Apache-2.0
#include "tuning.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

namespace weft::launch {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int version = 4;
constexpr double ns = 1e-9;
constexpr double longest_ns = 1e6;  // of anything here; more is no measurement

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

std::uint64_t hash(const std::string& text) {  // FNV-1a
  std::uint64_t h = 14695981039346656037U;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return h;
}

std::string now() {
  char text[32];
  const std::time_t t = std::time(nullptr);
  std::tm utc{};
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", gmtime_r(&t, &utc));
  return text;
}

double in_ns(double seconds) {
  return std::round(seconds / ns * 1000) / 1000;
}

/// The number at `key`, in seconds, if it is a plausible time.
bool take_time(const Json& from, const char* key, double* out) {
  const auto at = from.find(key);
  if (at == from.end() || !at->is_number()) return false;
  const double value = at->get<double>();
  if (!(value >= 0 && value <= longest_ns)) return false;
  *out = value * ns;
  return true;
}

bool take_level(const Json& from, model::Level* out) {
  const auto name = from.is_object() ? from.find("name") : from.end();
  if (!from.is_object() || name == from.end() || !name->is_string()) return false;
  const auto& text = name->get_ref<const std::string&>();
  if (text.empty() || text.size() >= sizeof out->name) return false;
  std::strcpy(out->name, text.c_str());
  return take_time(from, "a", &out->a) && take_time(from, "b", &out->b) &&
         take_time(from, "B", &out->B) && take_time(from, "w", &out->w);
}

/// "" or what is wrong with the file.
std::string take(const Json& file, const std::string& key, Tuning* out) {
  if (!file.is_object()) return "it is damaged: no JSON object";
  if (file.value("weft_tuning", Json()) != Json(version))
    return "it is not of version " + std::to_string(version);
  if (file.value("machine", Json()) != Json(key)) return "it is another machine's";
  const Json levels = file.value("levels", Json());
  if (!levels.is_array() || levels.size() > model::most_levels)
    return "it is damaged: no list of levels";
  model::Parameters p = model::built_in();
  p.levels = 0;
  for (const Json& level : levels)
    if (!take_level(level, &p.level[p.levels++]))
      return "it is damaged: level " + std::to_string(p.levels) +
             " has no name, a, b, B and w in ns";
  for (const auto& [name, value] : {std::pair{"copy", &p.copy}, {"reduce", &p.reduce}})
    if (!take_time(file, name, value))
      return std::string("it is damaged: no ") + name + " in ns per line";
  const Json memory = file.value("memory", Json());
  if (!memory.is_object() || !take_time(memory, "b", &p.memory.b) ||
      !take_time(memory, "B", &p.memory.B) || !take_time(memory, "past", &p.memory.past) ||
      !take_time(file, "turn", &p.turn))
    return "it is damaged: no memory b, B and past, and turn, in ns";
  if (const std::string doubt = model::doubts_about(p); !doubt.empty())
    return "they cannot be right: " + doubt;
  p.measured = true;
  const Json when = file.value("measured", Json());
  out->when = when.is_string() ? when.get<std::string>() : "at an unknown time";
  out->prices = p;
  return "";
}

}  // namespace

std::string tuning_key(const topo::Topology& node) {
  return processor() + "; " + node.count_levels();
}

fs::path tuning_path(const topo::Topology& node) {
  const char* cache = std::getenv("XDG_CACHE_HOME");
  const char* home = std::getenv("HOME");
  fs::path folder;
  if (cache != nullptr && *cache == '/')  // the XDG specification: others are to be ignored
    folder = cache;
  else if (home != nullptr && *home != 0)
    folder = fs::path(home) / ".cache";
  else
    return {};
  char name[40];
  std::snprintf(name, sizeof name, "tune-%016llx.json",
                static_cast<unsigned long long>(hash(tuning_key(node))));
  return folder / "weft" / name;
}

namespace {

Tuning read_file(const topo::Topology& node) {
  Tuning out;
  if (!node.is_here()) return out;  // nobody can have measured a declared machine
  const fs::path path = tuning_path(node);
  std::error_code error;
  if (path.empty() || !fs::exists(path, error)) return out;
  std::ifstream file(path);
  const Json json = file ? Json::parse(file, nullptr, false) : Json();
  const std::string why = !file                 ? "it cannot be read"
                          : json.is_discarded() ? "it is damaged: no JSON"
                                                : take(json, tuning_key(node), &out);
  if (!why.empty())
    out.complaint = "the measured costs in " + path.string() + " are not used, because " + why +
                    "; `weft tune` measures again";
  return out;
}

}  // namespace

Tuning read_tuning(const topo::Topology& node) {
  Tuning out = read_file(node);
  if (!out.prices.measured)
    out.prices.memory = model::usual_memory(static_cast<int>(node.cores().size()));
  for (const topo::Cache& cache : node.caches())
    if (out.prices.caches < model::most_caches)
      out.prices.cache[out.prices.caches++] = {model::lines_of(cache.bytes), cache.cpus,
                                               cache.level};
  return out;
}

std::string write_tuning(const topo::Topology& node, const model::Parameters& p) {
  const fs::path path = tuning_path(node);
  if (path.empty()) return "there is no place for them: set HOME or XDG_CACHE_HOME";
  Json levels = Json::array();
  for (int l = 0; l < p.levels; ++l)
    levels.push_back({{"name", p.level[l].name},
                      {"a", in_ns(p.level[l].a)},
                      {"b", in_ns(p.level[l].b)},
                      {"B", in_ns(p.level[l].B)},
                      {"w", in_ns(p.level[l].w)}});
  const Json json = {
      {"weft_tuning", version},
      {"machine", tuning_key(node)},
      {"measured", now()},
      {"unit", "ns: a once, the others per line of 64 bytes"},
      {"levels", levels},
      {"copy", in_ns(p.copy)},
      {"reduce", in_ns(p.reduce)},
      {"memory",
       {{"b", in_ns(p.memory.b)}, {"B", in_ns(p.memory.B)}, {"past", in_ns(p.memory.past)}}},
      {"turn", in_ns(p.turn)}};
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  const fs::path part = path.string() + "." + std::to_string(getpid());
  std::ofstream file(part);
  file << json.dump(2) << "\n";
  file.close();
  if (file) fs::rename(part, path, error);
  if (file && !error) return "";
  fs::remove(part, error);
  return "they cannot be written to " + path.string() + " (is the folder writable?)";
}

}  // namespace weft::launch
