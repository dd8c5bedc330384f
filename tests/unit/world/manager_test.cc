// SPDX-License-Identifier: Apache-2.0
#include "world/manager.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <vector>

namespace weft::world {
namespace {

std::string said(const std::vector<std::pair<const char*, const char*>>& variables) {
  for (const auto& [name, value] : variables) setenv(name, value, 1);
  const std::string text = unjoined_manager();
  for (const auto& [name, value] : variables) unsetenv(name);
  return text;
}

TEST(Manager, TheFirstTaskSaysThatItIsAlone) {
  const std::string slurm = said({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "8"}});
  EXPECT_NE(slurm.find("8 times by srun"), std::string::npos) << slurm;
  EXPECT_NE(slurm.find("--mpi=pmi2"), std::string::npos) << slurm;
  const std::string pmix = said({{"PMIX_RANK", "0"}, {"PMIX_NAMESPACE", "x"}});
  EXPECT_NE(pmix.find("as one of the tasks of a launcher with PMIx"), std::string::npos) << pmix;
  EXPECT_NE(said({{"PMIX_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "3"}}).find("3 times"),
            std::string::npos);
  EXPECT_NE(said({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}), "");
}

TEST(Manager, OthersAndLoneTasksAreSilent) {
  EXPECT_EQ(said({}), "");
  EXPECT_EQ(said({{"SLURM_PROCID", "3"}, {"SLURM_STEP_NUM_TASKS", "8"}}), "");
  EXPECT_EQ(said({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}), "");
  EXPECT_EQ(said({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "8"}}), "") << "a batch script";
  EXPECT_EQ(said({{"PMIX_RANK", "1"}}), "");
  EXPECT_EQ(said({{"PMIX_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "1"}}), "");
  EXPECT_EQ(said({{"PMIX_RANK", "0"}, {"WEFT_RANK", "1"}}), "") << "a rank started it";
}

}  // namespace
}  // namespace weft::world
