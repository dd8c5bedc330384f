#include "coll/walk.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>

namespace weft::coll {
namespace {
using model::Machine;
Machine machine(int a, int b, int c) {
  Machine x;
  x.levels = 3;
  x.level[0] = {"L3Cache", 50e-9, 4e-9, 1e-9};
  x.level[1] = {"NUMANode", 100e-9, 8e-9, 2e-9};
  x.level[2] = {"Machine", 180e-9, 10e-9, 3e-9};
  x.fan[0] = a;
  x.fan[1] = b;
  x.fan[2] = c;
  x.copy = 1e-9;
  x.reduce = 2e-9;
  x.call = 50e-9;
  x.message = 100e-9;
  x.cache_lines = 65536;
  return x;
}
TEST(WalkTime, Print) {
  for (const Machine& x : {machine(2, 2, 2), machine(8, 8, 2), machine(32, 2, 2)}) {
    auto t0 = std::chrono::steady_clock::now();
    Walk walk(x);
    auto t1 = std::chrono::steady_clock::now();
    std::printf("%d ranks: make %.1f us\n", x.ranks(),
                std::chrono::duration<double>(t1 - t0).count() * 1e6);
    for (Call call : explained)
      for (const Way& way : ways_of(call))
        for (bool reach : {false, true})
          for (std::int64_t bytes : {8L, 16384L, 1L << 24}) {
            if (way.place == Place::slots && bytes > 4096) continue;
            if (way.place == Place::slots && call == Call::scan && x.ranks() > 16) continue;
            if (way.place == Place::direct && !reach) continue;
            double best = 1;
            double seconds = 0;
            for (int i = 0; i < 3; ++i) {
              auto a = std::chrono::steady_clock::now();
              seconds = walk.price(way, call, bytes, reach).seconds();
              auto b = std::chrono::steady_clock::now();
              best = std::min(best, std::chrono::duration<double>(b - a).count());
            }
            if (best > (x.ranks() > 8 ? 3e-4 : 15e-6))
              std::printf("%3d %-14s %-18s %d %9ld: walk %8.1f us, price %.2f us\n", x.ranks(),
                          call_name(call).data(), way.name, reach, bytes, best * 1e6,
                          seconds * 1e6);
          }
  }
}
}  // namespace
}  // namespace weft::coll
