// SPDX-License-Identifier: Apache-2.0
//
// What the head of each algorithm says it costs is what its schedules do: the simulated time with
// only one of the prices (message, byte, reduced byte) set to 1 is the coefficient that is printed
// there.
#include "coll/messages/folding.h"
#include "unit/coll/simulator.h"

namespace weft::coll::sim {
namespace {

constexpr std::int64_t n = 1680;  // elements; divisible by every p below

/// T = messages * alpha + bytes * beta + reduced * gamma on the longest path.
struct Cost {
  std::int64_t messages = 0;
  std::int64_t bytes = 0;
  std::int64_t reduced = 0;
};

Cost reduce_binomial_cost(int p, std::int64_t n) {
  return {log2_ceil(p), log2_ceil(p) * n, log2_ceil(p) * n};
}
int slots_of(int p, int bit) {
  int n = 0;
  for (int d = 1; d < p; ++d) n += (d & bit) != 0;
  return n;
}
Cost barrier_dissemination_cost(int p, std::int64_t) {
  return {log2_ceil(p), 0, 0};
}

Cost scan_recursive_doubling_cost(int p, std::int64_t n) {
  return {log2_ceil(p), log2_ceil(p) * n, 2 * log2_ceil(p) * n};
}

Cost exscan_recursive_doubling_cost(int p, std::int64_t n) {
  return scan_recursive_doubling_cost(p, n);
}

Cost reduce_scatter_ordered_cost(int p, std::int64_t n) {
  return {p - 1, n / p * (p - 1), n / p * (p - 1)};
}

Cost reduce_ordered_cost(int p, std::int64_t n) {
  return {2 * (p - 1), 2 * (n / p * (p - 1)), n / p * (p - 1)};
}

Cost allreduce_ordered_cost(int p, std::int64_t n) {
  return reduce_ordered_cost(p, n);
}

Cost alltoall_pairwise_cost(int p, std::int64_t n) {
  return {p - 1, (p - 1) * n, 0};
}

Cost allreduce_rabenseifner_cost(int p, std::int64_t n) {
  const Folding fold(p);
  const bool folded = fold.extra != 0;
  const std::int64_t most = n / fold.power * (fold.power - 1);
  return {2 * log2_floor(p) + 2 * folded, 2 * most + 2 * folded * n, most + folded * n};
}

Cost scatter_linear_cost(int p, std::int64_t n) {
  return {p - 1, (p - 1) * n, 0};
}

Cost allgather_ring_cost(int p, std::int64_t n) {
  return {p - 1, (p - 1) * n, 0};
}

Cost reduce_scatter_rooted_cost(int p, std::int64_t n) {
  Cost cost = reduce_binomial_cost(p, n);
  cost.messages += p - 1;
  cost.bytes += n / p * (p - 1);
  return cost;
}

Cost bcast_scatter_allgather_cost(int p, std::int64_t n) {
  return {log2_ceil(p) + p - 1, 2 * (n / p) * (p - 1), 0};
}

Cost allreduce_recursive_doubling_cost(int p, std::int64_t n) {
  const std::int64_t d = log2_floor(p);
  const bool folded = Folding(p).extra != 0;
  return {d + 2 * folded, (d + 2 * folded) * n, (d + folded) * n};
}

Cost gather_linear_cost(int p, std::int64_t n) {
  return {p - 1, (p - 1) * n, 0};
}

Cost gather_binomial_cost(int p, std::int64_t n) {
  return {log2_ceil(p), (p - 1) * n, 0};
}

Cost scan_linear_cost(int p, std::int64_t n) {
  return {p - 1, (p - 1) * n, (p - 1) * n};
}

Cost allgather_bruck_cost(int p, std::int64_t n) {
  return {log2_ceil(p), (p - 1) * n, 0};
}

Cost reduce_scatter_pairwise_cost(int p, std::int64_t n) {
  return {p - 1, n / p * (p - 1), n / p * (p - 1)};
}

Cost bcast_binomial_cost(int p, std::int64_t n) {
  return {log2_ceil(p), log2_ceil(p) * n, 0};
}

Cost alltoall_bruck_cost(int p, std::int64_t n) {
  Cost cost{log2_ceil(p), 0, 0};
  for (int bit = 1; bit < p; bit *= 2) cost.bytes += slots_of(p, bit) * n;
  return cost;
}

Cost scatter_binomial_cost(int p, std::int64_t n) {
  return {log2_ceil(p), (p - 1) * n, 0};
}

/// One algorithm: how rank `me` emits it, the size of its payload in elements, its cost.
struct Algorithm {
  const char* name;
  void (*emit)(Schedule&, Array& in, Array& out, Position me);
  std::int64_t elements;
  Cost (*cost)(int p, std::int64_t bytes);
  bool upper_bound = false;  // for bytes and reductions; messages are exact
};

const Op op{};
constexpr std::int64_t block = 6;  // elements of a block of gather and the like

Operands vectors(Array& in, Array& out) {
  return {in.data(), out.data(), n, &in.words().type, &op};
}
Blocks blocks(Array& array) {
  return Blocks(array.buffer(0, block));
}

const Algorithm algorithms[] = {
    {"barrier_dissemination",
     [](Schedule& s, Array&, Array&, Position me) { barrier_dissemination(s, me); }, 0,
     barrier_dissemination_cost},
    {"bcast_binomial",
     [](Schedule& s, Array&, Array& out, Position me) {
       bcast_binomial(s, out.buffer(0, n), 0, me);
     },
     n, bcast_binomial_cost},
    {"bcast_scatter_allgather",
     [](Schedule& s, Array&, Array& out, Position me) {
       bcast_scatter_allgather(s, out.buffer(0, n), 0, me);
     },
     n, bcast_scatter_allgather_cost},
    {"gather_linear",
     [](Schedule& s, Array& in, Array& out, Position me) {
       gather_linear(s, in.buffer(0, block), blocks(out), 0, me);
     },
     block, gather_linear_cost},
    {"gather_binomial",
     [](Schedule& s, Array& in, Array& out, Position me) {
       gather_binomial(s, in.buffer(0, block), blocks(out), 0, me);
     },
     block, gather_binomial_cost},
    {"scatter_linear",
     [](Schedule& s, Array& in, Array& out, Position me) {
       scatter_linear(s, blocks(in), out.buffer(0, block), 0, me);
     },
     block, scatter_linear_cost},
    {"scatter_binomial",
     [](Schedule& s, Array& in, Array& out, Position me) {
       scatter_binomial(s, blocks(in), out.buffer(0, block), 0, me);
     },
     block, scatter_binomial_cost},
    {"allgather_ring",
     [](Schedule& s, Array& in, Array& out, Position me) {
       allgather_ring(s, in.buffer(0, block), blocks(out), me);
     },
     block, allgather_ring_cost},
    {"allgather_bruck",
     [](Schedule& s, Array& in, Array& out, Position me) {
       allgather_bruck(s, in.buffer(0, block), blocks(out), me);
     },
     block, allgather_bruck_cost},
    {"alltoall_pairwise",
     [](Schedule& s, Array& in, Array& out, Position me) {
       alltoall_pairwise(s, blocks(in), blocks(out), me);
     },
     block, alltoall_pairwise_cost},
    {"alltoall_scattered",
     [](Schedule& s, Array& in, Array& out, Position me) {
       alltoall_scattered(s, blocks(in), blocks(out), me);
     },
     block, alltoall_pairwise_cost},
    {"alltoall_bruck",
     [](Schedule& s, Array& in, Array& out, Position me) {
       alltoall_bruck(s, blocks(in), blocks(out), me);
     },
     block, alltoall_bruck_cost},
    {"reduce_binomial",
     [](Schedule& s, Array& in, Array& out, Position me) {
       reduce_binomial(s, vectors(in, out), 0, me);
     },
     n, reduce_binomial_cost},
    {"reduce_ordered",
     [](Schedule& s, Array& in, Array& out, Position me) {
       reduce_ordered(s, vectors(in, out), 0, me);
     },
     n, reduce_ordered_cost},
    {"allreduce_ordered",
     [](Schedule& s, Array& in, Array& out, Position me) {
       allreduce_ordered(s, vectors(in, out), me);
     },
     n, allreduce_ordered_cost},
    {"allreduce_recursive_doubling",
     [](Schedule& s, Array& in, Array& out, Position me) {
       allreduce_recursive_doubling(s, vectors(in, out), me);
     },
     n, allreduce_recursive_doubling_cost},
    {"allreduce_rabenseifner",
     [](Schedule& s, Array& in, Array& out, Position me) {
       allreduce_rabenseifner(s, vectors(in, out), me);
     },
     n, allreduce_rabenseifner_cost},
    {"reduce_scatter_pairwise",
     [](Schedule& s, Array& in, Array& out, Position me) {
       reduce_scatter_pairwise(s, vectors(in, out), Parts(n / me.size), me);
     },
     n, reduce_scatter_pairwise_cost},
    {"reduce_scatter_rooted",
     [](Schedule& s, Array& in, Array& out, Position me) {
       reduce_scatter_rooted(s, vectors(in, out), Parts(n / me.size), me);
     },
     n, reduce_scatter_rooted_cost},
    {"reduce_scatter_ordered",
     [](Schedule& s, Array& in, Array& out, Position me) {
       reduce_scatter_ordered(s, vectors(in, out), Parts(n / me.size), me);
     },
     n, reduce_scatter_ordered_cost},
    {"scan_linear",
     [](Schedule& s, Array& in, Array& out, Position me) { scan_linear(s, vectors(in, out), me); },
     n, scan_linear_cost},
    {"scan_recursive_doubling",
     [](Schedule& s, Array& in, Array& out, Position me) {
       scan_recursive_doubling(s, vectors(in, out), me);
     },
     n, scan_recursive_doubling_cost, true},
    {"exscan_recursive_doubling",
     [](Schedule& s, Array& in, Array& out, Position me) {
       exscan_recursive_doubling(s, vectors(in, out), me);
     },
     n, exscan_recursive_doubling_cost, true},
};

double simulate(const Algorithm& algorithm, int p, const Prices& prices) {
  const Words& words = *all_types()[0];
  Simulator sim(p, {&words}, [](const int*, int*) {});
  std::vector<Array> in(static_cast<std::size_t>(p),
                        Array(words, std::max(algorithm.elements, block * p)));
  std::vector<Array> out = in;
  for (int r = 0; r < p; ++r)
    algorithm.emit(sim.schedule(r), in[static_cast<std::size_t>(r)],
                   out[static_cast<std::size_t>(r)], {r, p});
  return sim.run(Way::eager, prices);
}

TEST(Cost, FormulasDescribeTheSchedules) {
  for (const Algorithm& algorithm : algorithms) {
    for (const int p : {1, 2, 3, 4, 5, 6, 7, 8, 12, 16}) {
      SCOPED_TRACE(testing::Message() << algorithm.name << ", " << p << " ranks");
      const Cost cost = algorithm.cost(p, algorithm.elements * all_types()[0]->type.size);
      EXPECT_EQ(simulate(algorithm, p, {1, 0, 0}), static_cast<double>(cost.messages));
      const double bytes = simulate(algorithm, p, {0, 1, 0});
      const double reduced = simulate(algorithm, p, {0, 0, 1});
      if (algorithm.upper_bound) {
        EXPECT_LE(bytes, static_cast<double>(cost.bytes));
        EXPECT_LE(reduced, static_cast<double>(cost.reduced));
      } else {
        EXPECT_EQ(bytes, static_cast<double>(cost.bytes));
        EXPECT_EQ(reduced, static_cast<double>(cost.reduced));
      }
    }
  }
}

}  // namespace
}  // namespace weft::coll::sim
