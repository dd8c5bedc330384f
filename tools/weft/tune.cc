// SPDX-License-Identifier: Apache-2.0
//
// Threads are pinned to one CPU each and meet at spinning barriers; a wait that takes long yields,
// and a measurement ends after some time whatever it has, so that a machine with other work only
// makes results worse, not endless.
#include "tune.h"

#include <immintrin.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#include "base/copy.h"
#include "base/cpus.h"
#include "datatype/reduce.h"
#include "topo/table.h"

namespace weft::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t short_lines = 16, long_lines = 512,
                      most_lines = 2048;  // 1 KiB; half a strip; two strips, in the L2
constexpr int rounds = 300, passes_per_round = 100, memory_rounds = 20, turns = 200;
constexpr int most_threads = 128;
constexpr int passes_most = 7;
constexpr double all_passes_s = 0.6;
constexpr double enough_s = 0.05;  // for one measurement; on a quiet machine all rounds take less

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The lower quartile.
double typical(std::vector<double> times) {
  const auto at = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 4);
  std::nth_element(times.begin(), at, times.end());
  return *at;
}

template <class Done>
void spin_until(Done&& done) {
  for (int i = 0; !done(); ++i)
    if (i > 2000) sched_yield();
}

struct alignas(128) Flag {
  std::atomic<int> value{0};
  // release and acquire: what was written before is seen after; all flags pair with themselves
  void set(int n) { value.store(n, std::memory_order_release); }
  void await(int n) {
    spin_until([&] { return value.load(std::memory_order_acquire) >= n; });
  }
};

/// Runs body(i) on cpus[i], each on its own thread; false if one could not be pinned.
bool run_pinned(const std::vector<int>& cpus, const std::function<void(int)>& body) {
  std::atomic<int> ready{0}, failed{0};
  const int n = static_cast<int>(cpus.size());
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i)
    threads.emplace_back([&, i] {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(static_cast<std::size_t>(cpus[static_cast<std::size_t>(i)]), &set);
      if (pthread_setaffinity_np(pthread_self(), sizeof set, &set) != 0) ++failed;
      ++ready;
      spin_until([&] { return ready.load() == n; });
      if (failed.load() == 0) body(i);
    });
  for (std::thread& t : threads) t.join();
  return failed.load() == 0;
}

struct alignas(4096) Buffer {
  std::byte bytes[most_lines * 64] = {};
  /// A new value in every line: then all of them are ours alone.
  void write(int stamp, std::size_t lines) {
    for (std::size_t i = 0; i < lines; ++i) std::memcpy(bytes + i * 64, &stamp, sizeof stamp);
  }
};

double copy_time(Buffer& to, const Buffer& from, std::size_t lines, bool past = false) {
  const auto start = Clock::now();
  if (past)
    stream_bytes(to.bytes, from.bytes, lines * 64);
  else
    std::memcpy(to.bytes, from.bytes, lines * 64);
  asm volatile("" : : "r"(to.bytes) : "memory");
  return seconds_since(start);
}

/// a + b: half of what a line takes to another core and one back.
bool measure_line(const std::vector<int>& pair, double* out) {
  Flag flags[2];
  std::vector<double> times;
  std::atomic<bool> enough{false};  // set in front of a flag, which carries it
  const auto begin = Clock::now();
  const bool done = run_pinned(pair, [&](int me) {
    for (int round = 0; round < rounds / 3 && !enough; ++round) {
      const auto start = Clock::now();
      for (int i = 1; i <= passes_per_round; ++i) {
        const int n = round * passes_per_round + i;
        if (me == 0 && i == passes_per_round && seconds_since(begin) > enough_s) enough = true;
        if (me == 0) flags[0].set(n);
        flags[1 - me].await(n);
        if (me == 1) flags[1].set(n);
      }
      if (me == 0) times.push_back(seconds_since(start) / passes_per_round / 2);
    }
  });
  if (done) *out = typical(times);
  return done;
}

