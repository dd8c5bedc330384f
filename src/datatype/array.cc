// SPDX-License-Identifier: Apache-2.0
//
// Subarrays and distributed arrays (MPI-5.0 §5.1.3, §5.1.4): nested repetitions, one per dimension,
// from the dimension that varies fastest outwards. Both span the whole array: lower bound 0, extent
// the array's size.
#include "datatype/draft.h"

namespace weft::datatype {
namespace {

using ll = long long;

Err check_order(int ndims, int order) {
  if (ndims < 1) return fail(MPI_ERR_DIMS, "ndims is %d; it must be 1 or more", ndims);
  if (order == MPI_ORDER_C || order == MPI_ORDER_FORTRAN) return ok;
  return fail(MPI_ERR_ARG, "order is %d; it must be MPI_ORDER_C or MPI_ORDER_FORTRAN", order);
}

/// The dimension that varies fastest but `n`.
int dimension(int n, int ndims, int order) {
  return order == MPI_ORDER_C ? ndims - 1 - n : n;
}

/// extent * sizes[0] * sizes[1] ...: the distance of neighbours in the dimension after those.
Err widen(int64_t& stride, int64_t size) {
  if (!__builtin_mul_overflow(stride, size, &stride)) return ok;
  return fail(MPI_ERR_ARG, "the whole array has more bytes than 64 bits hold");
}

Err check_subarray(int i, int64_t size, int64_t subsize, int64_t start) {
  if (size < 1) return fail(MPI_ERR_ARG, "size %d is %lld; it must be 1 or more", i, ll(size));
  if (subsize < 1 || subsize > size)
    return fail(MPI_ERR_ARG, "subsize %d is %lld; it must be from 1 to the array's size %lld", i,
                ll(subsize), ll(size));
  if (start < 0 || start > size - subsize)
    return fail(MPI_ERR_ARG,
                "start %d is %lld; with size %lld and subsize %lld it must be from 0 to %lld", i,
                ll(start), ll(size), ll(subsize), ll(size - subsize));
  return ok;
}

/// One dimension of a distributed array.
struct Share {
  int64_t gsize;
  int distribution, argument, processes, coordinate;
};

Err bad_argument(int i, const Share& s, const char* expected) {
  return fail(MPI_ERR_ARG, "distribution argument %d is %d; %s", i, s.argument, expected);
}

/// The length of the blocks that dimension i is dealt out in.
Err block_length(int i, const Share& s, int64_t* length) {
  const bool chosen = s.argument != MPI_DISTRIBUTE_DFLT_DARG;
  if (s.gsize < 1)
    return fail(MPI_ERR_ARG, "global size %d is %lld; it must be 1 or more", i, ll(s.gsize));
  if (chosen && s.argument < 1 && s.distribution != MPI_DISTRIBUTE_NONE)
    return bad_argument(i, s, "it must be 1 or more, or MPI_DISTRIBUTE_DFLT_DARG");
  switch (s.distribution) {
    case MPI_DISTRIBUTE_NONE:
      *length = s.gsize;
      if (s.processes == 1) return ok;
      return fail(MPI_ERR_ARG,
                  "dimension %d is not distributed (MPI_DISTRIBUTE_NONE), but its process "
                  "count is %d; it must be 1",
                  i, s.processes);
    case MPI_DISTRIBUTE_BLOCK:
      *length = chosen ? s.argument : (s.gsize - 1) / s.processes + 1;
      // no overflow: both are ints
      if (!chosen || *length * s.processes >= s.gsize) return ok;
      return bad_argument(i, s, "times the process count it must reach the global size");
    case MPI_DISTRIBUTE_CYCLIC:
      *length = chosen ? s.argument : 1;
      return ok;
  }
  return fail(MPI_ERR_ARG,
              "distribution %d is %d; it must be MPI_DISTRIBUTE_BLOCK, _CYCLIC or _NONE", i,
              s.distribution);
}

/// What one process owns of a dimension: whole blocks at a fixed distance, then perhaps a part.
const Term* own(Draft& draft, const Share& s, int64_t block, int64_t stride, const Term* inner) {
  const int64_t first = block * s.coordinate;
  const int64_t left = s.gsize - first;  // from our first element on
  if (left <= 0) return draft.entries(nullptr, 0);
  // 64 bits do not always hold the period; there is one block then.
  int64_t period = 0;
  if (__builtin_mul_overflow(block, s.processes, &period)) period = s.gsize;
  const int64_t whole = left < block ? 0 : (left - block) / period + 1;
  const int64_t rest = whole == 0 ? left : (left - block) % period - (period - block);
  auto* list = draft->arena.make<Entry>(2);
  int64_t n = 0;
  if (whole > 0) {
    const int64_t distance = whole > 1 ? period * stride : 0;
    list[n++] = {first * stride, whole, distance, draft.repeat(inner, block, stride)};
  }
  if (rest > 0) list[n++] = {(s.gsize - rest) * stride, rest, stride, inner};
  return draft.entries(list, n);
}

}  // namespace

Err create_subarray(Maker by, int ndims, const Subarray& a, int order, const Type& old,
                    Type** out) {
  WEFT_TRY(check_order(ndims, order));
  for (const void* given : {a.sizes.data, a.subsizes.data, a.starts.data})
    WEFT_TRY(check_array("sizes, subsizes or starts", ndims, given));
  for (int i = 0; i < ndims; ++i)
    WEFT_TRY(check_subarray(i, a.sizes[i], a.subsizes[i], a.starts[i]));

  Draft draft(by, MPI_COMBINER_SUBARRAY);
  auto& values = draft->values;
  values.push_back(ndims);
  for (const Numbers& n : {a.sizes, a.subsizes, a.starts})
    for (int i = 0; i < ndims; ++i) values.push_back(n[i]);
  values.push_back(order);
  draft->n_ints = static_cast<int64_t>(values.size());

  const Term* term = draft.component(old);
  int64_t stride = old.extent;
  for (int n = 0; n < ndims; ++n) {
    const int i = dimension(n, ndims, order);
    const int64_t near = stride;
    WEFT_TRY(widen(stride, a.sizes[i]));
    term = draft.repeat(term, a.subsizes[i], near, a.starts[i] * near);
  }
  return draft.finish(term, out, {0, stride, true});
}

Err create_darray(Maker by, const Darray& a, const Type& old, Type** out) {
  WEFT_TRY(check_order(a.ndims, a.order));
  for (const void* given :
       {a.gsizes.data, static_cast<const void*>(a.distributions),
        static_cast<const void*>(a.arguments), static_cast<const void*>(a.psizes)})
    WEFT_TRY(check_array("gsizes, distribs, dargs or psizes", a.ndims, given));
  int64_t grid = 1;
  for (int i = 0; i < a.ndims; ++i) {
    if (a.psizes[i] < 1)
      return fail(MPI_ERR_ARG, "process count %d is %d; it must be 1 or more", i, a.psizes[i]);
    if (__builtin_mul_overflow(grid, a.psizes[i], &grid)) grid = -1;
  }
  if (grid != a.size)
    return fail(MPI_ERR_ARG, "the process grid has %lld processes, but size is %d", ll(grid),
                a.size);
  if (a.rank < 0 || a.rank >= a.size)
    return fail(MPI_ERR_ARG, "rank is %d; it must be from 0 to size - 1 = %d", a.rank, a.size - 1);

  Draft draft(by, MPI_COMBINER_DARRAY);
  auto& values = draft->values;
  values = {a.size, a.rank, a.ndims};
  for (int i = 0; i < a.ndims; ++i) values.push_back(a.gsizes[i]);
  for (const int* list : {a.distributions, a.arguments, a.psizes})
    for (int i = 0; i < a.ndims; ++i) values.push_back(list[i]);
  values.push_back(a.order);
  draft->n_ints = static_cast<int64_t>(values.size());

  // Processes are numbered in row-major order, whatever the order of the array.
  std::vector<int> coordinates(static_cast<std::size_t>(a.ndims));
  for (int i = a.ndims - 1, rest = a.rank; i >= 0; --i) {
    coordinates[static_cast<std::size_t>(i)] = rest % a.psizes[i];
    rest /= a.psizes[i];
  }
  const Term* term = draft.component(old);
  int64_t stride = old.extent;
  for (int n = 0; n < a.ndims; ++n) {
    const int i = dimension(n, a.ndims, a.order);
    const Share share{a.gsizes[i], a.distributions[i], a.arguments[i], a.psizes[i],
                      coordinates[static_cast<std::size_t>(i)]};
    int64_t block = 0;
    WEFT_TRY(block_length(i, share, &block));
    const int64_t near = stride;
    WEFT_TRY(widen(stride, share.gsize));
    term = own(draft, share, block, near, term);
  }
  return draft.finish(term, out, {0, stride, true});
}

}  // namespace weft::datatype
