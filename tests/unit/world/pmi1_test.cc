// SPDX-License-Identifier: Apache-2.0
//
// The PMI-1 client against a process manager made of a thread and socket pairs: ranks are threads
// of this test, each with a connection of its own.
#include "world/pmi1.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace weft::world {
namespace {

class Manager {
 public:
  Manager(int size, std::string mapping) : waiting_(0) {
    space_["PMI_process_mapping"] = std::move(mapping);
    for (int r = 0; r < size; ++r) {
      int ends[2];
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
      ours_.push_back(ends[0]);
      theirs_.push_back(ends[1]);
    }
    thread_ = std::thread([this] { serve(); });
  }
  ~Manager() {
    for (int fd : theirs_) close(fd);
    thread_.join();
    for (int fd : ours_) close(fd);
  }

  int fd(int rank) const { return theirs_[static_cast<std::size_t>(rank)]; }
  int abort_code = -1;
  int finalized = 0;

 private:
  void serve() {
    std::vector<std::string> buffers(ours_.size());
    for (std::size_t open = ours_.size(); open > 0;) {
      std::vector<pollfd> fds;
      for (int fd : ours_) fds.push_back({fd, POLLIN, 0});
      poll(fds.data(), fds.size(), -1);
      for (std::size_t i = 0; i < fds.size(); ++i) {
        if (fds[i].revents == 0) continue;
        char text[512];
        const ssize_t n = read(fds[i].fd, text, sizeof text);
        if (n <= 0) {
          close(ours_[i]);
          ours_[i] = -1;
          --open;
          continue;
        }
        buffers[i].append(text, static_cast<std::size_t>(n));
        for (std::size_t end = 0; (end = buffers[i].find('\n')) != std::string::npos;) {
          answer(ours_[i], buffers[i].substr(0, end));
          buffers[i].erase(0, end + 1);
        }
      }
    }
  }

  static std::string field(const std::string& line, const std::string& key) {
    const std::size_t at = line.find(key + "=");
    if (at == std::string::npos) return "";
    const std::size_t from = at + key.size() + 1;
    return line.substr(from, line.find(' ', from) - from);
  }

  // In two pieces, as a socket may deliver a line.
  static void say(int fd, const std::string& line) {
    const std::string text = line + "\n";
    const std::size_t half = text.size() / 2;
    EXPECT_EQ(write(fd, text.data(), half), static_cast<ssize_t>(half));
    EXPECT_EQ(write(fd, text.data() + half, text.size() - half),
              static_cast<ssize_t>(text.size() - half));
  }

