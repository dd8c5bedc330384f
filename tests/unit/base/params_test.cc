// SPDX-License-Identifier: Apache-2.0
// The parameter table: every row is usable, the environment is read and bad values are refused.
#include "base/params.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

namespace weft {
namespace {

/// Sets one environment variable for the length of a test.
class Env {
 public:
  Env(const char* name, const char* value) : name_(name) { setenv(name, value, 1); }
  ~Env() { unsetenv(name_); }

 private:
  const char* name_;
};

TEST(Params, EveryRowIsCompleteAndInOrder) {
  int at = 0;
  std::set<std::string> names;
  for (const ParamDef& def : param_table()) {
    EXPECT_EQ(static_cast<int>(def.id), at++) << def.name;
    EXPECT_TRUE(names.insert(def.name).second) << def.name << " twice";
    EXPECT_GT(std::string(def.help).size(), 10u) << def.name;
    if (def.type == ParamType::text) continue;
    const long long fallback = std::atoll(def.fallback);
    EXPECT_GE(fallback, def.min) << def.name;
    EXPECT_LE(fallback, def.max) << def.name;
  }
}

TEST(Params, EnvironmentNames) {
  const auto name = [](P id) { return param_env_name(param_table()[static_cast<int>(id)]); };
  EXPECT_EQ(name(P::sync_spin_us), "WEFT_SYNC_SPIN_US");
  EXPECT_EQ(name(P::trace), "WEFT_TRACE");
}

TEST(Params, DefaultsWithoutEnvironment) {
  const Params params = Params::from_env(false);
  EXPECT_TRUE(params.boolean(P::abi_check));
  EXPECT_EQ(params.integer(P::sync_spin_us), -1);
  EXPECT_EQ(params.text(P::trace), "");
}

TEST(Params, EnvironmentOverridesWithUnits) {
  Env a("WEFT_PT2PT_EAGER_MAX", "16k");
  Env b("WEFT_TRACE", "out.json");
  const Params params = Params::from_env(false);
  EXPECT_EQ(params.integer(P::pt2pt_eager_max), 16384);
  EXPECT_EQ(params.text(P::trace), "out.json");
}

TEST(Params, UnusableValueKeepsDefaultAndComplains) {
  const std::int64_t fallback = Params::from_env(false).integer(P::shm_ring_cells);
  for (const char* bad : {"many", "12x", "-5", "99999999999", ""}) {
    Env e("WEFT_SHM_RING_CELLS", bad);
    testing::internal::CaptureStderr();
    const Params params = Params::from_env(true);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(params.integer(P::shm_ring_cells), fallback) << bad;
    EXPECT_NE(said.find("WEFT_SHM_RING_CELLS"), std::string::npos) << said;
  }
}

TEST(Params, UnknownVariableNamesTheNearest) {
  Env e("WEFT_SYNC_SPIN", "3");
  testing::internal::CaptureStderr();
  (void)Params::from_env(true);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("WEFT_SYNC_SPIN is ignored"), std::string::npos) << said;
  EXPECT_NE(said.find("did you mean WEFT_SYNC_SPIN_US"), std::string::npos) << said;
}

TEST(Params, NearestName) {
  const char* const names[] = {"allreduce", "alltoall", "barrier"};
  EXPECT_STREQ(nearest_name("alreduce", names), "allreduce");
  EXPECT_EQ(nearest_name("xyzzy", names), nullptr);
}

}  // namespace
}  // namespace weft
