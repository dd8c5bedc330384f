// SPDX-License-Identifier: Apache-2.0
//
// All numbers that decide something in this room, with their reasons.
#pragma once

#include <cstddef>
#include <cstdint>

namespace weft::net {

/// Packets of an endpoint that may come before anybody looks, and that may be on their way. What
/// finds no room waits at its sender. Measured, 2-core EPYC (family 26), 2026-11-24: messages of 8
/// bytes in a row 0.81 us with 16 rooms, 0.80 with 8.
inline constexpr int rooms_to_receive = 8, rooms_to_send = 32;
/// More of those to send, for greetings only: packets that wait for an answer take none of these. A
/// look has no more greetings to answer.
inline constexpr int rooms_to_greet = rooms_to_receive;
/// Lengths that long data is cut by.
struct Cuts {
  /// A packet whose payload is sent from where it lies, at most.
  std::uint32_t lent;
  /// A message of up to so many bytes, and more than a packet has, is announced: its data follows
  /// by itself, and is received where it is to lie, without a copy or an answer. Longer ones gain
  /// nothing in a window, as they leave the caches in the sockets (bench/README.md has the
  /// figures).
  std::uint32_t announced;
  /// Long data is read in pieces, of which so many bytes are asked of a peer at a time: short
  /// messages of that peer come between pieces, and the second piece is there to be sent when the
  /// first has gone. More would lie in the sockets and leave the caches before it is taken out.
  std::size_t read_piece, reads_ahead;
};
/// A packet has all that is pushed (limits.h of pt2pt). Rooms take memory as far as something has
/// come. Pieces: measured, 2-core EPYC (family 26), far cores, tcp of libfabric 2.5 over loopback,
/// 2026-11-24, us, medians of 8 runs: half a round trip of 1 MiB, a window of 16, by pieces of 1
/// MiB and 2 MiB ahead 212, 271; of 512 KiB, two and one at a time 157, 238 and 140, 264; of 256
/// KiB 167, 258 and 158, 349.
inline constexpr Cuts common_cuts{
    .lent = 256 << 10, .announced = 1 << 20, .read_piece = 512 << 10, .reads_ahead = 1 << 20};
/// Where the kernel paces connections (its congestion control is bbr). What a socket is given at
/// once and has not left it when the pace is reached leaves 64 KiB after the other, each by a timer
/// of the kernel's: half a round trip of 1 MiB takes 443 us with the common cuts, and 170 with
/// these (measured near; docs/network.md has more). So little is given at a time, and the next when
/// its receiver has asked.
/// And in lengths of which little is left over when the kernel cuts them by its segments: what is
/// given to a socket at once leaves in segments of up to 65160 bytes where the network's packets
/// have 1500, of 62636 where they have 9000 (calculated), and a rest is one more. Counted at the
/// interface, in both directions: 4 for each packet of 120 KiB, 5 for one of 128. Half a round trip
/// and a window of 16 messages of 256 KiB, us, in packets of 128 KiB 44, 52, of 120 38, 40; of 4
/// MiB read in pieces of 192 KiB 630, of 180 535 (measured, 2-core EPYC, family 26, near cores, tcp
/// of libfabric 2.5 between two hosts, 2026-11-28). With the common cuts that makes no difference.
inline constexpr Cuts paced_cuts{
    .lent = 120 << 10, .announced = 0, .read_piece = 180 << 10, .reads_ahead = 256 << 10};
/// Announced data comes in pieces of one length, whatever the cuts of its sender and its receiver
/// are. And bytes of it for one peer that may be on their way: what they find no receive for takes
/// memory there.
inline constexpr std::size_t announced_piece_bytes = 512 << 10, announced_ahead_bytes = 4 << 20;
/// Where a provider has no descriptor to wait for, a thread that sleeps looks now and then: after
/// this part of the time in which nothing has come, so that it is late by no more. A look takes
/// some us, so waiting takes about a hundredth of a core soon.
inline constexpr std::int64_t naps_in_wait = 8, first_nap_ns = 50'000, longest_nap_ns = 1'000'000;
/// One of libfabric 1.17's `net` is always readable: so often in a row is enough to know.
inline constexpr int most_in_vain = 8;
/// Looks after which descriptors leave the watcher's set, if nobody sleeps: some 20 us. To leave
/// and to come back takes some 2 us (estimated), a packet that goes through that set 0.2
/// (measured).
inline constexpr std::uint64_t looks_before_leave = 64;
/// A put or get of so many bytes goes by the provider's remote memory where the target's end has to
/// be driven by the target all the same: shorter ones are as fast in a packet, and are words that
/// are stored at once.
inline constexpr std::int64_t reached_bytes = 4 << 10;

/// Outlets of a lane, for as many idle threads: each has rooms_to_send of its own, 2 MiB, and
/// a connection to each of its peers.
inline constexpr int most_outlets = 7;

/// So often the connection of one message may be lost before its receiver is.
inline constexpr int most_failures = 5;

/// A greeting that nobody has answered is said again: after this time, then after twice as long,
/// and so on to the longest. An answer takes as long as the peer is not in MPI.
inline constexpr std::int64_t first_again_ns = 20'000'000, longest_again_ns = 1'000'000'000;

/// Packets to one rank between two looks, and bytes of their rooms; what comes then waits for the
/// next look, to travel together, also if its sender computes first. A halo has no more for a
/// neighbour. A packet of the kernel's sockets takes some us, of whatever length; measured, 2-core
/// EPYC (family 26), far cores, tcp of libfabric 2.5 between two hosts, 2026-11-28, us of one of 16
/// messages of 1, 4, 16 KiB: alone 8.9, 10.9, 11.9; together after 8 packets 5.1, 6.3, 7.9, after 4
/// packets 2.7, 3.2, 5.4, after 2 packets 1.8, 2.3, 4.3, and in rows of 32 KiB after 2 packets 1.9,
/// 2.7, 9.7.
inline constexpr std::size_t packets_at_once = 8, bytes_at_once = 64 << 10;
inline constexpr std::size_t row_bytes = 64 << 10;
/// Where the rooms of receivers are no longer than a packet of one cell, rows are short, and so is
/// what travels in them.
inline constexpr std::size_t short_row_bytes = 8 << 10, short_bytes = 1 << 10;
/// What a packet's seal covers of each of its cells: it, and behind an offer the place that is to
/// be read.
inline constexpr std::size_t sealed_bytes = 128;

}  // namespace weft::net
