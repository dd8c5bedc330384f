// SPDX-License-Identifier: Apache-2.0
#include "launch/options.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <fstream>

#include "launch/option_table.h"

namespace weft::launch {
namespace {

using Words = std::vector<std::string>;
using topo::Unit;

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
  EXPECT_TRUE(o.bind);
  EXPECT_EQ(o.place.bind, Unit::slice);
}

TEST(Options, PretendedNodes) {
  EXPECT_TRUE(parse({"-n", "4", "a"}).node_of().empty());
  EXPECT_EQ(parse({"-n", "5", "--pretend-nodes", "2", "a"}).node_of(),
            (std::vector<std::int32_t>{0, 0, 0, 1, 1}));
  expect_refused("wants as many ranks", {"-n", "2", "--pretend-nodes", "3", "a"});
  expect_refused("a number of nodes", {"-n", "2", "--pretend-nodes", "0", "a"});
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
            (Variables{{"E", "-5"}, {"A", "b=c"}, {"WEFT_TEST_OWN", "own"}, {"B", "2"}}));
  EXPECT_TRUE(o.programs[1].env.empty());
  ASSERT_EQ(o.notes.size(), 1u);
  EXPECT_NE(o.notes[0].find("WEFT_TEST_NOT_THERE"), std::string::npos);
}

TEST(Options, ModesAndSizes) {
  const Options o = parse({"--ranks=thread", "--bind", "none", "--timeout", "1.5", "--stack", "64M",
                           "-v", "--debug", "a"});
  EXPECT_EQ(o.mode, RankMode::thread);
  EXPECT_FALSE(o.bind);
  EXPECT_DOUBLE_EQ(o.timeout_s, 1.5);
  EXPECT_EQ(o.stack_bytes, std::size_t{64} << 20);
  EXPECT_TRUE(o.verbose);
  EXPECT_TRUE(o.debug);
  EXPECT_EQ(parse({"--ranks", "auto", "a"}).mode, RankMode::automatic);
  EXPECT_EQ(parse({"--stack", "65536", "a"}).stack_bytes, 65536u);
  EXPECT_EQ(parse({"--stack", "1.5M", "a"}).stack_bytes, std::size_t{3} << 19);
}

TEST(Options, OfOtherLaunchers) {
  const Options o =
      parse({"--oversubscribe", "--allow-run-as-root", "-map-by", "core", "--mca", "btl", "self,sm",
             "-bind-to", "none", "-host", "localhost,127.0.0.1:4", "-genvall", "-np", "2", "a"});
  EXPECT_EQ(o.ranks(), 2);
  EXPECT_FALSE(o.bind);
  ASSERT_EQ(o.notes.size(), 1u);  // what has no effect is said
  EXPECT_NE(o.notes[0].find("--mca \"btl\""), std::string::npos) << o.notes[0];
}

topo::Placement placed(Words words) {
  words.push_back("a");
  const Options o = parse(words);
  EXPECT_TRUE(o.bind);
  return o.place;
}

TEST(Options, Placement) {
  EXPECT_EQ(placed({"--bind-to", "core"}).bind, Unit::core);
  EXPECT_EQ(placed({"-bind", "slice"}).bind, Unit::slice);
  EXPECT_EQ(placed({"-bind-to", "socket"}).bind, Unit::package);
  EXPECT_EQ(placed({"--bind-to", "L3CACHE"}).bind, Unit::l3cache);
  EXPECT_EQ(placed({"--bind-to", "core:overload-allowed"}).bind, Unit::core);
  EXPECT_EQ(placed({"-bind-to", "core:2"}).width, 2);
  EXPECT_EQ(placed({"--map-by", "numa"}).map, Unit::numa);
  EXPECT_EQ(placed({"--map-by", "slot"}).map, Unit::core);
  EXPECT_EQ(placed({"--map-by", "node"}).map, Unit::core);
  EXPECT_EQ(placed({"--map-by", ":OVERSUBSCRIBE"}).map, Unit::slice);
  EXPECT_EQ(placed({"--use-hwthread-cpus"}).map, Unit::hwthread);
  EXPECT_TRUE(placed({"--map-by", "package", "--rank-by", "fill"}).fill);
  EXPECT_FALSE(placed({"--map-by", "package", "--rank-by", "span"}).fill);
  const topo::Placement wide = placed({"--map-by", "package:PE=4"});
  EXPECT_EQ(wide.map, Unit::package);
  EXPECT_EQ(wide.bind, Unit::core);
  EXPECT_EQ(wide.width, 4);
  EXPECT_EQ(placed({"--cpus-per-task=3"}).width, 3);
  EXPECT_EQ(parse({"--map-by", "ppr:3:node", "a"}).ranks(), 3);
  EXPECT_FALSE(parse({"--bind-to", "none", "a"}).bind);
}

