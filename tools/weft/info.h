// SPDX-License-Identifier: Apache-2.0
//
// What `weft info` knows: the build, this machine, and every parameter with its value here.
// Collected once as JSON; the other forms are written from that.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

namespace weft::tool {

/// Everything about this installation (`prefix`: the folder that has bin/) and this machine. Warns
/// on stderr about WEFT_* variables that are unknown or unusable.
nlohmann::ordered_json collect_info(const std::filesystem::path& prefix);

/// With every byte that is no UTF-8 (a user's variable, a folder's name) replaced.
std::string json_text(const nlohmann::ordered_json& json);
/// For people: sections with aligned columns; values that the environment changed are marked.
std::string info_as_text(const nlohmann::ordered_json& info);

/// What networks there are, which one a job of several nodes would take, and why not the others.
nlohmann::ordered_json collect_networks();
std::string networks_as_text(const nlohmann::ordered_json& networks);

/// docs/params.md: the parameters and their defaults, nothing that depends on the machine.
std::string params_as_markdown(const nlohmann::ordered_json& info);

}  // namespace weft::tool
