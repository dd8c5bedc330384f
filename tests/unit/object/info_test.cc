// SPDX-License-Identifier: Apache-2.0
// Info objects (MPI-5.0 §10): order, limits, cut values, errors, MPI_INFO_ENV.
#include "object/info.h"

#include <gtest/gtest.h>

#include "object/store.h"

namespace weft::object {
namespace {

class Infos : public testing::Test {
 protected:
  Infos() {
    create_info(store, &handle);
    info = store.info(handle);
  }
  ~Infos() override {
    if (handle != MPI_INFO_NULL) {
      EXPECT_FALSE(free_info(store, &handle));
    }
    EXPECT_EQ(store.infos.live(), 1u);
  }

  Store store;
  MPI_Info handle = MPI_INFO_NULL;
  Info* info = nullptr;
};

TEST_F(Infos, KeysKeepTheOrderOfInsertion) {
  for (const char* key : {"b", "a", "c"}) ASSERT_FALSE(info_set(*info, key, "x"));
  ASSERT_FALSE(info_set(*info, "a", "y"));
  ASSERT_FALSE(info_delete(*info, "b"));
  EXPECT_EQ(info_nkeys(*info), 2);
  char key[MPI_MAX_INFO_KEY];
  ASSERT_FALSE(info_nthkey(*info, 0, key));
  EXPECT_STREQ(key, "a");
  ASSERT_FALSE(info_nthkey(*info, 1, key));
  EXPECT_STREQ(key, "c");
  EXPECT_EQ(info_nthkey(*info, 2, key).cls, MPI_ERR_ARG);
  EXPECT_EQ(info_nthkey(*info, -1, key).cls, MPI_ERR_ARG);
  EXPECT_EQ(info_delete(*info, "b").cls, MPI_ERR_INFO_NOKEY);
}

TEST_F(Infos, LimitsOfKeysAndValues) {
  const std::string key(MPI_MAX_INFO_KEY - 1, 'k'), value(MPI_MAX_INFO_VAL - 1, 'v');
  ASSERT_FALSE(info_set(*info, key.c_str(), value.c_str()));
  EXPECT_EQ(*info_find(info, key.c_str()), value);
  EXPECT_EQ(info_set(*info, (key + "k").c_str(), "v").cls, MPI_ERR_INFO_KEY);
  EXPECT_EQ(info_set(*info, "", "v").cls, MPI_ERR_INFO_KEY);
  EXPECT_EQ(info_set(*info, "k", (value + "v").c_str()).cls, MPI_ERR_INFO_VALUE);
  EXPECT_EQ(info_nkeys(*info), 1);
}

TEST_F(Infos, GetStringCutsAndTellsTheRoomNeeded) {
  ASSERT_FALSE(info_set(*info, "key", "value"));
  char text[16] = "untouched";
  int room = 0, flag = 0;
  ASSERT_FALSE(info_get_string(*info, "key", &room, text, &flag));
  EXPECT_EQ(room, 6);
  EXPECT_STREQ(text, "untouched");
  room = 4;
  ASSERT_FALSE(info_get_string(*info, "key", &room, text, &flag));
  EXPECT_STREQ(text, "val");
  EXPECT_EQ(room, 6);
  ASSERT_FALSE(info_get_string(*info, "key", &room, text, &flag));
  EXPECT_STREQ(text, "value");
  EXPECT_EQ(flag, 1);
  room = 9;
  ASSERT_FALSE(info_get_string(*info, "other", &room, text, &flag));
  EXPECT_EQ(flag, 0);
  EXPECT_EQ(room, 9);
  EXPECT_STREQ(text, "value");
}

TEST_F(Infos, OldGetCountsWithoutTheTerminator) {
  ASSERT_FALSE(info_set(*info, "key", "value"));
  char text[16] = "...............";
  text[15] = 0;
  int flag = 0, length = 0;
  ASSERT_FALSE(info_get(*info, "key", 3, text, &flag));
  EXPECT_STREQ(text, "val");
  ASSERT_FALSE(info_get_valuelen(*info, "key", &length, &flag));
  EXPECT_EQ(length, 5);
  EXPECT_EQ(flag, 1);
}

TEST_F(Infos, DuplicatesAreIndependent) {
  ASSERT_FALSE(info_set(*info, "key", "value"));
  MPI_Info copy;
  dup_info(store, info, &copy);
  ASSERT_FALSE(info_set(*info, "key", "changed"));
  EXPECT_EQ(*info_find(store.info(copy), "key"), "value");
  ASSERT_FALSE(free_info(store, &copy));
  EXPECT_EQ(copy, MPI_INFO_NULL);
}

TEST_F(Infos, EnvIsReadableAndStays) {
  MPI_Info env = MPI_INFO_ENV;
  EXPECT_NE(store.info(env), nullptr);
  EXPECT_EQ(free_info(store, &env).cls, MPI_ERR_INFO);
  const char* argv[] = {"./app", "-n", "4", nullptr};
  MPI_Info made;
  ASSERT_FALSE(create_env_info(store, 3, const_cast<char**>(argv), &made));
  EXPECT_EQ(*info_find(store.info(made), "command"), "./app");
  EXPECT_EQ(*info_find(store.info(made), "argv"), "-n 4");
  EXPECT_NE(info_find(store.info(made), "wdir"), nullptr);
  EXPECT_NE(info_find(store.info(made), "arch"), nullptr);
  ASSERT_FALSE(free_info(store, &made));
}

TEST_F(Infos, Flags) {
  ASSERT_FALSE(info_set(*info, "yes", "true"));
  ASSERT_FALSE(info_set(*info, "odd", "maybe"));
  EXPECT_TRUE(info_flag(info, "yes", false));
  EXPECT_FALSE(info_flag(info, "odd", false));
  EXPECT_TRUE(info_flag(info, "odd", true));
  EXPECT_TRUE(info_flag(nullptr, "yes", true));
}

}  // namespace
}  // namespace weft::object
