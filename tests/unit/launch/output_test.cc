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
  Sink sink(shown.writer, "output");
  Stream first(dup(a.reader), "", Stream::Kind::prompting_pipe, sink);
  Stream second(dup(b.reader), "", Stream::Kind::pipe, sink);
  a.say("one ");
  ASSERT_EQ(first.read(), Stream::Got::text);
  b.say("two\nthr");
  ASSERT_EQ(second.read(), Stream::Got::text);
  EXPECT_EQ(shown.take(), "two\n");
  a.say("line\n\nrest");
  ASSERT_EQ(first.read(), Stream::Got::text);
  EXPECT_EQ(shown.take(), "one line\n\n");
  EXPECT_TRUE(first.has_partial_to_show());
  EXPECT_FALSE(second.has_partial_to_show());  // only prompts are
  first.close();
  EXPECT_EQ(shown.take(), "rest");
  b.close_writer();
  EXPECT_EQ(second.read(), Stream::Got::end);
  second.close();
  EXPECT_EQ(shown.take(), "thr");
  EXPECT_FALSE(second.is_open());
}

TEST(Output, TagsStandBeforeEveryLineOnce) {
  Pipe shown, a;
  Sink sink(shown.writer, "output");
  Stream stream(dup(a.reader), "[3] ", Stream::Kind::pipe, sink);
  a.say("x\n\ny? ");
  ASSERT_EQ(stream.read(), Stream::Got::text);
  EXPECT_EQ(shown.take(), "[3] x\n[3] \n");
  stream.flush_partial();  // a prompt
  EXPECT_EQ(shown.take(), "[3] y? ");
  a.say("yes\nz");
  ASSERT_EQ(stream.read(), Stream::Got::text);
  EXPECT_EQ(shown.take(), "yes\n");
  stream.close();
  EXPECT_EQ(shown.take(), "[3] z\n");
}

TEST(Output, MessagesStartOnALineOfTheirOwn) {
  Pipe shown;
  Sink sink(shown.writer, "output");
  sink.put("half");
  sink.put_message("weft: a message");
  sink.put_message("weft: another");
  EXPECT_EQ(shown.take(), "half\nweft: a message\nweft: another\n");
}

TEST(Output, BytesStayAsTheyAre) {
  Pipe shown, a;
  Sink sink(shown.writer, "output");
  Stream stream(dup(a.reader), "", Stream::Kind::pipe, sink);
  const std::string colours("\033[31mred\033[0m\0\xff\n", 15);
  a.say(colours);
  ASSERT_EQ(stream.read(), Stream::Got::text);
  EXPECT_EQ(shown.take(), colours);
}

void slow_reader_gets_everything(int writer, int reader) {
  Sink sink(writer, "output");
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
  Sink sink(ends[1], "output");
  close(ends[0]);
  sink.put("nobody\n");
  EXPECT_TRUE(sink.closed());
  sink.put("still nobody\n");
  sink.flush();
  EXPECT_TRUE(sink.empty());
  close(ends[1]);
  signal(SIGPIPE, before);
}

TEST(Output, AFullDiskIsAFailureThatIsNamed) {
  const int full = open("/dev/full", O_WRONLY);
  ASSERT_GE(full, 0);
  Sink sink(full, "standard output");
  EXPECT_FALSE(sink.failed());
  sink.put("lost\n");
  EXPECT_TRUE(sink.failed());
  EXPECT_FALSE(sink.closed());  // the ranks go on
  EXPECT_TRUE(sink.empty());
  EXPECT_EQ(
      sink.failure(),
      "weft: the ranks' output cannot be written to /dev/full (standard output): No space left "
      "on device; the rest of it is lost");
  close(full);
}

TEST(Output, ADescriptorForReadingOnlyTakesNothing) {
  const int closed = open("/dev/null", O_RDONLY);
  Sink sink(closed, "standard output");
  sink.put("lost\n");
  EXPECT_TRUE(sink.failed());
  EXPECT_EQ(
      sink.failure(),
      "weft: the ranks' output cannot be written to standard output: it is closed; the rest of it "
      "is lost");
  close(closed);
}

}  // namespace
}  // namespace weft::launch
