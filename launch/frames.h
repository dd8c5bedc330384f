// SPDX-License-Identifier: Apache-2.0
//
// What mpiexec and its agents on other hosts say to each other, over the agent's stdin and stdout:
// frames of a length, a kind and a payload. Lengths are bounded by the kind; what is no frame is
// refused, because whoever sent it is no mpiexec of this version.
//
//     bytes 0-3  length of the payload, lowest byte first      byte 4  kind      bytes 5-7  "wf1"
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

namespace weft::launch {

enum class FrameKind : std::uint8_t {
  // from an agent
  hello = 1,      // who it is (Hello)
  addresses = 2,  // where ranks are in the network, its own and those behind it; back: all ranks
  output = 3,     // of its ranks, as mpiexec's stdout gets it
  errors = 4,     // and stderr
  failed = 5,     // why the job has to end (Failure)
  left = 6,       // a rank ended without MPI_Init
  finished = 7,   // nothing of the job is left there; the exit code
  // to an agent
  order = 8,  // the job (order.h)
  input = 9,  // mpiexec's stdin
  input_end = 10,
  signal = 11,    // for the ranks
  end = 12,       // the job failed elsewhere
  unwanted = 13,  // nobody reads output (or errors, its payload says) any more
  // both ways
  taken = 14,  // so many bytes of output and errors, or of input, have been passed on
  beat = 15,   // nothing but that we are still here (pulse.h)
  // from an agent
  begun = 16,  // it has started what its order said, as have all behind it (Begun)
  // in a tree of agents (branches.h)
  relayed = 17,  // both ways: a frame of or for another host
  grow = 18,     // to an agent: it is to start these (Growth)
  lost = 19,     // from an agent, of one that it has started (Loss)
  noise = 20,    // and what its command said beside
  // both ways
  died = 21,      // ranks, which the others may go on without (Death)
  look = 22,      // to an agent: what do its ranks wait for? (far_hangs.h)
  seen = 23,      // from an agent: that
  survives = 24,  // from an agent: its ranks go on without those that died
  debug = 25,     // to an agent: gdb is to show the threads of this rank's process
  for_all = 26,  // to an agent, and to all behind it: a frame that is the same for all (branches.h)
  // about ranks that are spawned, and names (spawn_frames.h); from an agent
  spawn = 40,
  placed = 41,
  known = 42,
  ended = 43,
  question = 44,
  // to an agent
  place = 45,
  answer = 46,
  withdraw = 47,
  reached = 48,
  vacate = 49,
  dismiss = 50,
  // both ways
  told = 51,
  leaving = 52,
};
inline constexpr std::uint8_t last_frame_kind = 52;

/// Bytes of output (or input) that are on their way before the other side says that it has taken
/// some: a slow reader holds back what is read from the ranks, and never what ends the job.
inline constexpr std::size_t window_bytes = 1 << 20, piece_bytes = 64 << 10;
/// The most that a payload of the kind has.
std::size_t most_bytes(FrameKind kind);

struct Frame {
  FrameKind kind;
  std::string payload;
};

/// The bytes of a frame.
std::string framed(FrameKind kind, std::string_view payload = {});

/// Frames out of a stream of bytes, in whatever pieces it comes.
class FrameReader {
 public:
  void add(std::string_view bytes) { waiting_.append(bytes); }
  /// The next one; nothing while it is not complete. Throws Failure if what comes is none: the text
  /// shows it, and begins with "what is no frame".
  std::optional<Frame> next();
  /// Nothing of an incomplete one is there.
  bool is_empty() const { return at_ == waiting_.size(); }

 private:
  std::string waiting_;
  std::size_t at_ = 0;  // what is in front has been handed out
};

/// A FrameReader's source and a queue of frames for the other side; never blocks. Owns both
/// descriptors, which may be the same.
class Channel {
 public:
  Channel(int in, int out);
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  void send(FrameKind kind, std::string_view payload = {});
  /// Write what the other side takes now.
  void flush();
  /// Take what is there, up to a bound. False: nothing will come any more.
  bool read();
  std::optional<Frame> next() { return reader_.next(); }
  bool ended_within_frame() const { return !reader_.is_empty(); }

  int in() const { return in_; }
  /// The descriptor to poll for room, or -1.
  int wants_write() const { return sent_ < queue_.size() ? out_ : -1; }
  /// Say nothing more.
  void close_out();
  void close();

 private:
  FrameReader reader_;
  int in_, out_;
  std::string queue_;
  std::size_t sent_ = 0;
};

}  // namespace weft::launch