TEST(Options, PlacementThatIsNotKnownIsRefused) {
  expect_refused("one of slice, none, hwthread, core", {"--bind-to", "foo", "a"});
  expect_refused("did you mean core?", {"--bind-to", "cores", "a"});
  expect_refused("did you mean package?", {"--map-by", "packages", "a"});
  expect_refused("taskset", {"-bind-to", "user:0,1", "a"});
  expect_refused("--map-by package", {"--map-by", "ppr:2:package", "a"});
  expect_refused("slices", {"--map-by", "seq", "a"});
  expect_refused("PE=n", {"--map-by", "core:NOLOCAL", "a"});
  expect_refused("given \"0\"", {"--map-by", "core:PE=0", "a"});
  expect_refused("given \"x\"", {"--map-by", "core:PE=x", "a"});
  expect_refused("a number (core:2)", {"--bind-to", "core:two", "a"});
  expect_refused("one of slot, fill", {"--rank-by", "foo", "a"});
}

TEST(Options, WhichVariablesAreInherited) {
  const Options o = parse({"-genvnone", "-envlist", "A,B*", "-n", "1", "a", ":", "b"});
  EXPECT_FALSE(o.inherit.all);
  EXPECT_TRUE(o.inherit.names.empty());
  ASSERT_TRUE(o.programs[0].inherit.has_value());
  EXPECT_EQ(o.programs[0].inherit->names, (Words{"A", "B*"}));
  EXPECT_FALSE(o.programs[1].inherit.has_value());
  EXPECT_FALSE(parse({"-envnone", "a"}).programs[0].inherit->all);
  EXPECT_EQ(parse({"-genvlist", "A", "a"}).inherit.names, (Words{"A"}));
  EXPECT_TRUE(parse({"-genvnone", "-genvall", "a"}).inherit.all);
  expect_refused("a list like A,B", {"-envlist", "A,,B", "a"});
  expect_refused("a list like A,B", {"-genvlist", ",", "a"});
}

TEST(Options, OutputAndInput) {
  Options o = parse({"-outfile-pattern", "o-%r", "-errfile-pattern=e-%r-%h", "a"});
  EXPECT_EQ(o.out_files, "o-%r");
  EXPECT_EQ(o.err_files, "e-%r-%h");
  o = parse({"--output-filename", "100%/x:nocopy", "--merge-stderr-to-stdout", "a"});
  EXPECT_EQ(o.out_files, "100%%/x.%r.out");
  EXPECT_EQ(o.err_files, "100%%/x.%r.err");
  EXPECT_TRUE(o.merge_output);
  o = parse({"--output", "TAG,merge,dir=d", "--display", "map,bindings", "a"});
  EXPECT_TRUE(o.tag_output && o.merge_output && o.verbose && o.report_bindings);
  EXPECT_EQ(o.out_files, "d/rank.%r/stdout");
  EXPECT_EQ(parse({"-n", "4", "-stdin", "3", "a"}).input.rank, 3);
  EXPECT_EQ(parse({"-s", "none", "a"}).input.rank, Reader::nobody);
  EXPECT_EQ(parse({"--stdin=all", "a"}).input.rank, Reader::everybody);
  expect_refused("names no rank of a job of 4", {"-n", "4", "-stdin", "4", "a"});
  expect_refused("given \"1,2\"", {"-stdin", "1,2", "a"});
  expect_refused("mpiexec ... > FILE", {"-outfile-pattern", "out", "a"});
  expect_refused("%r (rank)", {"-outfile-pattern", "%r%q", "a"});
  expect_refused("%r (rank)", {"-errfile-pattern", "%r%", "a"});
  expect_refused("nocopy", {"--output-filename", "x:raw", "a"});
  expect_refused("a file name", {"--output-filename", "x/", "a"});
  expect_refused("tag, merge", {"--output", "timestamp", "a"});
  expect_refused("weft info", {"--display", "topo", "a"});
}

