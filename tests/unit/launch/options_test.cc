// SPDX-License-Identifier: Apache-2.0
#include "launch/options.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>

namespace weft::launch {
namespace {

using Words = std::vector<std::string>;

Failure refused(const Words& words) {
  try {
    parse(words);
  } catch (const Failure& failure) {
    return failure;
  }
  ADD_FAILURE() << "accepted";
  return {};
}

void expect_refused(const char* reason, const Words& words) {
  const Failure failure = refused(words);
  EXPECT_EQ(failure.exit_code, 2);
  EXPECT_NE(failure.text.find(reason), std::string::npos) << failure.text;
}

TEST(Options, OneProgram) {
  const Options o = parse({"-n", "4", "./app", "-n", "5", "--timeout", "x"});
  ASSERT_EQ(o.programs.size(), 1u);
  EXPECT_EQ(o.ranks(), 4);
  EXPECT_EQ(o.programs[0].argv, (Words{"./app", "-n", "5", "--timeout", "x"}));
  EXPECT_EQ(o.mode, RankMode::process);
  EXPECT_EQ(o.bind, Bind::slice);
}

TEST(Options, CountInAllForms) {
  for (const Words& words :
       {Words{"-np", "3", "a"}, Words{"--np", "3", "a"}, Words{"-n3", "a"}, Words{"--n", "3", "a"},
        Words{"--np=3", "a"}, Words{"-np=3", "a"}, Words{"-c", "3", "a"}, Words{"-ppn", "3", "a"}})
    EXPECT_EQ(parse(words).ranks(), 3) << words[0];
  EXPECT_EQ(parse({"a"}).ranks(), 1);
  EXPECT_EQ(parse({"-n", "2", "-ppn", "8", "a"}).ranks(), 2);
  EXPECT_EQ(parse({"-n", "2", "-n", "5", "a"}).ranks(), 5);
}

TEST(Options, SeveralPrograms) {
  const Options o = parse({"-n", "1", "-l", "./a", "x", ":", "-n", "3", "-wdir", "/tmp", "./b"});
  ASSERT_EQ(o.programs.size(), 2u);
  EXPECT_EQ(o.ranks(), 4);
  EXPECT_TRUE(o.tag_output);
  EXPECT_EQ(o.programs[0].argv, (Words{"./a", "x"}));
  EXPECT_EQ(o.programs[0].directory, "");
  EXPECT_EQ(o.programs[1].directory, "/tmp");
}

TEST(Options, Variables) {
  setenv("WEFT_TEST_OWN", "own", 1);
  const Options o = parse({"-genv", "G", "1", "-env", "E", "-5", "-x", "A=b=c", "-x",
                           "WEFT_TEST_OWN", "-xB=2", "a", ":", "-x", "WEFT_TEST_NOT_THERE", "b"});
  unsetenv("WEFT_TEST_OWN");
  EXPECT_EQ(o.env, (Variables{{"G", "1"}}));
  EXPECT_EQ(o.programs[0].env,
            (Variables{{"A", "b=c"}, {"WEFT_TEST_OWN", "own"}, {"B", "2"}, {"E", "-5"}}));
  EXPECT_TRUE(o.programs[1].env.empty());
}

TEST(Options, ModesAndSizes) {
  const Options o = parse({"--ranks=thread", "--bind", "none", "--timeout", "1.5", "--stack", "64M",
                           "-v", "--debug", "a"});
  EXPECT_EQ(o.mode, RankMode::thread);
  EXPECT_EQ(o.bind, Bind::none);
  EXPECT_DOUBLE_EQ(o.timeout_s, 1.5);
  EXPECT_EQ(o.stack_bytes, std::size_t{64} << 20);
  EXPECT_TRUE(o.verbose);
  EXPECT_TRUE(o.debug);
  EXPECT_EQ(parse({"--ranks", "auto", "a"}).mode, RankMode::automatic);
  EXPECT_EQ(parse({"--stack", "4096", "a"}).stack_bytes, 4096u);
}

TEST(Options, OfOtherLaunchers) {
  const Options o =
      parse({"--oversubscribe", "--allow-run-as-root", "-map-by", "core", "--mca", "btl", "self,sm",
             "-bind-to", "none", "-host", "localhost,127.0.0.1:4", "-genvall", "-np", "2", "a"});
  EXPECT_EQ(o.ranks(), 2);
  EXPECT_EQ(o.bind, Bind::none);
  EXPECT_FALSE(o.ignored.empty());
  EXPECT_EQ(parse({"--bind-to", "core", "a"}).bind, Bind::core);
  EXPECT_EQ(parse({"--bind-to", "socket", "a"}).bind, Bind::slice);
}

TEST(Options, OtherHostsAreRefused) {
  expect_refused("\"node17\" is another one", {"-host", "localhost,node17", "a"});
  const std::string path = testing::TempDir() + "weft_hosts";
  std::ofstream(path) << "# ours\nlocalhost slots=4\n";
  EXPECT_EQ(parse({"-f", path, "-n", "2", "a"}).ranks(), 2);
  std::ofstream(path) << "localhost:4\nfar.example.org slots=2\n";
  expect_refused("far.example.org", {"--hostfile", path, "a"});
  expect_refused("cannot read", {"-machinefile", path + ".not", "a"});
}

TEST(Options, MistakesAreNamed) {
  expect_refused("did you mean --timeout?", {"--timeuot", "3", "a"});
  expect_refused("did you mean --tag-output?", {"-tag-ouput", "a"});
  expect_refused("no option -q", {"-q", "a"});
  expect_refused("given \"0\"", {"-n", "0", "a"});
  expect_refused("given \"-2\"", {"-n", "-2", "a"});
  expect_refused("given \"four\"", {"-n", "four", "a"});
  expect_refused("given \"99999999999\"", {"-n", "99999999999", "a"});
  expect_refused("did you mean thread?", {"--ranks=threads", "a"});
  expect_refused("process, thread, auto", {"--ranks=fibres", "a"});
  expect_refused("number of seconds", {"--timeout", "-1", "a"});
  expect_refused("512K", {"--stack", "big", "a"});
  expect_refused("needs a value", {"-n"});
  expect_refused("needs two values", {"-env", "A"});
  expect_refused("takes no value", {"--verbose=3", "a"});
  expect_refused("NAME=VALUE", {"-x", "=3", "a"});
  expect_refused("no program", {"-n", "3"});
  expect_refused("no program", {"-n", "3", "a", ":", "-n", "2"});
  expect_refused("no program", {});
}

TEST(Options, HelpAndVersion) {
  const Failure help = refused({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* part : {"--ranks", "--timeout", "Examples:", "Exit code"})
    EXPECT_NE(help.text.find(part), std::string::npos) << part;
  for (const char* word : {"--version", "-V", "-version"}) {
    const Failure version = refused({word});
    EXPECT_EQ(version.exit_code, 0);
    EXPECT_NE(version.text.find("weft"), std::string::npos);
  }
}

}  // namespace
}  // namespace weft::launch
