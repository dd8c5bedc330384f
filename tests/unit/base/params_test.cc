// SPDX-License-Identifier: Apache-2.0
#include "base/params.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

namespace weft {
namespace {

TEST(Params, table_is_in_the_order_of_the_enum_and_complete) {
  int i = 0;
  std::set<std::string> names;
  for (const ParamDef& def : param_table()) {
    EXPECT_EQ(static_cast<int>(def.id), i++);
    EXPECT_TRUE(names.insert(def.name).second) << def.name;
    EXPECT_GT(std::string(def.help).size(), 20u) << def.name;
  }
  EXPECT_EQ(i, static_cast<int>(P::count_));
}

TEST(Params, reads_numbers_with_suffixes_and_refuses_nonsense) {
  setenv("WEFT_PT2PT_EAGER_MAX", "16k", 1);
  EXPECT_EQ(Params::from_env(false).integer(P::pt2pt_eager_max), 16384);
  for (const char* bad : {"lots", "-5", "16kk", ""}) {
    setenv("WEFT_PT2PT_EAGER_MAX", bad, 1);
    testing::internal::CaptureStderr();
    const Params params = Params::from_env(true);
    EXPECT_NE(testing::internal::GetCapturedStderr().find("WEFT_PT2PT_EAGER_MAX"),
              std::string::npos);
    unsetenv("WEFT_PT2PT_EAGER_MAX");
    EXPECT_EQ(params.integer(P::pt2pt_eager_max),
              Params::from_env(false).integer(P::pt2pt_eager_max));
  }
}

TEST(Params, names_the_nearest_variable) {
  setenv("WEFT_PT2PT_EAGERMAX", "1", 1);
  testing::internal::CaptureStderr();
  (void)Params::from_env(true);
  unsetenv("WEFT_PT2PT_EAGERMAX");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("did you mean WEFT_PT2PT_EAGER_MAX"),
            std::string::npos);
  const char* const names[] = {"--ranks", "--timeout"};
  EXPECT_STREQ(nearest_name("--rank", names), "--ranks");
  EXPECT_EQ(nearest_name("--completely-else", names), nullptr);
}

}  // namespace
}  // namespace weft
