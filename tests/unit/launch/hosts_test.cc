// SPDX-License-Identifier: Apache-2.0
#include "launch/hosts.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

#include "launch/allocation.h"
#include "launch/options.h"

namespace weft::launch {
namespace {

using Words = std::vector<std::string>;

/// "a:4 b:2", by slots; "a" where nobody said.
std::string text_of(const std::vector<Host>& hosts) {
  std::string out;
  for (const Host& host : hosts)
    out += (out.empty() ? "" : " ") + host.name +
           (host.slots ? ":" + std::to_string(*host.slots) : "");
  return out;
}

/// "a:4 b:2", by ranks.
std::string shares(const Words& words) {
  std::string out;
  for (const Host& host : parse(words).hosts)
    out += (out.empty() ? "" : " ") + host.name + ":" + std::to_string(host.ranks);
  return out;
}

std::string refused(const Words& words) {
  try {
    parse(words);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.exit_code, 2);
    return failure.text;
  }
  return "";
}

struct Variable {
  const char* name;
  Variable(const char* n, const std::string& value) : name(n) { setenv(n, value.c_str(), 1); }
  ~Variable() { unsetenv(name); }
};

TEST(Hosts, ShareRanks) {
  EXPECT_EQ(shares({"-n", "8", "-H", "a:4,b:4", "x"}), "a:4 b:4");
  EXPECT_EQ(shares({"-H", "a:4,b:2", "x"}), "a:4 b:2");
  EXPECT_EQ(shares({"-H", "a,b", "x"}), "a:1 b:1");
  EXPECT_EQ(shares({"-n", "5", "-H", "a,b", "x"}), "a:3 b:2");
  EXPECT_EQ(shares({"-n", "6", "-H", "a:4,b:4", "x"}), "a:4 b:2");
  EXPECT_EQ(shares({"-n", "10", "-H", "a:4,b:4", "x"}), "a:6 b:4");
  EXPECT_EQ(shares({"-n", "3", "-H", "a:4,b:4", "x"}), "a:3 b:0");
  EXPECT_EQ(shares({"-H", "a,b,a", "x"}), "a:2 b:1");
  EXPECT_EQ(shares({"-ppn", "3", "-H", "a,b:7", "x"}), "a:3 b:3");
  EXPECT_EQ(shares({"-n", "5", "-ppn", "2", "-H", "a,b,c", "x"}), "a:2 b:2 c:1");
  EXPECT_EQ(shares({"-n", "1", "-H", "a:2,b:2", "x", ":", "-n", "3", "y"}), "a:2 b:2");
  EXPECT_NE(refused({"-n", "7", "-ppn", "2", "-H", "a,b,c", "x"}).find("--ppn 2 on 3 hosts"),
            std::string::npos);
  EXPECT_NE(refused({"-H", "a", "x", ":", "-H", "b", "y"}).find("named once"), std::string::npos);
  EXPECT_NE(refused({"-H", "a,b", "--pretend-nodes", "2", "x"}).find("one machine"),
            std::string::npos);
  EXPECT_NE(refused({"-ppn", "65536", "-H", "a,b", "x"}).find("at most"), std::string::npos);
}

TEST(Hosts, SlotsOfAllAreCounted) {
  const auto slots = [](const Words& words) { return parse(words).slots; };
  EXPECT_EQ(slots({"-n", "1", "-H", "a:4,b:4", "x"}), 8);
  EXPECT_EQ(slots({"-n", "1", "-H", "localhost:4,b:4", "x"}), 8);
  EXPECT_EQ(slots({"-n", "9", "-H", "a,b,a", "x"}), 3);
  EXPECT_EQ(slots({"-n", "1", "-ppn", "3", "-H", "a,b:7", "x"}), 6);
  EXPECT_EQ(slots({"-n", "1", "-H", "localhost:5", "x"}), 5);
  EXPECT_EQ(slots({"-n", "1", "-H", "localhost", "x"}), 0);
  EXPECT_EQ(slots({"-n", "4", "x"}), 0);
}

TEST(Hosts, WithoutRanksAreLeftOut) {
  const auto left = [](const Words& words) {
    Options options = parse(words);
    EXPECT_TRUE(options.has_idle_hosts());
    options.leave_idle_hosts_out();
    EXPECT_FALSE(options.has_idle_hosts());
    return text_of(options.hosts);
  };
  EXPECT_EQ(left({"-n", "3", "-H", "a:4,b:4,c", "x"}), "a:4");
  EXPECT_EQ(left({"-n", "2", "-H", "localhost:2,b:2", "x"}), "");
  EXPECT_FALSE(parse({"-n", "5", "-H", "a:4,b:4", "x"}).has_idle_hosts());
  EXPECT_FALSE(parse({"-n", "1", "x"}).has_idle_hosts());
}

TEST(Hosts, ThisMachineIsOneAndNeedsNoAgent) {
  EXPECT_EQ(shares({"-H", "localhost:2,127.0.0.1:2", "x"}), "");
  EXPECT_EQ(shares({"-H", "localhost:2,b:2,127.0.0.1:1", "x"}), "localhost:3 b:2");
  EXPECT_EQ(shares({"-n", "2", "-H", "localhost:2,b:2", "x"}), "localhost:2 b:0");
  EXPECT_FALSE(is_this_machine("10.254.254.253"));
}

TEST(Hosts, NamesAreNoWordsOfAShell) {
  for (const char* name : {"-oProxyCommand=x", "a;b", "$(x)", "a b", "`x`", "'"})
    EXPECT_NE(refused({"-H", name, "x"}).find("names of hosts"), std::string::npos) << name;
}

TEST(Hosts, Files) {
  const std::string path = testing::TempDir() + "weft_hosts_file";
  std::ofstream(path) << "# ours\n  a slots=4 max_slots=9\n\nb:2  # MPICH\nc\n::1 slots=3\n";
  EXPECT_EQ(text_of(read_host_file("-f", path)), "a:4 b:2 c ::1:3");
  EXPECT_EQ(shares({"-f", path, "-n", "7", "x"}), "a:4 b:2 c:1 ::1:0");
}

TEST(Allocations, Slurm) {
  EXPECT_EQ(text_of(hosts_of_slurm("n1", "")), "n1");
  EXPECT_EQ(text_of(hosts_of_slurm("n[1-3]", "4(x3)")), "n1:4 n2:4 n3:4");
  EXPECT_EQ(text_of(hosts_of_slurm("n[08-10,12],login", "4(x2),2,1(x2)")),
            "n08:4 n09:4 n10:2 n12:1 login:1");
  EXPECT_EQ(text_of(hosts_of_slurm("r[1-2]n[1-2]-ib", "1(x4)")),
            "r1n1-ib:1 r1n2-ib:1 r2n1-ib:1 r2n2-ib:1");
  for (const char* names : {"n[1-", "n[]", "n[3-1]", "n[a-b]", "n]1", "n[1-99999999]",
                            "n[1-60000][1-60000]", ",", "n[1-99999999999999999999]"})
    EXPECT_THROW(hosts_of_slurm(names, ""), Failure) << names;
  for (const char* tasks : {"x", "4(3)", "4(x)", "(x3)", "4(x3", "99999999999(x2)"})
    EXPECT_THROW(hosts_of_slurm("n[1-3]", tasks), Failure) << tasks;
}

TEST(Allocations, Lsf) {
  EXPECT_EQ(text_of(hosts_of_lsf("a 4 b 2")), "a:4 b:2");
  EXPECT_THROW(hosts_of_lsf("a 4 b"), Failure);
  EXPECT_THROW(hosts_of_lsf("a b"), Failure);
}

TEST(Allocations, AreUsedWhereNoHostIsNamed) {
  const std::string path = testing::TempDir() + "weft_allocation";
  {
    const Variable names("SLURM_JOB_NODELIST", "n[1-2]"), tasks("SLURM_TASKS_PER_NODE", "2,3");
    EXPECT_EQ(shares({"x"}), "n1:2 n2:3");
    EXPECT_EQ(shares({"-n", "2", "-ppn", "1", "x"}), "n1:1 n2:1");
    EXPECT_EQ(shares({"-H", "other", "x"}), "other:1");
    EXPECT_EQ(shares({"-n", "2", "-H", "localhost", "x"}), "");
    EXPECT_EQ(parse({"-n", "1", "x"}).slots, 5);
  }
  {
    const Variable names("SLURM_JOB_NODELIST", "localhost"), tasks("SLURM_TASKS_PER_NODE", "8");
    EXPECT_EQ(shares({"x"}), "");
    EXPECT_EQ(parse({"x"}).ranks(), 1);
  }
  {
    std::ofstream(path) << "n1\nn1\nn2\n";
    const Variable file("PBS_NODEFILE", path);
    EXPECT_EQ(shares({"x"}), "n1:2 n2:1");
  }
  {
    const Variable list("LSB_MCPU_HOSTS", "n1 1 n2 1");
    EXPECT_EQ(shares({"x"}), "n1:1 n2:1");
  }
  {
    std::ofstream(path) << "n1 2 all.q@n1 UNDEFINED\nn2 1 all.q@n2 UNDEFINED\n";
    const Variable file("PE_HOSTFILE", path);
    EXPECT_EQ(shares({"x"}), "n1:2 n2:1");
  }
  const Variable file("PBS_NODEFILE", path + ".not");
  EXPECT_NE(refused({"x"}).find("PBS_NODEFILE"), std::string::npos);
}

}  // namespace
}  // namespace weft::launch
