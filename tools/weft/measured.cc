// SPDX-License-Identifier: Apache-2.0
//
// What weft explain needs of other programs: bench/collectives for real times, matplotlib for a
// picture.
#include <stdlib.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <sstream>

#include "explain.h"
#include "info.h"

namespace weft::tool {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string quoted(const std::string& word) {
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Runs a shell command; its exit code and all it prints.
int run(const std::vector<std::string>& words, std::string* out) {
  std::string command;
  for (const std::string& word : words) command += quoted(word) + " ";
  std::FILE* pipe = popen((command + "2>&1 </dev/null").c_str(), "re");
  if (pipe == nullptr) return -1;
  char text[4096];
  while (const std::size_t n = std::fread(text, 1, sizeof text, pipe)) out->append(text, n);
  const int status = pclose(pipe);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/// A folder for this run.
class Scratch {
 public:
  Scratch() {
    std::error_code error;
    std::string name = (fs::temp_directory_path(error) / "weft-explain-XXXXXX").string();
    if (!error && mkdtemp(name.data()) != nullptr) path_ = name;
  }
  /// "" or a sentence.
  std::string problem() const {
    return path_.empty() ? "there is no folder for temporary files; TMPDIR names one" : "";
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Scratch(const Scratch&) = delete;
  fs::path operator/(const char* name) const { return path_ / name; }

 private:
  fs::path path_;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// What the program printed: one JSON object per size.
std::vector<Measured> rows_of(const std::string& text, const std::string& call, int ranks) {
  std::vector<Measured> rows;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const Json row = Json::parse(line, nullptr, false);
    if (!row.is_object()) continue;
    // The bench counts a block of reduce_scatter, the cost formulas the whole vector.
    const std::int64_t bytes = call == "barrier" ? 0 : row["bytes"].get<std::int64_t>();
    rows.push_back({call == "reduce_scatter" ? bytes * ranks : bytes,
                    median(row["us"].get<std::vector<double>>())});
  }
  return rows;
}

}  // namespace

std::vector<std::vector<Measured>> measure_collective(const Question& q, const std::string& call,
                                                      int ranks,
                                                      const std::vector<std::string>& ways,
                                                      const fs::path& prefix,
                                                      std::string* problem) {
  const Scratch scratch;
  if (*problem = scratch.problem(); !problem->empty()) return {};
  const std::string program = scratch / "collectives";
  const fs::path source = prefix / "share/weft/bench/collectives/main.c";
  std::string said;
  if (run({prefix / "bin/mpicc", "-O2", source, "-o", program}, &said) != 0) {
    *problem = "the measuring program cannot be compiled:\n" + said;
    return {};
  }
  std::string variable = "WEFT_COLL_" + call;
  std::transform(variable.begin(), variable.end(), variable.begin(),
                 [](unsigned char c) { return std::toupper(c); });
  // All ways take turns, so that a busy moment does not hit one of them alone.
  constexpr int rounds = 3;
  std::vector<std::map<std::int64_t, std::vector<double>>> times(ways.size());
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < ways.size(); ++i) {
      std::string text;
      if (run({"env", variable + "=" + ways[i], prefix / "bin/mpiexec", "--ranks=" + q.mode,
               "--pretend-nodes", std::to_string(q.nodes), "-n", std::to_string(ranks), program,
               "-r", call, "-b", "5", "-l", "0.05"},
              &text) != 0) {
        *problem = "the measuring program failed:\n" + text;
        return {};
      }
      const auto rows = rows_of(text, call, ranks);
      if (rows.empty()) *problem = "the measuring program printed nothing:\n" + text;
      if (rows.empty()) return {};
      for (const Measured& row : rows) times[i][row.bytes].push_back(row.us);
    }
  std::vector<std::vector<Measured>> out(ways.size());
  for (std::size_t i = 0; i < ways.size(); ++i)
    for (auto& [bytes, us] : times[i]) out[i].push_back({bytes, median(us)});
  return out;
}

std::string plot_explanation(const Json& answer, const std::string& picture,
                             const fs::path& prefix) {
  const fs::path bench = prefix / "share/weft/bench";
  const Scratch scratch;
  if (const std::string why = scratch.problem(); !why.empty()) return why;
  const fs::path data = scratch / "answer.json";
  std::ofstream(data) << json_text(answer);
  std::string where, text;
  fs::path python = "python3";
  if (run({bench / "peers", "--where"}, &where) == 0) {
    const fs::path own = fs::path(where.substr(0, where.find('\n'))) / "plot/bin/python";
    if (fs::exists(own)) python = own;
  }
  if (run({python, bench / "plot_model.py", data, picture}, &text) == 0) return "";
  if (text.find("No module named") != std::string::npos)
    return "matplotlib is missing; `make peers` or apt-get install python3-matplotlib installs it";
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);  // what Python says last is the cause
}

}  // namespace weft::tool
