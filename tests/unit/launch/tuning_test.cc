// SPDX-License-Identifier: Apache-2.0
//
// The file of `weft tune`: what is written is read, and whatever else lies there is refused with a
// reason while the built-in prices serve.
#include "launch/tuning.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace weft::launch {
namespace {

namespace fs = std::filesystem;

class TuningFile : public testing::Test {
 protected:
  TuningFile() {
    char folder[] = "/tmp/weft-tuning-XXXXXX";
    folder_ = mkdtemp(folder);
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    prices_.levels = 2;
    prices_.level[0] = {"L3Cache", 51e-9, 4e-9, 2e-9};
    prices_.level[1] = {"Machine", 151e-9, 14e-9, 12e-9};
    prices_.copy = 1.25e-9;
    prices_.reduce = 2.5e-9;
  }
  ~TuningFile() override {
    unsetenv("XDG_CACHE_HOME");
    fs::remove_all(folder_);
  }

  static topo::Topology node() {
    const auto made = topo::Topology::this_node();
    EXPECT_TRUE(made);
    return made.value;
  }
  void put(const std::string& text) const {
    fs::create_directories(tuning_path(node()).parent_path());
    std::ofstream(tuning_path(node())) << text;
  }
  std::string text() const {
    std::ifstream file(tuning_path(node()));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  /// The written file with the first `old` replaced.
  void change(const std::string& old, const std::string& by) const {
    ASSERT_EQ(write_tuning(node(), prices_), "");
    std::string all = text();
    const auto at = all.find(old);
    ASSERT_NE(at, std::string::npos) << old;
    put(all.replace(at, old.size(), by));
  }
  void expect_refused(const std::string& why) const {
    const Tuning got = read_tuning(node());
    EXPECT_NE(got.complaint.find(why), std::string::npos) << got.complaint;
    EXPECT_NE(got.complaint.find("weft tune"), std::string::npos);
    EXPECT_EQ(got.complaint.find('\n'), std::string::npos);
    EXPECT_FALSE(got.prices.measured);
    EXPECT_EQ(got.prices.levels, model::built_in().levels);
    EXPECT_EQ(got.prices.copy, model::built_in().copy);
  }

  fs::path folder_;
  model::Parameters prices_ = model::built_in();
};

TEST_F(TuningFile, NoFileIsNoComplaint) {
  const Tuning got = read_tuning(node());
  EXPECT_EQ(got.complaint, "");
  EXPECT_EQ(got.when, "");
  EXPECT_FALSE(got.prices.measured);
}

TEST_F(TuningFile, WhatIsWrittenIsRead) {
  ASSERT_EQ(write_tuning(node(), prices_), "");
  const Tuning got = read_tuning(node());
  EXPECT_EQ(got.complaint, "");
  EXPECT_NE(got.when, "");
  EXPECT_TRUE(got.prices.measured);
  ASSERT_EQ(got.prices.levels, 2);
  EXPECT_STREQ(got.prices.level[1].name, "Machine");
  EXPECT_NEAR(got.prices.level[1].a, 151e-9, 1e-15);
  EXPECT_NEAR(got.prices.level[0].B, 2e-9, 1e-15);
  EXPECT_NEAR(got.prices.copy, 1.25e-9, 1e-15);
  EXPECT_NEAR(got.prices.reduce, 2.5e-9, 1e-15);
  EXPECT_EQ(got.prices.call, model::built_in().call) << "not measured";
}

TEST_F(TuningFile, LiesInTheCacheDirectory) {
  EXPECT_EQ(tuning_path(node()).parent_path(), folder_ / "weft");
  setenv("XDG_CACHE_HOME", "not/absolute", 1);
  const char* home = std::getenv("HOME");
  const std::string kept = home != nullptr ? home : "";
  setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(tuning_path(node()).parent_path(), "/home/somebody/.cache/weft");
  setenv("HOME", kept.c_str(), 1);
}

TEST_F(TuningFile, DamagedFiles) {
  for (const char* damaged : {"", "{", "[1, 2]", "null", "12", "\xff\xfe\x00"}) {
    put(damaged);
    expect_refused("damaged");
  }
  ASSERT_EQ(write_tuning(node(), prices_), "");
  put(text().substr(0, text().size() / 2));
  expect_refused("damaged");
  put(std::string(100000, '['));
  expect_refused("damaged");
}

TEST_F(TuningFile, DamagedNumbers) {
  change("\"a\": 51", "\"a\": -51");
  expect_refused("level 1");
  change("\"B\": 12.0", "\"B\": \"12\"");
  expect_refused("level 2");
  change("\"b\": 4.0", "\"b\": 1e300");
  expect_refused("level 1");
  change("\"copy\"", "\"copie\"");
  expect_refused("no copy");
  change("\"Machine\"", "\"" + std::string(24, 'x') + "\"");
  expect_refused("level 2");
  change("\"levels\": [", "\"levels\": 3, \"others\": [");
  expect_refused("no list of levels");
}

TEST_F(TuningFile, OldOnesAndThoseOfOthers) {
  change("\"weft_tuning\": 4", "\"weft_tuning\": 0");
  expect_refused("version 4");
  change("\"machine\": \"", "\"machine\": \"Another processor ");
  expect_refused("another machine's");
}

TEST_F(TuningFile, DeclaredMachinesAreNotMeasured) {
  ASSERT_EQ(write_tuning(node(), prices_), "");
  const auto declared = topo::Topology::synthetic("pack:2 core:2 pu:1");
  ASSERT_TRUE(declared);
  EXPECT_NE(tuning_path(declared.value), tuning_path(node()));
}

TEST_F(TuningFile, PlacesThatCannotBeWritten) {
  std::ofstream(folder_ / "weft") << "a file where a folder should be";
  EXPECT_NE(write_tuning(node(), prices_).find("cannot be written"), std::string::npos);
  EXPECT_EQ(read_tuning(node()).complaint, "");
}

}  // namespace
}  // namespace weft::launch
