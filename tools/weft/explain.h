// SPDX-License-Identifier: Apache-2.0
//
// weft explain: every way in which a collective could go on a machine, what the model says it costs
// and why, which one weft takes, and where that changes over size. Collected once as JSON; text and
// plot are written from that.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "coll/candidates.h"

namespace weft::tool {

struct Question {
  std::string collective;
  std::string bytes = "1k";
  int ranks = 0;  // 0: one per core
  int nodes = 1;  // that they are spread over
  int cpus = 0;   // that they share; 0: all of the machine
  std::string mode = "process";
  std::string topology;  // hwloc's synthetic form; empty: this machine
  bool measure = false;
  bool json = false;
  std::string plot;  // path of a picture; empty: none
};

/// Answers on stdout; the exit code. `prefix` has bin/ and share/.
int explain(const Question& question, const std::filesystem::path& prefix);

/// For people.
std::string explanation_as_text(const nlohmann::ordered_json& answer);

/// One measured size.
struct Measured {
  std::int64_t bytes;  // as the cost formulas count them
  double us;
};
/// Runs bench/collectives here with mpiexec, on so many (pretended) nodes, once for each of `ways`;
/// a row of sizes for each. Empty with a sentence in `problem` if it cannot.
std::vector<std::vector<Measured>> measure_collective(const Question& question,
                                                      const std::string& call, int ranks,
                                                      const std::vector<std::string>& ways,
                                                      const std::filesystem::path& prefix,
                                                      std::string* problem);

/// Draws the answer with matplotlib; "" or a sentence why not.
std::string plot_explanation(const nlohmann::ordered_json& answer, const std::string& picture,
                             const std::filesystem::path& prefix);

}  // namespace weft::tool
