// SPDX-License-Identifier: Apache-2.0
//
// Slices are cut in two steps: ranks are apportioned to the domains of the innermost level at which
// whole slices fit, then each domain's cores are cut evenly. All slices have the same size, because
// programs divide their work evenly; cores that remain stay free for the system and for helpers.
#include "topo/slices.h"

#include <algorithm>

namespace weft::topo {
namespace {

struct Domain {
  int first_core = 0;
  int cores = 0;
  int ranks = 0;
};

template <class Of>
std::vector<Domain> domains(std::span<const Core> cores, Of of) {
  std::vector<Domain> out;
  for (int i = 0; i < static_cast<int>(cores.size()); ++i) {
    const auto at = static_cast<std::size_t>(i);
    if (i == 0 || of(cores[at]) != of(cores[at - 1])) out.push_back({i, 0, 0});
    ++out.back().cores;
  }
  return out;
}

bool fit(const std::vector<Domain>& list, int nranks, int slice_cores) {
  int room = 0;
  for (const Domain& d : list) room += d.cores / slice_cores;
  return room >= nranks;
}

// The innermost domains into which the slices fit; the whole machine always takes them.
std::vector<Domain> choose_domains(std::span<const Core> cores, int nranks, int slice_cores) {
  const std::vector<Domain> levels[] = {domains(cores, [](const Core& c) { return c.llc; }),
                                        domains(cores, [](const Core& c) { return c.numa; }),
                                        domains(cores, [](const Core& c) { return c.package; })};
  for (const std::vector<Domain>& level : levels)
    if (fit(level, nranks, slice_cores)) return level;
  return domains(cores, [](const Core&) { return 0; });
}

// Give each rank in turn to the domain that has most cores per rank and still has room. For equal
// domains that is an even spread, over all caches and memory controllers.
void apportion(std::vector<Domain>& list, int nranks, int slice_cores) {
  for (int r = 0; r < nranks; ++r) {
    Domain* best = nullptr;
    for (Domain& d : list) {
      if (d.ranks >= d.cores / slice_cores) continue;
      if (best == nullptr || d.cores * (best->ranks + 1) > best->cores * (d.ranks + 1)) best = &d;
    }
    ++best->ranks;
  }
}

// More ranks than cores: `sharers` ranks on one core, on hardware threads of their own if it has
// enough of them.
void share_core(const Core& core, int sharers, std::vector<Slice>& out) {
  const int threads = static_cast<int>(core.cpus.size());
  for (int k = 0; k < sharers; ++k) {
    const int first = k * threads / sharers;
    const int last = std::max(first + 1, (k + 1) * threads / sharers);
    out.push_back({{{core.cpus.begin() + first, core.cpus.begin() + last}}});
  }
}

}  // namespace

std::vector<int> Slice::cpus() const {
  std::vector<int> out;
  for (const std::vector<int>& place : places) out.insert(out.end(), place.begin(), place.end());
  return out;
}

std::string Slice::omp_places() const {
  std::string text;
  for (int cpu : cpus()) text += (text.empty() ? "{" : ",") + std::to_string(cpu);
  return text + "}";
}

std::vector<Slice> slices(const Topology& topology, int nranks) {
  return slices(topology.cores(), nranks);
}

std::vector<Slice> slices(std::span<const Core> cores, int nranks) {
  const int ncores = static_cast<int>(cores.size());
  std::vector<Slice> out;
  out.reserve(static_cast<std::size_t>(nranks));
  if (nranks > ncores) {
    const auto before = [&](int core) {  // ranks on the cores in front of `core`
      return static_cast<int>(static_cast<long>(core) * nranks / ncores);
    };
    for (int c = 0; c < ncores; ++c)
      share_core(cores[static_cast<std::size_t>(c)], before(c + 1) - before(c), out);
    return out;
  }
  const int slice_cores = ncores / nranks;
  std::vector<Domain> list = choose_domains(cores, nranks, slice_cores);
  apportion(list, nranks, slice_cores);
  for (const Domain& d : list) {
    for (int k = 0; k < d.ranks; ++k) {
      const int first = d.first_core + k * d.cores / d.ranks;
      Slice slice;
      for (int c = first; c < first + slice_cores; ++c)
        slice.places.push_back(cores[static_cast<std::size_t>(c)].cpus);
      out.push_back(std::move(slice));
    }
  }
  return out;
}

}  // namespace weft::topo