/// Everybody writes, then the readers copy from their partners at once: seconds for `lines`.
bool measure_copies(const std::vector<int>& cpus, bool all_read, std::size_t lines, double* out) {
  const int n = static_cast<int>(cpus.size());
  std::vector<Buffer> from(cpus.size()), to(cpus.size());
  std::vector<Flag> flags(cpus.size());
  std::vector<std::vector<double>> times(cpus.size());
  const auto meet = [&](int me, int number) {
    flags[static_cast<std::size_t>(me)].set(number);
    for (Flag& flag : flags) flag.await(number);
  };
  std::atomic<bool> enough{false};  // set in front of a flag, which carries it
  const auto begin = Clock::now();
  const bool done = run_pinned(cpus, [&](int me) {
    const auto self = static_cast<std::size_t>(me);
    const auto partner = static_cast<std::size_t>(me ^ 1);
    for (int round = 0; round < rounds && !enough; ++round) {
      from[self].write(round, lines);
      meet(me, 2 * round + 1);
      if (all_read || me == 0) times[self].push_back(copy_time(to[self], from[partner], lines));
      if (me == 0 && seconds_since(begin) > enough_s) enough = true;
      meet(me, 2 * round + 2);
    }
  });
  if (!done) return false;
  double sum = 0;
  for (int i = 0; i < (all_read ? n : 1); ++i) sum += typical(times[static_cast<std::size_t>(i)]);
  *out = sum / (all_read ? n : 1);
  return true;
}

/// Seconds per line of a copy of partners' lines, so many lines at a time, beside what its start
/// costs.
bool measure_slope(const std::vector<int>& cpus, bool all_read, double* out) {
  double little = 0, much = 0;
  if (!measure_copies(cpus, all_read, short_lines, &little) ||
      !measure_copies(cpus, all_read, long_lines, &much))
    return false;
  *out = (much - little) / (long_lines - short_lines);
  return true;
}

/// Seconds per line that one CPU writes again after the other has read it, beside what it takes
/// when nobody has.
bool measure_back(const std::vector<int>& pair, double* out) {
  Buffer own, other;
  Flag written, read;
  std::vector<double> times;
  std::atomic<bool> enough{false};  // set in front of a flag, which carries it
  const auto begin = Clock::now();
  const auto write_time = [&](int stamp) {
    const auto start = Clock::now();
    own.write(stamp, most_lines);
    return seconds_since(start) / most_lines;
  };
  const bool done = run_pinned(pair, [&](int me) {
    for (int round = 1; round <= rounds && !enough; ++round) {
      if (me == 0) {
        const double after_reading = write_time(2 * round);
        times.push_back(after_reading - write_time(2 * round + 1));
        if (seconds_since(begin) > enough_s) enough = true;
        written.set(round);
        read.await(round);
      } else {
        written.await(round);
        copy_time(other, own, most_lines);
        read.set(round);
      }
    }
  });
  if (done) *out = std::max(typical(times), 0.0);
  return done;
}

template <class Work>
double per_line_here(Work&& work) {
  std::vector<double> times;
  for (int round = 0; round < rounds; ++round) {
    const auto start = Clock::now();
    work();
    times.push_back(seconds_since(start) / long_lines);
  }
  return typical(times);
}

void flush(const Buffer& buffer) {
  for (std::size_t i = 0; i < long_lines; ++i) _mm_clflush(buffer.bytes + i * 64);
  _mm_mfence();
}

/// Seconds per line copied from memory to memory, of each of these CPUs, all at once; with stores
/// past the caches?
bool measure_memory(const std::vector<int>& cpus, bool past, double* out) {
  const int n = static_cast<int>(cpus.size());
  std::vector<Buffer> from(cpus.size()), to(cpus.size());
  std::vector<std::vector<double>> times(cpus.size());
  std::vector<Flag> flags(cpus.size());
  const bool done = run_pinned(cpus, [&](int me) {
    const auto self = static_cast<std::size_t>(me);
    for (int round = 1; round <= memory_rounds; ++round) {
      from[self].write(round, long_lines);
      flush(from[self]);
      flush(to[self]);
      flags[self].set(round);
      for (Flag& flag : flags) flag.await(round);
      times[self].push_back(copy_time(to[self], from[self], long_lines, past));
    }
  });
  if (!done) return false;
  double sum = 0;
  for (const auto& own : times) sum += typical(own);
  *out = sum / n / long_lines;
  return true;
}

