// SPDX-License-Identifier: Apache-2.0
//
// MPI_Dims_create (MPI-5.0 §8.5.2): dimensions as close to each other as possible. That is here:
// the smallest difference between the largest and the smallest; among those the largest smallest
// one, then the largest second smallest, and so on. The standard leaves the measure open.
#include <algorithm>
#include <vector>

#include "object/topology.h"

namespace weft::object {
namespace {

std::vector<int> divisors_of(int n) {
  std::vector<int> divisors;
  for (int d = 1; static_cast<std::int64_t>(d) * d <= n; ++d)
    if (n % d == 0) {
      divisors.push_back(d);
      if (d != n / d) divisors.push_back(n / d);
    }
  std::sort(divisors.begin(), divisors.end());
  return divisors;
}

/// d to the power k, or something larger than n if that is larger.
std::int64_t power(int d, std::size_t k, int n) {
  std::int64_t product = 1;
  for (; k > 0 && product <= n; --k) product *= d;
  return product;
}

struct Bounds {
  int least, most;
};

/// Fill `out` with factors of n within the bounds, non-increasing, the smallest as large as
/// possible, then the next. `divisors` has all of n's.
bool factor(int n, const std::vector<int>& divisors, Bounds bounds, std::span<int> out) {
  if (out.empty()) return n == 1;
  if (power(bounds.most, out.size(), n) < n) return false;
  for (auto d = divisors.rbegin(); d != divisors.rend() && *d >= bounds.least; ++d) {
    // The smallest factor is at most the k-th root of n.
    if (*d > bounds.most || n % *d != 0 || power(*d, out.size(), n) > n) continue;
    out.back() = *d;
    if (factor(n / *d, divisors, {*d, bounds.most}, out.first(out.size() - 1))) return true;
  }
  return false;
}

/// The best factors of n, non-increasing.
std::vector<int> balanced(int n, std::size_t k) {
  const std::vector<int> divisors = divisors_of(n);
  std::vector<int> best(k, 1), tried(k);
  best[0] = n;
  int spread = n - 1;
  for (const int largest : divisors) {
    const int least = std::max(1, largest - spread);
    if (least > 1 && power(least, k - 1, n) > n / largest) break;  // for larger ones, too
    tried[0] = largest;
    if (!factor(n / largest, divisors, {least, largest}, std::span(tried).subspan(1))) continue;
    best = tried;
    spread = largest - best.back();
  }
  return best;
}

}  // namespace

Err create_dims(int nnodes, std::span<int> dims) {
  if (nnodes <= 0) return fail(MPI_ERR_ARG, "nnodes is %d; it must be positive", nnodes);
  int rest = nnodes;
  std::size_t free = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] < 0)
      return fail(MPI_ERR_DIMS, "dims[%zu] is %d; it must be 0 (to be chosen) or positive", i,
                  dims[i]);
    if (dims[i] == 0) {
      ++free;
    } else if (rest % dims[i] != 0) {
      return fail(MPI_ERR_DIMS, "nnodes is %d and not a multiple of the given dimensions", nnodes);
    } else {
      rest /= dims[i];
    }
  }
  if (free == 0) {
    if (rest == 1) return ok;
    return fail(MPI_ERR_DIMS, "the given dimensions do not multiply up to nnodes, which is %d",
                nnodes);
  }
  const std::vector<int> chosen = balanced(rest, free);
  auto next = chosen.begin();
  for (int& d : dims)
    if (d == 0) d = *next++;
  return ok;
}

}  // namespace weft::object