TEST(Options, TimeoutOfTheEnvironment) {
  setenv("MPIEXEC_TIMEOUT", "7", 1);
  EXPECT_DOUBLE_EQ(parse({"a"}).timeout_s, 7);
  EXPECT_DOUBLE_EQ(parse({"--timeout", "3", "a"}).timeout_s, 3);
  for (const char* none : {"-1", "0", ""}) {
    setenv("MPIEXEC_TIMEOUT", none, 1);
    EXPECT_DOUBLE_EQ(parse({"a"}).timeout_s, 0) << none;
  }
  setenv("MPIEXEC_TIMEOUT", "soon", 1);
  expect_refused("the variable MPIEXEC_TIMEOUT expects", {"a"});
  unsetenv("MPIEXEC_TIMEOUT");
}

std::string file_of(const std::string& text) {
  const std::string path = testing::TempDir() + "weft_config";
  std::ofstream(path) << text;
  return path;
}

TEST(Options, ConfigFile) {
  const std::string path = file_of(
      "# two programs\n"
      "-n 1 ./a \"b c\" 'd e'\\f\n\n"
      "-n 2 -env X \\\n  y ./b \\# # comment\n");
  for (const char* option : {"-configfile", "--configfile", "--app"}) {
    const Options o = parse({"-l", "-wdir", "/tmp", option, path});
    ASSERT_EQ(o.programs.size(), 2u);
    EXPECT_TRUE(o.tag_output);
    EXPECT_EQ(o.programs[0].argv, (Words{"./a", "b c", "d ef"}));
    EXPECT_EQ(o.programs[0].directory, "/tmp");
    EXPECT_EQ(o.programs[1].ranks, 2);
    EXPECT_EQ(o.programs[1].argv, (Words{"./b", "#"}));
    EXPECT_EQ(o.programs[1].env, (Variables{{"X", "y"}}));
  }
  EXPECT_EQ(parse({"-n", "1", "x", ":", "-configfile", path}).programs.size(), 3u);
  expect_refused("\"./c\" stands behind -configfile", {"-configfile", path, "./c"});
  expect_refused("cannot read the file", {"-configfile", path + ".not"});
  expect_refused("line 2", {"-configfile", file_of("-n 1 a\n-n 1 'b\n")});
  expect_refused("names no program", {"-configfile", file_of("# nothing\n")});
  expect_refused("cannot read another one", {"-configfile", file_of("-configfile x\n")});
  expect_refused("no program", {"-configfile", file_of("-n 2\n")});
}