/// Seconds until the other one of two threads on one CPU runs.
bool measure_turn(int cpu, double* out) {
  std::atomic<int> turn{0};
  double seconds = 0;
  const bool done = run_pinned({cpu, cpu}, [&](int me) {
    const auto start = Clock::now();
    for (int i = 0; i < turns; ++i) {
      // acquire and release: pair with each other
      while (turn.load(std::memory_order_acquire) % 2 != me) sched_yield();
      turn.fetch_add(1, std::memory_order_release);
    }
    if (me == 0) seconds = seconds_since(start);
  });
  if (done) *out = seconds / turns / 2;
  return done;
}

/// The hierarchy of all CPUs: "rank" i is cpus[i].
struct Node {
  std::vector<int> cpus;
  std::vector<std::uint64_t> memory;
  explicit Node(const topo::Topology& node) {
    std::vector<topo::Slice> slices;
    for (const topo::Core& core : node.cores())
      for (const int cpu : core.cpus) {
        cpus.push_back(cpu);
        slices.push_back({{{cpu}}});
      }
    memory.resize(topo::HierarchyTable::bytes(slices.size()) / 8 + 1);
    topo::fill_table(node, slices, table());
  }
  topo::HierarchyTable& table() { return *reinterpret_cast<topo::HierarchyTable*>(memory.data()); }
  topo::Hierarchy view() { return topo::Hierarchy(table()); }
};

/// CPUs of the part of `level` that holds CPU 0, two by two so that a pair has just `level` in
/// common; one thread per core unless the level is the core.
std::vector<int> pairs_at(Node& node, int level) {
  const topo::Hierarchy h = node.view();
  const int core = h.level_named("Core");
  std::vector<int> free, out;
  for (int i = 0; i < static_cast<int>(node.cpus.size()); ++i) {
    if (h.group_of(level, i) != h.group_of(level, 0)) continue;
    const bool sibling = core >= 0 && level < core && !free.empty() &&
                         h.group_of(core, free.back()) == h.group_of(core, i);
    if (!sibling) free.push_back(i);
  }
  // Threads that wait for their turn would measure the scheduler.
  const int quota = cpu_quota();
  const std::size_t most = quota > 1 ? static_cast<std::size_t>(quota) : most_threads;
  while (!free.empty() && out.size() + 2 <= std::min<std::size_t>(most, most_threads)) {
    const int first = free.front();
    free.erase(free.begin());
    const auto partner = std::find_if(free.begin(), free.end(), [&](int other) {
      return h.deepest_common(first, other) == level;
    });
    if (partner == free.end()) continue;
    out.push_back(node.cpus[static_cast<std::size_t>(first)]);
    out.push_back(node.cpus[static_cast<std::size_t>(*partner)]);
    free.erase(partner);
  }
  return out;
}

bool measure_level(const std::vector<int>& cpus, double copy, model::Level* level) {
  double line = 0, alone = 0, together = 0;
  const std::vector<int> pair(cpus.begin(), cpus.begin() + 2);
  if (!measure_line(pair, &line) || !measure_slope(pair, false, &alone) ||
      !measure_slope(cpus, true, &together) || !measure_back(pair, &level->w))
    return false;
  constexpr double least = 0.05e-9;
  level->b = std::clamp(alone - copy, least, line);
  level->a = line - level->b;
  level->B = std::max(level->b, together - copy) / static_cast<double>(cpus.size());
  return true;
}

model::Parameters measure_once(const topo::Topology& topology, std::string* problem) {
  model::Parameters out = model::built_in();
  out.levels = 0;
  out.measured = true;
  std::vector<Buffer> own(2);
  Buffer &from = own[0], &to = own[1];
  from.write(0, long_lines);
  out.copy = per_line_here([&] { copy_time(to, from, long_lines); });
  out.reduce = per_line_here([&] {
    datatype::reduce(datatype::Operation::sum, datatype::Basic::f64, from.bytes, to.bytes,
                     long_lines * 8);
  });
  Node node(topology);
  const topo::Hierarchy h = node.view();
  std::vector<int> all = pairs_at(node, 0);
  if (all.empty()) all = {node.cpus.front()};
  double together = 0, past = 0;
  if (!measure_memory({all.front()}, false, &out.memory.b) ||
      !measure_memory(all, false, &together) || !measure_memory(all, true, &past) ||
      !measure_turn(all.front(), &out.turn))
    *problem = "threads cannot be pinned to CPUs";
  out.memory.B = together / static_cast<double>(all.size());
  out.memory.past = past / static_cast<double>(all.size());
  for (int l = h.levels() - 1; l >= 0; --l) {
    const std::vector<int> cpus = pairs_at(node, l);
    if (cpus.empty()) continue;
    model::Level level{};
    std::snprintf(level.name, sizeof level.name, "%s",
                  std::string(model::price_name(h, l)).c_str());
    if (measure_level(cpus, out.copy, &level))
      out.level[out.levels++] = level;
    else
      *problem = std::string("threads cannot be pinned to the CPUs of level ") + level.name;
  }
  return out;
}

