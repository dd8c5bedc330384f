// SPDX-License-Identifier: Apache-2.0
//
// Numbers that decide stand in one list per room (limits.h) with their reasons, prices in the
// machine's profile (model/), what users set in base/params.cc. Nowhere else in the rooms that move
// data is there a size of a KiB or more, a time, or a share.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <string>

namespace weft::model {
namespace {

class Numbers : public testing::TestWithParam<const char*> {};

TEST_P(Numbers, AreInOneList) {
  namespace fs = std::filesystem;
  const fs::path room = fs::path(__FILE__).parent_path() / "../../../src" / GetParam();
  // Shifts by 10 or 20, numbers of four digits, in exponents, between 0 and 1 but 0, and times and
  // sizes with a name.
  const std::regex number(
      R"(<< (10|20)\b|\* 1024\b|\b\d{4,}\b|\d'\d|\de-\d|\b0\.\d*[1-9]|_(ns|us|bytes) = [1-9])");
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(room)) {
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
  EXPECT_GE(files, 4);
  EXPECT_TRUE(fs::exists(room / "limits.h"));
}
INSTANTIATE_TEST_SUITE_P(Rooms, Numbers,
                         testing::Values("coll", "memory", "parallel", "pt2pt", "shm", "sync"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace weft::model
