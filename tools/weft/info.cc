// SPDX-License-Identifier: Apache-2.0
//
// weft info: see info.h.
#include "info.h"

#include <mpi.h>

#include <algorithm>
#include <regex>
#include <sstream>

#include "base/params.h"
#include "docs.h"
#include "object/errors.h"
#include "topo/topology.h"

namespace weft::tool {
namespace {

using Json = nlohmann::ordered_json;

#if defined(__SANITIZE_ADDRESS__)
constexpr const char* sanitizer = "address";
#elif defined(__SANITIZE_THREAD__)
constexpr const char* sanitizer = "thread";
#else
constexpr const char* sanitizer = "none";
#endif

const char* type_name(ParamType type) {
  switch (type) {
    case ParamType::boolean:
      return "boolean";
    case ParamType::integer:
      return "integer";
    case ParamType::text:
      return "text";
  }
  return "";
}

Json param_as_json(const ParamDef& def, const Params& values) {
  const std::string value = def.type == ParamType::text ? values.text(def.id)
                            : def.words != nullptr
                                ? std::string(param_word(def, values.integer(def.id)))
                                : std::to_string(values.integer(def.id));
  Json row{{"name", def.name},
           {"variable", param_env_name(def)},
           {"type", type_name(def.type)},
           {"default", def.fallback},
           {"value", value},
           {"unit", def.unit},
           {"help", def.help}};
  if (def.type == ParamType::integer) row["range"] = {def.min, def.max};
  if (def.words != nullptr)
    for (std::int64_t i = 0; i <= def.max; ++i) row["words"].push_back(param_word(def, i));
  return row;
}

Json topology_as_json() {
  const auto node = topo::Topology::this_node();
  if (!node) {
    const char* why = last_error_text(node.err.cls);
    return {{"error", why != nullptr ? why : "hwloc could not read this machine"}};
  }
  const topo::Topology& t = node.value;
  Json levels = Json::object();
  for (const topo::Level& level : t.levels()) levels[level.name] = level.parts;
  return {{"cpus", t.cpus()},
          {"cores", t.cores().size()},
          {"levels", levels},
          {"declared", !t.is_here()},
          {"description", t.describe()}};
}

Json coverage_as_json(const std::filesystem::path& prefix) {
  const Coverage coverage = read_coverage(prefix);
  return {{"functions", {{"works", coverage.works}, {"not_yet", coverage.not_yet}}},
          {"missing", coverage.missing}};
}

/// MPI's error classes, with which a job ends whose program handles no errors.
Json errors_as_json() {
  Json rows = Json::array();
  for (int cls = 1; cls <= 255; ++cls) {
    const char* words = object::class_text(cls);
    if (words == nullptr) continue;
    const std::string text = words;
    const std::size_t colon = text.find(": ");
    rows.push_back(
        {{"class", cls}, {"name", text.substr(0, colon)}, {"help", text.substr(colon + 2)}});
  }
  return rows;
}

std::string padded(std::string text, std::size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

/// Indents every line of `text`.
std::string indented(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) out += "  " + line + "\n";
  return out;
}

std::string string_of(const Json& value) {
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

std::string or_dash(const std::string& text) {
  return text.empty() ? "-" : text;
}

}  // namespace

Json collect_info(const std::filesystem::path& prefix) {
  const Params values = Params::from_env(/*complain=*/true);
  Json params = Json::array();
  for (const ParamDef& def : param_table()) params.push_back(param_as_json(def, values));
  return {
      {"weft",
       {{"version", WEFT_VERSION},
        {"standard", "MPI " + std::to_string(MPI_VERSION) + "." + std::to_string(MPI_SUBVERSION)},
        {"prefix", prefix.string()},
        {"compiler", "g++ " __VERSION__},
        {"build", WEFT_BUILD_TYPE},
        {"sanitizer", sanitizer}}},
      {"coverage", coverage_as_json(prefix)},
      {"machine", topology_as_json()},
      {"parameters", params},
      {"errors", errors_as_json()}};
}

std::string json_text(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string info_as_text(const Json& info) {
  std::string out = "weft " + string_of(info["weft"]["version"]) + "\n";
  for (const auto& [key, value] : info["weft"].items())
    if (key != "version") out += "  " + padded(key, 10) + " " + string_of(value) + "\n";

  const Json& coverage = info["coverage"];
  out += "\nMPI functions in C: " + coverage["functions"]["works"].dump() + " work, " +
         coverage["functions"]["not_yet"].dump() + " not yet (weft docs coverage)\n";
  for (const Json& missing : coverage["missing"]) out += "missing: " + string_of(missing) + "\n";

  out += "\nmachine\n";
  const Json& machine = info["machine"];
  out += indented(string_of(machine[machine.contains("error") ? "error" : "description"]));

  out += "\nparameters (* changed by the environment)\n";
  std::size_t variable_width = 0, value_width = 0;
  const auto value_of = [](const Json& row) {
    const std::string unit = string_of(row["unit"]);
    return or_dash(string_of(row["value"])) + (unit.empty() ? "" : " " + unit);
  };
  for (const Json& row : info["parameters"]) {
    variable_width = std::max(variable_width, string_of(row["variable"]).size());
    value_width = std::max(value_width, value_of(row).size());
  }
  for (const Json& row : info["parameters"]) {
    const bool changed = row["value"] != row["default"];
    out += changed ? "* " : "  ";
    out += padded(string_of(row["variable"]), variable_width + 2);
    out += padded(value_of(row), value_width + 2) + string_of(row["help"]);
    if (changed) out += " (default " + or_dash(string_of(row["default"])) + ")";
    out += "\n";
  }
  return out;
}

std::string params_as_markdown(const Json& info) {
  std::string out =
      "# Parameters\n\n"
      "Set a parameter by its environment variable; numbers may end in k, M or G. `weft info` "
      "shows\n"
      "the values in effect here; tools that use MPI_T see them as control variables of the same\n"
      "name. This page is written by `weft info --markdown`; a test compares them.\n\n"
      "| parameter | variable | default | unit | range | meaning |\n"
      "|---|---|---|---|---|---|\n";
  const std::regex page("weft docs ([\\w-]+)");
  for (const Json& row : info["parameters"]) {
    std::string range = row["type"] == "boolean" ? "0 or 1" : "";
    for (const Json& word : row.value("words", Json::array()))
      range += (range.empty() ? "" : ", ") + string_of(word);
    if (row.contains("range") && range.empty())
      range = row["range"][0].dump() + " to " + row["range"][1].dump();
    out += "| " + string_of(row["name"]) + " | `" + string_of(row["variable"]) + "` | " +
           string_of(row["default"]) + " | " + string_of(row["unit"]) + " | " + range + " | " +
           std::regex_replace(string_of(row["help"]), page, "[$1.md]($1.md)") + " |\n";
  }
  return out;
}

}  // namespace weft::tool
