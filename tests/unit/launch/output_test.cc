// SPDX-License-Identifier: Apache-2.0
//
// Lines on their way from ranks' pipes to a reader: whole, unchanged, tagged, and never more of
// them in memory than the bound.
#include "launch/output.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

namespace weft::launch {
namespace {

struct Pipe {
  Pipe() {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    reader = ends[0];
    writer = ends[1];
    fcntl(reader, F_SETFL, O_NONBLOCK);
  }
  ~Pipe() {
    close(reader);
    close_writer();
  }
  void say(std::string_view text) const {
    ASSERT_EQ(write(writer, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  void close_writer() {
    if (writer >= 0) close(writer);
    writer = -1;
  }
  std::string take() const {
    std::string out;
    char buffer[4096];
    for (ssize_t n = 0; (n = read(reader, buffer, sizeof buffer)) > 0;)
      out.append(buffer, static_cast<std::size_t>(n));
    return out;
  }
  int reader, writer;
};

TEST(Output, LinesOfRanksDoNotMix) {
  Pipe shown, a, b;
  Sink sink(shown.writer);
  Stream first(dup(a.reader), "", sink), second(dup(b.reader), "", sink);
  a.say("one ");
  ASSERT_TRUE(first.read());
  b.say("two\nthr");
  ASSERT_TRUE(second.read());
  EXPECT_EQ(shown.take(), "two\n");
  a.say("line\n\nrest");
  ASSERT_TRUE(first.read());
  EXPECT_EQ(shown.take(), "one line\n\n");
  EXPECT_TRUE(first.has_partial());
  first.close();
  EXPECT_EQ(shown.take(), "rest");
  b.close_writer();
  EXPECT_FALSE(second.read());
  second.close();
  EXPECT_EQ(shown.take(), "thr");
  EXPECT_FALSE(second.is_open());
}

TEST(Output, TagsStandBeforeEveryLineOnce) {
  Pipe shown, a;
  Sink sink(shown.writer);
  Stream stream(dup(a.reader), "[3] ", sink);
  a.say("x\n\ny? ");
  ASSERT_TRUE(stream.read());
  EXPECT_EQ(shown.take(), "[3] x\n[3] \n");
  stream.flush_partial();  // a prompt
  EXPECT_EQ(shown.take(), "[3] y? ");
  a.say("yes\nz");
  ASSERT_TRUE(stream.read());
  EXPECT_EQ(shown.take(), "yes\n");
  stream.close();
  EXPECT_EQ(shown.take(), "[3] z\n");
}

TEST(Output, MessagesStartOnALineOfTheirOwn) {
  Pipe shown;
  Sink sink(shown.writer);
  sink.put("half");
  sink.put_message("weft: a message");
  sink.put_message("weft: another");
  EXPECT_EQ(shown.take(), "half\nweft: a message\nweft: another\n");
}

TEST(Output, BytesStayAsTheyAre) {
  Pipe shown, a;
  Sink sink(shown.writer);
  Stream stream(dup(a.reader), "", sink);
  const std::string colours("\033[31mred\033[0m\0\xff\n", 15);
  a.say(colours);
  ASSERT_TRUE(stream.read());
  EXPECT_EQ(shown.take(), colours);
}

void slow_reader_gets_everything(int writer, int reader) {
  Sink sink(writer);
  std::string sent, got;
  const std::string line(999, 'l');
  while (!sink.full()) {
    sink.put(line + "\n");
    sent += line + "\n";
  }
  EXPECT_FALSE(sink.empty());
  char buffer[4096];
  while (got.size() < sent.size()) {
    const ssize_t n = read(reader, buffer, sizeof buffer);
    if (n > 0) got.append(buffer, static_cast<std::size_t>(n));
    sink.flush();
    if (n <= 0 && sink.empty() && got.size() < sent.size() && n == 0) break;
  }
  EXPECT_TRUE(sink.empty());
  EXPECT_EQ(got, sent);
}

TEST(Output, ASlowReaderOfAPipeGetsEverything) {
  Pipe shown;
  slow_reader_gets_everything(shown.writer, shown.reader);
  EXPECT_EQ(fcntl(shown.writer, F_GETFL) & O_NONBLOCK, 0);  // others may share it
}

TEST(Output, ASlowReaderOfASocketGetsEverything) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  slow_reader_gets_everything(ends[0], ends[1]);
  close(ends[0]);
  close(ends[1]);
}

TEST(Output, AReaderThatHasGoneClosesTheSink) {
  const auto before = signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Sink sink(ends[1]);
  close(ends[0]);
  sink.put("nobody\n");
  EXPECT_TRUE(sink.closed());
  sink.put("still nobody\n");
  sink.flush();
  EXPECT_TRUE(sink.empty());
  close(ends[1]);
  signal(SIGPIPE, before);
}

}  // namespace
}  // namespace weft::launch
