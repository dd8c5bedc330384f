// SPDX-License-Identifier: Apache-2.0
//
// weft_unit [--room=NAME] [--gtest_...]: all unit tests, or those of one folder of tests/unit.
// ctest runs a room as one process: starting one for each test takes longer than the tests.
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace {

/// The last folder of the source file that a test is in.
std::string_view room_of(const testing::TestInfo& test) {
  std::string_view file = test.file();
  file.remove_suffix(file.size() - file.rfind('/'));
  return file.substr(file.rfind('/') + 1);
}

/// A filter that names each test of the room; empty if there is none.
std::string tests_of(std::string_view room) {
  const testing::UnitTest& all = *testing::UnitTest::GetInstance();
  std::string filter;
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int k = 0; k < suite.total_test_count(); ++k) {
      const testing::TestInfo& test = *suite.GetTestInfo(k);
      if (room_of(test) == room) filter += std::string(suite.name()) + "." + test.name() + ":";
    }
  }
  return filter;
}

}  // namespace

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  constexpr std::string_view option = "--room=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const std::string filter =
        word.starts_with(option) ? tests_of(word.substr(option.size())) : std::string();
    if (filter.empty()) {
      std::fprintf(stderr, "%s: expected --room= and a folder of tests/unit that has tests\n",
                   argv[i]);
      return 2;
    }
    GTEST_FLAG_SET(filter, filter);
  }
  return RUN_ALL_TESTS();
}