// Every value of every option: none may end in anything but Options or a sentence.
TEST(Options, BadValuesAreRefusedByName) {
  const Words bad = {"",      "-1",  "-",        "99999999999999999999",
                     "1e999", "nan", "0x10",     "4x",
                     " 4",    "4 ",  ",",        ":",
                     "=",     "%",   "\xff\xfe", std::string(100'000, 'z')};
  for (const OptionRow& row : option_table()) {
    if (row.values() != 1 || row.take == nullptr) continue;
    const std::string names = row.names;
    const std::string name = "-" + names.substr(0, names.find(' '));
    for (const std::string& value : bad) {
      try {
        const Options o = parse({name, value, "a"});
        EXPECT_FALSE(value.empty()) << name;
        EXPECT_EQ(o.ranks(), 1) << name << " " << value;
      } catch (const Failure& failure) {
        EXPECT_EQ(failure.exit_code, 2) << name << " " << value;
        EXPECT_LT(failure.text.size(), 600u) << name;
        EXPECT_NE(failure.text.find(names.substr(0, names.find(' '))), std::string::npos)
            << failure.text;
      }
    }
  }
}

TEST(Options, NumbersAreWholeAndInRange) {
  for (const char* name : {"-n", "-np", "-N", "--cpus-per-task"})
    for (const char* value : {"0", "-2", "four", "4x", " 4", "+4", "0x4", "4.0", "99999999999"})
      expect_refused(value, {name, value, "a"});
  for (const char* value : {"-1", "0", "nan", "inf", "1e400", "0x10", "3 s", "3s"})
    expect_refused("number of seconds", {"--timeout", value, "a"});
  for (const char* value : {"1", "4096", "1e30G", "-64M", "nan", "64MB", "64 M", "0x10M"})
    expect_refused("512K", {"--stack", value, "a"});
  EXPECT_DOUBLE_EQ(parse({"--timeout", "1e3", "a"}).timeout_s, 1000);
}

TEST(Options, OneDashIsNoLetterWithAValue) {
  expect_refused("did you mean --configfile?", {"-confgfile", "f", "a"});
  expect_refused("no option -host4", {"-host4", "a"});
  expect_refused("no option -new", {"-new", "4", "a"});
  expect_refused("no option -xyz", {"-xyz", "a"});
  expect_refused("no option -fhosts", {"-fhosts", "a"});
  expect_refused("no option --x", {"--x", "A=1", "a"});
  EXPECT_EQ(parse({"-c3", "a"}).ranks(), 3);
}

TEST(Options, OptionsOfOthersAreRefusedWithOursInstead) {
  expect_refused("--map-by package", {"--npersocket", "2", "a"});
  expect_refused("weft info", {"-info"});
  expect_refused("taskset", {"--cpu-set", "0-3", "a"});
  expect_refused("--timeout SECONDS", {"--time=5", "a"});
  expect_refused("exits with its code", {"-print-all-exitcodes", "a"});
  expect_refused("with -H", {"--nolocal", "a"});
  // What a name in both tables would mean would depend on their order.
  for (const std::string& name : all_option_names())
    EXPECT_EQ(why_refused(name.substr(name.rfind('-') == 0 ? 1 : 2)), nullptr) << name;
}

TEST(Options, NoNameStandsTwice) {
  Words names = all_option_names();
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST(Options, HostFilesThatAreNoneAreRefused) {
  const std::string path = testing::TempDir() + "weft_hosts";
  std::ofstream(path) << "# ours\nlocalhost slots=4\n";
  EXPECT_EQ(parse({"-f", path, "-n", "2", "a"}).ranks(), 2);
  expect_refused("cannot read", {"-machinefile", path + ".not", "a"});
  std::ofstream(path) << "# nobody\n\n";
  expect_refused("names no host", {"-f", path, "a"});
  std::ofstream(path) << "localhost slots=x\n";
  expect_refused("given \"x\"", {"-f", path, "a"});
  expect_refused("given \"0\"", {"-host", "localhost:0", "a"});
  expect_refused("a list like A,B", {"-H", "localhost,", "a"});
}

TEST(Options, SlotsAreRanksUnlessTheirNumberIsGiven) {
  const std::string path = testing::TempDir() + "weft_hosts";
  std::ofstream(path) << "localhost slots=4 max_slots=9\n127.0.0.1:2\n";
  EXPECT_EQ(parse({"--hostfile", path, "a"}).ranks(), 6);
  EXPECT_EQ(parse({"-H", "localhost:3", "a"}).ranks(), 3);
  EXPECT_EQ(parse({"-H", "localhost", "a"}).ranks(), 1);
  EXPECT_EQ(parse({"-H", "::1,localhost:3", "-ppn", "2", "a"}).ranks(), 2);
  EXPECT_EQ(parse({"-n", "5", "-H", "localhost:3", "a"}).ranks(), 5);
}

TEST(Options, TerminalsAreForOneMachine) {
  const auto check = [](const Words& words) {
    Options options = parse(words);
    options.leave_idle_hosts_out();
    check_terminals(options);
    return options.terminals;
  };
  EXPECT_THROW(check({"--pty", "-H", "a,b", "x"}), Failure);
  EXPECT_THROW(check({"--pty", "-H", "localhost,b", "x"}), Failure);
  EXPECT_TRUE(check({"--pty", "-H", "localhost:2", "x"}));
  EXPECT_TRUE(check({"--pty", "-H", "localhost,b", "-n", "1", "x"}));
  EXPECT_TRUE(check({"--pty", "-n", "2", "--pretend-nodes", "2", "x"}));
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
  expect_refused("name of the program to run is empty", {"-n", "2", ""});
  expect_refused("needs a value, but it was given an empty one", {"-n", "", "a"});
  expect_refused("\"\" is not a name", {"-env", "", "x", "a"});
  expect_refused("\"A=B\" is not a name", {"-genv", "A=B", "x", "a"});
}

TEST(Options, HelpAndVersion) {
  const Failure help = refused({"--help"});
  EXPECT_EQ(help.exit_code, 0);
  for (const char* part : {"--ranks", "--timeout", "Examples:", "Exit status"})
    EXPECT_NE(help.text.find(part), std::string::npos) << part;
  for (const char* word : {"--version", "-V", "-version"}) {
    const Failure version = refused({word});
    EXPECT_EQ(version.exit_code, 0);
    EXPECT_NE(version.text.find("weft"), std::string::npos);
  }
}

}  // namespace
}  // namespace weft::launch
