// SPDX-License-Identifier: Apache-2.0
//
// What travels: a message header of one cache line. A small payload rides in the line itself, a
// middle one in the payload ring beside it or in a fragment of the sender's, a large one stays
// where it is and the header tells how to get it (protocols: docs/send-path.md).
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::wire {

enum class What : std::uint8_t {
  inline_data = 1,  // payload in the cell
  ring_data,        // payload beside the cell, or its first piece (cookie: its number)
  more_data,        // the next piece of the message this sender is pushing
  announced,        // to another node: the message follows by itself (bytes; cookie: its number);
                    // behind it is the tag that it has (wire/network.h)
  offer,            // sender -> receiver: a large message waits in copy job `job` (bytes, job);
                    // from another node: behind it is the Place where it lies (wire/network.h)
  show,         // receiver -> sender: the receive of `job` has its buffer (cookie, bytes: 1, it is
                // left to the sender; 0, the receiver copies too)
  copied,       // sender -> receiver: the last chunk is there (cookie, bytes: errno or 0)
  done,         // receiver -> sender: the same of `job`, copied there or void
  stage,        // receiver -> sender: push the message of `job` (cookie)
  staged_data,  // sender -> receiver: the next piece of a staged message (cookie)
  withdraw,     // sender -> receiver: forget the offer of `job`, which was cancelled (envelope)
  recall,       // sender -> receiver: give up the message that came in pieces (envelope; bytes: its
                // number) unless it is matched, and answer (cookie)
  recalled,     // receiver -> sender: the answer to `cookie` (bytes: 1, it is given up)
  back,         // receiver -> sender: these fragments have been read (fragments)
  ask_first,    // receiver -> sender on another node: offer messages, do not push (bytes: 1), or
                // push them again (0)
  one_sided,    // to another node, about a window (rma/messages.h)
  greeting,  // to another node, before anything else (net/lane.h; bytes: 0, it asks for an answer;
             // 1, it is one)
};

/// Who a message is from and for (MPI-5.0 §3.2.3); the match is on these three.
struct Envelope {
  std::uint64_t context;
  std::int32_t source;  // rank in the sender's group of the communicator
  std::int32_t tag;
};

inline constexpr int inline_max = 32;
/// In place of a fragment's name: the payload follows the cell, in one packet.
inline constexpr std::uint32_t behind = UINT32_MAX;

struct alignas(64) Cell {
  std::atomic<std::uint32_t> turn;  // lap of the ring, written last (release); pairs with poll()
  What what;
  std::uint8_t inline_bytes;
  std::uint16_t units;  // 64-byte units of the ring this message took, padding included; 0: its
                        // payload is in the cell, in a fragment (shm/fragments.h), or behind it
  Envelope envelope;
  std::uint32_t sender;  // world rank; on its way to another job, its name (memory/guests.h)
  std::uint32_t unit;    // where its payload starts, or the fragment's name
  union {
    std::byte payload[inline_max];
    struct {
      std::uint64_t bytes;   // of the whole message
      std::uint64_t cookie;  // receiver's own name for its request, or sender's
      std::uint32_t piece;   // bytes in the ring beside this cell, or in the fragment
      std::uint32_t job;     // copy job, in the area of the sender of the message
    };
    std::uint32_t fragments[8];  // up to the first 0
  };
};
static_assert(sizeof(Cell) == 64);

/// Bytes that follow the cell in a packet.
inline std::uint32_t payload_behind(const Cell& cell) {
  const bool has = cell.what == What::ring_data || cell.what == What::more_data ||
                   cell.what == What::staged_data || cell.what == What::offer ||
                   cell.what == What::announced || cell.what == What::one_sided;
  return has ? cell.piece : 0;
}

}  // namespace weft::wire