/// The median of one number over all passes; `spread`: the upper quartile over the lower one.
template <class Get>
double middle(const std::vector<model::Parameters>& passes, Get&& get, double* spread = nullptr) {
  std::vector<double> values;
  for (const model::Parameters& pass : passes) values.push_back(get(pass));
  std::sort(values.begin(), values.end());
  if (spread != nullptr) *spread = values[values.size() * 3 / 4] / values[values.size() / 4];
  return values[values.size() / 2];
}

}  // namespace

model::Parameters measure(const topo::Topology& topology, std::string* problem,
                          std::string* doubt) {
  std::vector<model::Parameters> passes;
  const auto begin = Clock::now();
  for (int i = 0; i < passes_most && (i < 3 || seconds_since(begin) < all_passes_s); ++i) {
    if (i > 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    passes.push_back(measure_once(topology, problem));
    if (passes.back().levels != passes.front().levels) return passes.back();  // `problem` says why
  }
  model::Parameters out = passes[0];
  out.copy = middle(passes, [](const auto& p) { return p.copy; });
  out.reduce = middle(passes, [](const auto& p) { return p.reduce; });
  out.memory.b = middle(passes, [](const auto& p) { return p.memory.b; });
  out.memory.B = middle(passes, [](const auto& p) { return p.memory.B; });
  out.memory.past = middle(passes, [](const auto& p) { return p.memory.past; });
  out.turn = middle(passes, [](const auto& p) { return p.turn; });
  for (int l = 0; l < out.levels; ++l) {
    model::Level& level = out.level[l];
    double spread = 1;
    level.a = middle(
        passes, [&](const auto& p) { return p.level[l].a; }, &spread);
    level.b = middle(passes, [&](const auto& p) { return p.level[l].b; });
    level.B = middle(passes, [&](const auto& p) { return p.level[l].B; });
    level.w = middle(passes, [&](const auto& p) { return p.level[l].w; });
    if (spread > 20)
      *doubt = std::string("lines between cores of one ") + level.name + " took " +
               std::to_string(static_cast<int>(spread)) + " times as long in some passes";
    else if (spread > 2)
      *problem = std::string("lines between cores of one ") + level.name +
                 " took very different times (" + std::to_string(static_cast<int>(spread)) +
                 " to 1): other programs run here, or a virtual machine's CPUs move; the medians "
                 "are kept";
  }
  if (doubt->empty()) *doubt = model::doubts_about(out);
  return out;
}

std::string prices_as_text(const model::Parameters& prices) {
  std::string out =
      "  cores of one           one line   each of many   many at once   written again\n"
      "  (smallest common part)    a + b              b              B               w\n";
  char line[224];
  for (int l = 0; l < prices.levels; ++l) {
    const model::Level& level = prices.level[l];
    std::snprintf(line, sizeof line, "  %-20s %8.1f ns %11.2f ns %11.2f ns %12.2f ns\n", level.name,
                  level.line() * 1e9, level.b * 1e9, level.B * 1e9, level.back() * 1e9);
    out += line;
  }
  std::snprintf(line, sizeof line,
                "  a line copied in the cache %.2f ns, folded (sum of doubles) %.2f ns\n",
                prices.copy * 1e9, prices.reduce * 1e9);
  out += line;
  std::snprintf(
      line, sizeof line,
      "  a line copied from memory to memory %.2f ns; many at once %.2f ns, %.2f ns past the "
      "caches\n"
      "  the next of several ranks on one CPU runs after %.0f ns\n",
      prices.memory.b * 1e9, prices.memory.B * 1e9, prices.memory.past * 1e9, prices.turn * 1e9);
  return out + line;
}

}  // namespace weft::tool
