// SPDX-License-Identifier: Apache-2.0
//
// A process manager made of a thread and socket pairs: ranks are threads of a test, each with a
// connection of its own. Speaks PMI-1, and PMI-2 as Hydra and Slurm do.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace weft::wireup {

class Server {
 public:
  /// `only`: the version it speaks, 0 for both.
  Server(int size, std::string mapping, int only = 0) : only_(only) {
    if (!mapping.empty()) space_["PMI_process_mapping"] = std::move(mapping);
    for (int r = 0; r < size; ++r) {
      int ends[2];
      EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
      talks_.push_back({ends[0], ends[1], "", false});
    }
    thread_ = std::thread([this] { serve(); });
  }
  ~Server() {
    for (const Talk& talk : talks_) close(talk.theirs);
    thread_.join();
    for (const Talk& talk : talks_) close(talk.ours);
  }

  int fd(int rank) const { return talks_[static_cast<std::size_t>(rank)].theirs; }
  std::string universe = "16";
  int abort_code = -1;
  std::string abort_message;
  int finalized = 0;

 private:
  struct Talk {
    int ours, theirs;
    std::string buffer;
    bool has_frames;  // PMI-2, after its first line
  };

  void serve() {
    std::vector<pollfd> fds;
    for (const Talk& talk : talks_) fds.push_back({talk.ours, POLLIN, 0});
    for (std::size_t open = fds.size(); open > 0;) {
      poll(fds.data(), fds.size(), -1);
      for (std::size_t i = 0; i < fds.size(); ++i) {
        if (fds[i].revents == 0) continue;
        char text[512];
        const ssize_t n = read(fds[i].fd, text, sizeof text);
        if (n <= 0) {
          fds[i].fd = -1;
          --open;
          continue;
        }
        talks_[i].buffer.append(text, static_cast<std::size_t>(n));
        while (take(talks_[i])) continue;
      }
    }
  }

  /// One request, if all of it is there.
  bool take(Talk& talk) {
    std::string& buffer = talk.buffer;
    if (talk.has_frames) {
      const std::size_t bytes =
          buffer.size() < 6 ? 0 : static_cast<std::size_t>(std::atoi(buffer.substr(0, 6).c_str()));
      if (buffer.size() < 6 || buffer.size() < 6 + bytes) return false;
      const std::string request = buffer.substr(6, bytes);
      buffer.erase(0, 6 + bytes);
      answer_frame(talk, request);
      return true;
    }
    const std::size_t end = buffer.find('\n');
    if (end == std::string::npos) return false;
    const std::string request = buffer.substr(0, end);
    buffer.erase(0, end + 1);
    answer_line(talk, request);
    return true;
  }

  static std::string field(const std::string& text, const std::string& key, char separator) {
    const std::size_t at = (separator + text).find(separator + key + "=");
    if (at == std::string::npos) return "";
    const std::size_t from = at + key.size() + 1;
    return text.substr(from, text.find(separator, from) - from);
  }

  // In two pieces, as a socket may deliver it.
  static void say(const Talk& talk, const std::string& text) {
    const std::size_t half = text.size() / 2;
    EXPECT_EQ(write(talk.ours, text.data(), half), static_cast<ssize_t>(half));
    EXPECT_EQ(write(talk.ours, text.data() + half, text.size() - half),
              static_cast<ssize_t>(text.size() - half));
  }
  // Slurm writes the length to the left, Hydra to the right.
  static void say_frame(const Talk& talk, const std::string& body, bool left = false) {
    char length[16];
    std::snprintf(length, sizeof length, left ? "%-6zu" : "%6zu", body.size());
    say(talk, length + body);
  }
  bool all_wait() {
    if (++waiting_ < static_cast<int>(talks_.size())) return false;
    waiting_ = 0;
    return true;
  }

  void answer_line(Talk& talk, const std::string& line) {
    const auto of = [&](const char* key) { return field(line, key, ' '); };
    const std::string cmd = of("cmd");
    if (cmd == "init") {
      const int version = std::atoi(of("pmi_version").c_str());
      const bool speaks = only_ == 0 || only_ == version;
      say(talk, "cmd=response_to_init pmi_version=" + of("pmi_version") +
                    " pmi_subversion=0 rc=" + (speaks ? "0" : "-1") + "\n");
      talk.has_frames = speaks && version == 2;
    }
    if (cmd == "get_maxes") say(talk, "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=128\n");
    if (cmd == "get_my_kvsname") say(talk, "cmd=my_kvsname kvsname=kvs_1\n");
    if (cmd == "get_appnum") say(talk, "rc=0 cmd=appnum appnum=2\n");
    if (cmd == "get_universe_size") say(talk, "cmd=universe_size size=" + universe + " rc=0\n");
    if (cmd == "put") {
      space_[of("key")] = of("value");
      say(talk, "cmd=put_result rc=0 msg=success\n");
    }
    if (cmd == "get") {
      const auto at = space_.find(of("key"));
      EXPECT_EQ(of("kvsname"), "kvs_1");
      say(talk, at != space_.end() ? "cmd=get_result rc=0 msg=success value=" + at->second + "\n"
                                   : "cmd=get_result rc=-1 msg=key_not_found\n");
    }
    if (cmd == "barrier_in" && all_wait())
      for (const Talk& every : talks_) say(every, "cmd=barrier_out\n");
    if (cmd == "finalize") {
      ++finalized;
      say(talk, "cmd=finalize_ack\n");
    }
    if (cmd == "abort") abort_code = std::atoi(of("exitcode").c_str());
    if (cmd == "initack") {
      say(talk, "cmd=initack rc=0\n");
      say(talk, "cmd=set size=4\n");
      say(talk, "cmd=set rank=" + of("pmiid") + "\n");
      say(talk, "cmd=set debug=0\n");
    }
  }

  void answer_frame(Talk& talk, const std::string& request) {
    const auto of = [&](const char* key) { return field(request, key, ';'); };
    const std::string cmd = of("cmd");
    if (cmd == "fullinit")
      say_frame(talk,
                "cmd=fullinit-response;rc=0;pmi-version=2;rank=" + of("pmirank") +
                    ";size=" + std::to_string(talks_.size()) + ";appnum=2;",
                true);
    if (cmd == "kvs-put") {
      space_[of("key")] = of("value");
      say_frame(talk, "cmd=kvs-put-response;rc=0;");
    }
    space_["universeSize"] = universe;
    if (cmd == "kvs-get" || cmd == "info-getjobattr") {
      const auto at = space_.find(of("key"));
      const std::string found =
          at != space_.end() ? "found=TRUE;value=" + at->second : "found=FALSE";
      say_frame(talk, "cmd=" + cmd + "-response;" + found + ";rc=0;");
    }
    if (cmd == "kvs-fence" && all_wait())
      for (const Talk& every : talks_) say_frame(every, "cmd=kvs-fence-response;rc=0;");
    if (cmd == "finalize") {
      ++finalized;
      say_frame(talk, "cmd=finalize-response;rc=0;");
    }
    if (cmd == "abort") abort_message = of("msg");
  }

  int only_;
  std::vector<Talk> talks_;
  std::map<std::string, std::string> space_;
  int waiting_ = 0;
  std::thread thread_;
};

}  // namespace weft::wireup
