// SPDX-License-Identifier: Apache-2.0
#include "base/limits.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

namespace weft {
namespace {

TEST(Limits, NamesTheLimitOfOpenFiles) {
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  rlimit low = before;
  low.rlim_cur = 200;
  setrlimit(RLIMIT_NOFILE, &low);
  errno = EINTR;
  const std::string text = limit_behind(EMFILE);
  EXPECT_EQ(errno, EINTR);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_NE(text.find("200 (ulimit -n; "), std::string::npos) << text;
  const bool can_be_raised = before.rlim_max > 200;
  EXPECT_EQ(text.find("raise it with `ulimit -n ") != std::string::npos, can_be_raised) << text;
}

TEST(Limits, EveryErrorOfMissingTasksNamesSomething) {
  const std::string text = limit_behind(EAGAIN);
  EXPECT_TRUE(text.find("ulimit -u") != std::string::npos ||
              text.find("pids.max") != std::string::npos ||
              text.find("kernel.threads-max") != std::string::npos)
      << text;
  EXPECT_NE(limit_behind(ENFILE).find("fs.file-max"), std::string::npos);
  EXPECT_EQ(limit_behind(ENOENT), "");
}

TEST(Limits, FoldersOfControlGroups) {
  EXPECT_EQ(pids_folder("0::/user.slice/x\n", "/g"), "/g/user.slice/x");
  EXPECT_EQ(pids_folder("0::/\n", "/g"), "/g");
  EXPECT_EQ(pids_folder("9:cpu:/a\n8:pids:/b c:d\n0::/\n", "/g"), "/g/pids/b c:d");
  EXPECT_EQ(pids_folder("9:cpu,pids:/a\n", "/g"), "/g/pids/a");
  EXPECT_EQ(pids_folder("9:cpu:/a\nnonsense", "/g"), "");
  EXPECT_EQ(pids_folder("", "/g"), "");
}

}  // namespace
}  // namespace weft
