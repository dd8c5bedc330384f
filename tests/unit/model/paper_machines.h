// SPDX-License-Identifier: Apache-2.0
//
// The two machines of Li, Hoefler, Snir (HPDC 2013) as parameters.
//
// From the text (section 3.4, Westmere): Rl 1.2 ns, Rs 28.5 ns, Rr 105.2 ns; a line costs Rl more
// for a copy and 2 Rl more for a fold. The text has no bandwidth (b, B) and no latency of the
// Magny-Cours (its figures 15, 17 and 18 do). Taken here: for Magny-Cours Rl = 3 cycles of 2.4 GHz
// and Rs, Rr, Rd of usual size with 4 Rs + 2 Rr + Rd + 12 Rl = 608.4 ns; for both b and B that fit
// all the paper says in words: where tree and tiled cross, and which broadcast wins.
#pragma once

#include "model/equations.h"

namespace weft::model::paper {

inline constexpr double ns = 1e-9;

struct Latencies {
  double Rl, Rs, Rr, Rd;
};
inline constexpr Latencies westmere_ns{1.2, 28.5, 105.2, 105.2};
inline constexpr Latencies magny_cours_ns{1.25, 50, 120, 153.4};

/// Only latencies, as in the check with one line: contention is ignored there.
inline Machine latencies(const Latencies& r, int sockets, int cores) {
  Machine x;
  x.levels = 2;
  x.level[0] = {"L3Cache", r.Rs * ns, 0, 0};
  x.level[1] = {"Machine", r.Rr * ns, 0, 0, r.Rd * ns};
  x.fan[0] = cores;
  x.fan[1] = sockets;
  x.copy = r.Rl * ns;
  x.reduce = 2 * r.Rl * ns;
  return x;
}
/// With bandwidths, and without what a fold and a copy cost by themselves, as in (1) to (11).
inline Machine bandwidths(Machine x, const Level& socket, const Level& link) {
  x.level[0] = socket;
  x.level[1] = link;
  x.copy = x.reduce = 0;
  return x;
}

inline Machine westmere_latencies() {
  return latencies(westmere_ns, 2, 6);
}
inline Machine westmere() {
  return bandwidths(westmere_latencies(), {"L3Cache", 24.5 * ns, 4 * ns, 3.57 * ns},
                    {"Machine", 98.2 * ns, 7 * ns, 4 * ns});
}
inline Machine magny_cours_latencies() {
  return latencies(magny_cours_ns, 4, 8);
}
inline Machine magny_cours() {
  return bandwidths(magny_cours_latencies(), {"L3Cache", 40 * ns, 10 * ns, 5.5 * ns},
                    {"Machine", 104 * ns, 16 * ns, 15.05 * ns, 137.4 * ns});
}

}  // namespace weft::model::paper
