// SPDX-License-Identifier: Apache-2.0
#include "launch/plan.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "launch/rank_files.h"
#include "launch/rank_variables.h"

namespace weft::launch {
namespace {

Failure not_found(const std::vector<std::string>& words) {
  try {
    find_programs(parse(words));
  } catch (const Failure& failure) {
    return failure;
  }
  ADD_FAILURE() << "found";
  return {};
}

Plan plan_of(const std::vector<std::string>& words) {
  const Options options = parse(words);
  Result<memory::Job*> made = memory::Job::create(options.ranks(), 2, Params::from_env(false));
  EXPECT_TRUE(made);
  const std::unique_ptr<memory::Job> job(made.value);
  return make_plan(options, find_programs(options), *job, "");
}

std::string variable(const Process& process, const char* name) {
  const char* value = process.env.get(name);
  return value != nullptr ? value : "(unset)";
}

TEST(Plan, FindsPrograms) {
  EXPECT_EQ(find_programs(parse({"/bin/sh"}))[0].path, "/bin/sh");
  const std::string path = find_programs(parse({"sh"}))[0].path;
  EXPECT_TRUE(path[0] == '/' && std::filesystem::path(path).filename() == "sh") << path;
  EXPECT_EQ(find_programs(parse({"-wdir", "/bin", "./sh"}))[0].path, "/bin/sh");
  EXPECT_EQ(find_programs(parse({"-x", "PATH=/nowhere:/bin", "sh"}))[0].path, "/bin/sh");
}

TEST(Plan, SaysWhyAProgramCannotRun) {
  const std::string here = testing::TempDir() + "weft_not_executable";
  std::ofstream(here) << "data";
  chmod(here.c_str(), 0644);
  EXPECT_EQ(not_found({"weft-no-such-program"}).exit_code, 127);
  EXPECT_EQ(not_found({"./weft-no-such-program"}).exit_code, 127);
  EXPECT_EQ(not_found({here}).exit_code, 126);
  EXPECT_NE(not_found({here}).text.find("chmod +x"), std::string::npos);
  EXPECT_EQ(not_found({"/tmp"}).exit_code, 126);
  EXPECT_NE(not_found({"-wdir", "/no/such/place", "sh"}).text.find("/no/such/place"),
            std::string::npos);
  chmod(here.c_str(), 0755);
  const Failure hint = not_found({"-wdir", testing::TempDir(), "weft_not_executable"});
  EXPECT_EQ(hint.exit_code, 127);
  EXPECT_NE(hint.text.find("did you mean ./weft_not_executable?"), std::string::npos) << hint.text;
}

TEST(Plan, RanksKnowTheirPlace) {
  const Plan plan = plan_of(
      {"-n", "2", "-genv", "A", "1", "sh", "x", ":", "-n", "1", "-x", "A=2", "-wdir", "/", "true"});
  ASSERT_EQ(plan.processes.size(), 3u);
  for (int r = 0; r < 3; ++r) {
    const Process& p = plan.processes[static_cast<std::size_t>(r)];
    EXPECT_EQ(p.first, r);
    EXPECT_EQ(p.count, 1);
    const std::string place = variable(p, "WEFT_JOB");
    EXPECT_EQ(place.substr(place.find(',')), "," + std::to_string(r) + ",1");
    for (const char* name : rank_variables) EXPECT_EQ(variable(p, name), std::to_string(r)) << name;
    for (const char* name : size_variables) EXPECT_EQ(variable(p, name), "3") << name;
    EXPECT_EQ(variable(p, "A"), r < 2 ? "1" : "2");
  }
  EXPECT_EQ(plan.processes[0].argv, (std::vector<std::string>{"sh", "x"}));
  EXPECT_EQ(plan.processes[2].directory, "/");
}

TEST(Plan, RanksGetCpusAndOpenmpFits) {
  unsetenv("OMP_NUM_THREADS");
  unsetenv("OMP_PLACES");
  Plan plan = plan_of({"-n", "64", "true"});
  EXPECT_FALSE(plan.processes[63].cpus.empty());
  EXPECT_NE(variable(plan.processes[63], "OMP_PLACES"), "(unset)");
  EXPECT_NE(variable(plan.processes[63], "OMP_NUM_THREADS"), "(unset)");
  plan = plan_of({"-n", "64", "-x", "OMP_NUM_THREADS=3", "--bind", "none", "true"});
  EXPECT_TRUE(plan.processes[63].cpus.empty());
  EXPECT_EQ(variable(plan.processes[63], "OMP_PLACES"), "(unset)");
  EXPECT_EQ(variable(plan.processes[63], "OMP_NUM_THREADS"), "3");
  plan = plan_of({"-n", "2", "-x", "OMP_PROC_BIND=false", "true"});
  EXPECT_EQ(variable(plan.processes[0], "OMP_PLACES"), "(unset)");
}

TEST(Plan, RanksArePlacedOnADeclaredMachineAndNotBound) {
  setenv("HWLOC_SYNTHETIC", "pack:2 core:4 pu:1", 1);
  const Options options = parse({"-n", "4", "-v", "true"});
  Result<memory::Job*> made = memory::Job::create(4, 2, Params::from_env(false));
  ASSERT_TRUE(made);
  const std::unique_ptr<memory::Job> job(made.value);
  const Plan plan = make_plan(options, find_programs(options), *job, "");
  unsetenv("HWLOC_SYNTHETIC");
  EXPECT_TRUE(plan.processes[3].cpus.empty());
  EXPECT_NE(plan.map.find("declared machine"), std::string::npos) << plan.map;
  EXPECT_NE(plan.map.find("Package 2, Core 8, PU 8; CPUs by rank: 0:{0,1}"), std::string::npos)
      << plan.map;
  const topo::Hierarchy hierarchy = job->hierarchy();
  const int package = hierarchy.level_named("Package");
  for (int r = 0; r < 4; ++r) EXPECT_EQ(hierarchy.group_of(package, r), r / 2);
}

TEST(Plan, ProgressThreadsAreShownWithTheirSeats) {
  setenv("HWLOC_SYNTHETIC", "pack:2 core:2 pu:2", 1);
  setenv("WEFT_PROGRESS", "auto", 1);
  const auto map = [](const char* ranks) {
    const Options options = parse({"-n", ranks, "-v", "true"});
    Result<memory::Job*> made =
        memory::Job::create(options.ranks(), 2, Params::from_env(false), options.node_of());
    const std::unique_ptr<memory::Job> job(made.value);
    return make_plan(options, find_programs(options), *job, "").map;
  };
  EXPECT_NE(map("2").find("0: CPUs 2,3, dedicated-core, an idle core in the same last-level cache"),
            std::string::npos)
      << map("2");
  EXPECT_NE(map("4").find("0-3: none, no core is idle"), std::string::npos) << map("4");
  setenv("WEFT_PROGRESS", "off", 1);
  EXPECT_EQ(map("4").find("progress"), std::string::npos);
  setenv("WEFT_PROGRESS_PLACEMENT", "beside", 1);
  EXPECT_THROW(map("4"), Failure);
  for (const char* name : {"HWLOC_SYNTHETIC", "WEFT_PROGRESS", "WEFT_PROGRESS_PLACEMENT"})
    unsetenv(name);
}

TEST(Plan, RanksInheritWhatIsAskedFor) {
  setenv("WEFT_TEST_A", "1", 1);
  setenv("WEFT_TEST_AB", "2", 1);
  const auto inherited = [](std::vector<std::string> words) {
    words.push_back("/bin/true");
    const Plan plan = plan_of(words);
    return variable(plan.processes[0], "WEFT_TEST_A") + variable(plan.processes[0], "WEFT_TEST_AB");
  };
  EXPECT_EQ(inherited({}), "12");
  EXPECT_EQ(inherited({"-genvlist", "WEFT_TEST_A"}), "1(unset)");
  EXPECT_EQ(inherited({"-genvlist", "WEFT_TEST_A*"}), "12");
  EXPECT_EQ(inherited({"-genvnone"}), "(unset)(unset)");
  EXPECT_EQ(inherited({"-genvnone", "-envlist", "WEFT_TEST_AB"}), "(unset)2");
  EXPECT_EQ(inherited({"-envnone", "-x", "WEFT_TEST_A"}), "1(unset)");
  unsetenv("WEFT_TEST_A");
  unsetenv("WEFT_TEST_AB");
}

TEST(RankFiles, NamesByPattern) {
  EXPECT_EQ(file_of_rank("a-%r.%%", 12), "a-12.%");
  EXPECT_EQ(file_of_rank("%g%p%r", 3), "003");
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  EXPECT_EQ(file_of_rank("%h/%r", 0), std::string(host) + "/0");
}

TEST(RankFiles, FoldersAreMade) {
  const std::string folder = testing::TempDir() + "weft_rank_files";
  std::filesystem::remove_all(folder);
  const int fd = open_file_of_rank(folder + "/x/%r", 7);
  EXPECT_GE(fd, 0);
  close(fd);
  EXPECT_TRUE(std::filesystem::exists(folder + "/x/7"));
  EXPECT_EQ(open_file_of_rank(folder + "/x/7/%r", 0), -1);
  EXPECT_EQ(errno, ENOTDIR);
  std::filesystem::remove_all(folder);
}

TEST(Plan, ForeignJobsAreForgotten) {
  setenv("PMI_RANK", "3", 1);
  setenv("WEFT_JOB", "9,9,9", 1);
  const Plan plan = plan_of({"true"});
  unsetenv("PMI_RANK");
  unsetenv("WEFT_JOB");
  EXPECT_EQ(variable(plan.processes[0], "PMI_RANK"), "(unset)");
  EXPECT_NE(variable(plan.processes[0], "WEFT_JOB"), "9,9,9");
}

TEST(Environment, SetsReplacesAndRemoves) {
  Environment env;
  env.set("A", "1");
  env.set("AB", "2");
  env.set("A", "3=4");
  EXPECT_STREQ(env.get("A"), "3=4");
  EXPECT_STREQ(env.get("AB"), "2");
  EXPECT_EQ(env.get("B"), nullptr);
  EXPECT_EQ(env.block().size(), 3u);
  env.unset("A");
  EXPECT_EQ(env.get("A"), nullptr);
  EXPECT_STREQ(env.block()[0], "AB=2");
  EXPECT_EQ(env.block().back(), nullptr);
}

}  // namespace
}  // namespace weft::launch