  void answer(int fd, const std::string& line) {
    const std::string cmd = field(line, "cmd");
    if (cmd == "init") say(fd, "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
    if (cmd == "get_my_kvsname") say(fd, "cmd=my_kvsname kvsname=kvs_1");
    if (cmd == "get_appnum") say(fd, "rc=0 cmd=appnum appnum=2");
    if (cmd == "put") {
      space_[field(line, "key")] = field(line, "value");
      say(fd, "cmd=put_result rc=0 msg=success");
    }
    if (cmd == "get") {
      const auto at = space_.find(field(line, "key"));
      EXPECT_EQ(field(line, "kvsname"), "kvs_1");
      say(fd, at != space_.end() ? "cmd=get_result rc=0 msg=success value=" + at->second
                                 : "cmd=get_result rc=-1 msg=key_not_found");
    }
    if (cmd == "barrier_in" && ++waiting_ == static_cast<int>(ours_.size())) {
      waiting_ = 0;
      for (int every : ours_) say(every, "cmd=barrier_out");
    }
    if (cmd == "finalize") {
      ++finalized;
      say(fd, "cmd=finalize_ack");
    }
    if (cmd == "abort") abort_code = std::stoi(field(line, "exitcode"));
    if (cmd == "initack") {
      say(fd, "cmd=initack rc=0");
      say(fd, "cmd=set size=4");
      say(fd, "cmd=set rank=" + field(line, "pmiid"));
      say(fd, "cmd=set debug=0");
    }
  }

  std::vector<int> ours_, theirs_;
  std::map<std::string, std::string> space_;
  int waiting_;
  std::thread thread_;
};

TEST(Pmi1, RanksOfANodeShareOneSegment) {
  constexpr int size = 3;
  Manager manager(size, "(vector,(0,1,3))");
  std::vector<Placement> places(size);
  std::vector<std::thread> ranks;
  for (int r = 0; r < size; ++r)
    ranks.emplace_back([&, r] {
      Pmi1 pmi(manager.fd(r), r, size);
      Result<Placement> joined = join_job(pmi, Params::from_env(false));
      ASSERT_TRUE(joined) << last_error_text(joined.err.cls);
      places[static_cast<std::size_t>(r)] = joined.value;
      EXPECT_FALSE(pmi.finalize());
    });
  for (std::thread& rank : ranks) rank.join();
  for (int r = 0; r < size; ++r) {
    const Placement& place = places[static_cast<std::size_t>(r)];
    EXPECT_EQ(place.first, r);
    EXPECT_EQ(place.count, 1);
    ASSERT_EQ(place.job->size(), size);
    EXPECT_EQ(place.job->entry(r).appnum, 2);
    place.job->entry(r).pid.store(100 + r);
  }
  for (const Placement& place : places)
    for (int r = 0; r < size; ++r) EXPECT_EQ(place.job->entry(r).pid.load(), 100 + r);
  EXPECT_EQ(manager.finalized, size);
  for (const Placement& place : places) delete place.job;
}

TEST(Pmi1, OneRankNeedsNoBarrier) {
  Manager manager(1, "(vector,(0,1,1))");
  Pmi1 pmi(manager.fd(0), 0, 1);
  Result<Placement> joined = join_job(pmi, Params::from_env(false));
  ASSERT_TRUE(joined);
  EXPECT_EQ(joined.value.job->size(), 1);
  delete joined.value.job;
}

TEST(Pmi1, SeveralNodesAreRefused) {
  Manager manager(1, "(vector,(0,2,1))");
  Pmi1 pmi(manager.fd(0), 0, 2);
  Result<Placement> joined = join_job(pmi, Params::from_env(false));
  ASSERT_FALSE(joined);
  EXPECT_STREQ(
      last_error_text(joined.err.cls),
      "the job's 2 ranks run on 2 nodes, and weft has no network lane yet; start all ranks "
      "on one node");
}

TEST(Pmi1, PutGetAndMissingKeys) {
  Manager manager(1, "");
  Pmi1 pmi(manager.fd(0), 0, 1);
  ASSERT_FALSE(pmi.init());
  ASSERT_FALSE(pmi.put("key", "va=lue"));
  Result<std::string> got = pmi.get("key");
  ASSERT_TRUE(got);
  EXPECT_EQ(got.value, "va=lue");
  Result<std::string> missing = pmi.get("other");
  ASSERT_FALSE(missing);
  EXPECT_NE(std::string(last_error_text(missing.err.cls)).find("key_not_found"), std::string::npos);
}

TEST(Pmi1, IdentifyLearnsRankAndSize) {
  Manager manager(1, "");
  Pmi1 pmi(manager.fd(0), 0, 1);
  ASSERT_FALSE(pmi.identify(3));
  EXPECT_EQ(pmi.rank(), 3);
  EXPECT_EQ(pmi.size(), 4);
}

TEST(Pmi1, AbortTellsTheManager) {
  int code = 0;
  {
    Manager manager(1, "");
    Pmi1 pmi(manager.fd(0), 0, 1);
    pmi.abort(7);
    ASSERT_FALSE(pmi.init());  // answered after the abort was read
    code = manager.abort_code;
  }
  EXPECT_EQ(code, 7);
}

TEST(Pmi1, ALostManagerIsAnError) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  close(ends[0]);
  Pmi1 pmi(ends[1], 0, 1);
  const Err e = pmi.init();
  ASSERT_TRUE(e);
  EXPECT_NE(std::string(last_error_text(e.cls)).find("process manager"), std::string::npos);
  close(ends[1]);
}

TEST(Pmi1, CountsNodesOfMappings) {
  EXPECT_EQ(nodes_of_mapping("(vector,(0,1,8))", 8), 1);
  EXPECT_EQ(nodes_of_mapping("(vector,(0,3,2))", 6), 3);
  EXPECT_EQ(nodes_of_mapping("(vector,(0,3,2))", 2), 1);
  EXPECT_EQ(nodes_of_mapping("(vector,(0,3,2))", 3), 2);
  EXPECT_EQ(nodes_of_mapping("(vector,(0,1,2),(1,1,2))", 4), 2);
  EXPECT_EQ(nodes_of_mapping("(vector,(0,1,2),(0,1,2))", 4), 1);
  EXPECT_EQ(nodes_of_mapping("", 4), 1);
  EXPECT_EQ(nodes_of_mapping("(vector,(0,1,0))", 4), 1);
}

}  // namespace
}  // namespace weft::world
