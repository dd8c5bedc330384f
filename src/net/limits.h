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
/// A packet whose payload is sent from where it lies, at most: all that is pushed (limits.h of
/// pt2pt). Rooms take memory as far as something has come.
inline constexpr std::uint32_t lent_bytes = 256 << 10;
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
/// Long data is read in pieces, of which so many bytes are asked of a peer at a time: short
/// messages of that peer come between pieces, and the second piece is there to be sent when the
/// first has gone. More would lie in the sockets and leave the caches before it is taken out.
/// Measured, 2-core EPYC (family 26), far cores, tcp of libfabric 2.5 over loopback, 2026-11-24,
/// us, medians of 8 runs: half a round trip of 1 MiB, a window of 16, by pieces of 1 MiB and 2 MiB
/// ahead 212, 271; of 512 KiB, two and one at a time 157, 238 and 140, 264; of 256 KiB 167, 258 and
/// 158, 349.
inline constexpr std::size_t read_piece_bytes = 512 << 10, reads_ahead_bytes = 2 * read_piece_bytes;

/// A message of up to so many bytes, and more than a packet has, is announced: its data follows by
/// itself, in pieces as above, and is received where it is to lie, without a copy or an answer. And
/// bytes of such data for one peer that may be on their way: what they find no receive for takes
/// memory there. Longer ones gain nothing in a window, as they leave the caches in the sockets
/// (bench/README.md has the figures).
inline constexpr std::uint32_t announced_bytes = 1 << 20;
inline constexpr std::size_t announced_ahead_bytes = 4 * announced_bytes;

/// A put or get of so many bytes goes by the provider's remote memory where the target's end has to
/// be driven by the target all the same: shorter ones are as fast in a packet, and are words that
/// are stored at once.
inline constexpr std::int64_t reached_bytes = 4 << 10;

/// Outlets of a lane, for as many idle threads: each has rooms_to_send of its own, half a MiB, and
/// a connection to each of its peers.
inline constexpr int most_outlets = 7;

/// So often the connection of one message may be lost before its receiver is.
inline constexpr int most_failures = 5;

/// A greeting that nobody has answered is said again: after this time, then after twice as long,
/// and so on to the longest. An answer takes as long as the peer is not in MPI.
inline constexpr std::int64_t first_again_ns = 20'000'000, longest_again_ns = 1'000'000'000;

/// Short packets to one rank between two looks; what comes then waits for the next look, to travel
/// together. A halo has no more for a neighbour. Packets of several cells are no longer than
/// row_bytes: their seal covers all of them, at some ns for 8 bytes.
inline constexpr int short_packets = 8;
inline constexpr std::size_t short_bytes = 1 << 10, row_bytes = 8 << 10;
/// What a packet's seal covers of one cell: it, and behind an offer the place that is to be read.
inline constexpr std::size_t sealed_bytes = 128;

}  // namespace weft::net
