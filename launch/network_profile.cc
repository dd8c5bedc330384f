// SPDX-License-Identifier: Apache-2.0
#include "network_profile.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/params.h"

namespace weft::launch {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr int version = 1;
constexpr std::int64_t longest_ns = 1'000'000'000, fastest_mb_s = 1'000'000, most_pairs = 4096;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

const ParamDef& definition(P id) {
  return param_table()[static_cast<std::size_t>(id)];
}

constexpr P prices[] = {P::net_latency, P::net_gap, P::net_bandwidth, P::net_pairs};

bool is_set(P id) {
  return std::getenv(param_env_name(definition(id)).c_str()) != nullptr;
}

std::string now() {
  char text[32];
  const std::time_t t = std::time(nullptr);
  std::tm utc{};
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M UTC", gmtime_r(&t, &utc));
  return text;
}

bool take_number(const Json& from, const char* key, std::int64_t least, std::int64_t most,
                 std::int64_t* out) {
  const auto at = from.find(key);
  if (at == from.end() || !at->is_number_integer()) return false;
  *out = at->get<std::int64_t>();
  return *out >= least && *out <= most;
}

/// False: it is damaged.
bool take(const Json& from, NetworkProfile* out) {
  if (!from.is_object()) return false;
  for (const auto& [key, text] : {std::pair{"provider", &out->provider},
                                  {"interface", &out->interface},
                                  {"measured", &out->when}}) {
    const auto at = from.find(key);
    if (at == from.end() || !at->is_string()) return false;
    *text = at->get<std::string>();
  }
  return !out->provider.empty() && take_number(from, "latency", 0, longest_ns, &out->latency_ns) &&
         take_number(from, "gap", 0, longest_ns, &out->gap_ns) &&
         take_number(from, "bandwidth", 1, fastest_mb_s, &out->bandwidth_mb_s) &&
         (!from.contains("pairs") || take_number(from, "pairs", 1, most_pairs, &out->pairs));
}

/// The file's profiles by key; null: there is no file, or `why` says what is wrong with it.
Json read_file(std::string* why) {
  const fs::path path = network_path();
  std::error_code error;
  if (path.empty() || !fs::exists(path, error)) return {};
  std::ifstream file(path);
  const Json json = file ? Json::parse(file, nullptr, false) : Json();
  if (!file)
    *why = "it cannot be read";
  else if (json.is_discarded() || !json.is_object())
    *why = "it is damaged: no JSON object";
  else if (json.value("weft_networks", Json()) != Json(version))
    *why = "it is not of version " + std::to_string(version);
  else if (!json.value("networks", Json()).is_object())
    *why = "it is damaged: no networks";
  else
    return json["networks"];
  return {};
}

}  // namespace

std::string network_key(bool loopback) {
  std::string key = loopback ? "nodes of one machine" : "hosts";
  for (const char* name : {"WEFT_NET_PROVIDER", "WEFT_NET_INTERFACE", "FI_PROVIDER"})
    if (const std::string value = variable(name); !value.empty())
      key += "; " + std::string(name) + "=" + value;
  return key;
}

fs::path network_path() {
  const std::string cache = variable("XDG_CACHE_HOME"), home = variable("HOME");
  fs::path folder;
  if (!cache.empty() && cache[0] == '/')  // the XDG specification: others are to be ignored
    folder = cache;
  else if (!home.empty())
    folder = fs::path(home) / ".cache";
  else
    return {};
  return folder / "weft" / "networks.json";
}

NetworkProfile read_network(const std::string& key, std::string* complaint) {
  std::string why;
  const Json all = read_file(&why);
  NetworkProfile out;
  if (all.is_object() && all.contains(key) && !take(all[key], &out)) {
    why = "it is damaged: `" + key +
          "` lacks a right provider, interface, latency, gap, bandwidth or pairs";
    out = {};
  }
  if (!why.empty())
    *complaint = "the measured costs in " + network_path().string() + " are not used, because " +
                 why + "; `weft tune --net` measures again";
  return out;
}

std::string write_network(const std::string& key, const NetworkProfile& p) {
  const fs::path path = network_path();
  if (path.empty()) return "there is no place for them: set HOME or XDG_CACHE_HOME";
  std::string ignored;
  Json all = read_file(&ignored);
  if (!all.is_object()) all = Json::object();
  all[key] = {{"provider", p.provider}, {"interface", p.interface},
              {"measured", now()},      {"latency", p.latency_ns},
              {"gap", p.gap_ns},        {"bandwidth", p.bandwidth_mb_s},
              {"pairs", p.pairs}};
  const Json json = {{"weft_networks", version},
                     {"unit", "latency and gap in ns, bandwidth in MB/s"},
                     {"networks", all}};
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

std::vector<std::string> network_price_variables() {
  std::vector<std::string> out;
  for (const P id : prices) out.push_back(param_env_name(definition(id)));
  return out;
}

std::vector<std::pair<std::string, std::string>> network_variables(bool loopback) {
  std::string complaint;
  const NetworkProfile profile = read_network(network_key(loopback), &complaint);
  if (!complaint.empty()) std::fprintf(stderr, "weft: %s\n", complaint.c_str());
  if (!profile.is_measured()) return {};
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto& [id, value] : {std::pair{P::net_latency, profile.latency_ns},
                                  {P::net_gap, profile.gap_ns},
                                  {P::net_bandwidth, profile.bandwidth_mb_s},
                                  {P::net_pairs, profile.pairs}})
    if (!is_set(id)) out.emplace_back(param_env_name(definition(id)), std::to_string(value));
  return out;
}

model::Network network_prices(bool loopback, std::string* source) {
  const Params params = Params::from_env(false);
  model::Network out = model::network_of(params);
  std::string complaint;
  const NetworkProfile profile = read_network(network_key(loopback), &complaint);
  const bool any = std::ranges::any_of(prices, is_set);
  *source = any ? "set by variables" : "built in";
  if (!complaint.empty()) *source += "; " + complaint;
  if (!profile.is_measured()) return out;
  if (!is_set(P::net_latency)) out.latency = static_cast<double>(profile.latency_ns) * 1e-9;
  if (!is_set(P::net_gap)) out.gap = static_cast<double>(profile.gap_ns) * 1e-9;
  if (!is_set(P::net_bandwidth))
    out.line = model::line_bytes / (static_cast<double>(profile.bandwidth_mb_s) * 1e6);
  if (!is_set(P::net_pairs)) out.pairs = static_cast<double>(profile.pairs);
  *source = "measured " + profile.when + " (" + profile.provider + " on " + profile.interface +
            ")" + (any ? ", some set by variables" : "");
  return out;
}

}  // namespace weft::launch
