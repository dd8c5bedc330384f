// SPDX-License-Identifier: Apache-2.0
//
// Numbers that decide stand in coll/limits.h, prices in model/: nowhere else in src/coll is there a
// size of a KiB or more, a time, or a share.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

namespace weft::coll {
namespace {

TEST(Limits, AreInOneList) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(__FILE__).parent_path() / "../../../src/coll";
  // Shifts by 10 or 20, numbers of four digits, in exponents, and between 0 and 1 but 0.
  const std::regex number(R"(<< (10|20)\b|\b\d{4,}\b|\de-\d|\b0\.\d*[1-9])");
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    const std::string name = entry.path().filename();
    if (name == "limits.h" ||
        (entry.path().extension() != ".cc" && entry.path().extension() != ".h"))
      continue;
    ++files;
    std::ifstream file(entry.path());
    std::string line;
    for (int i = 1; std::getline(file, line); ++i) {
      const std::string code = line.substr(0, line.find("//"));
      EXPECT_FALSE(std::regex_search(code, number)) << name << ":" << i << ": " << line;
    }
  }
  EXPECT_GT(files, 50);
}

}  // namespace
}  // namespace weft::coll
