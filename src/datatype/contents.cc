// SPDX-License-Identifier: Apache-2.0
//
// How a type was made, told back to the user (MPI-5.0 §5.1.13). The arguments were kept in the
// order of the int functions; for a type made by a function with large counts, those arguments that
// are MPI_Count there are told as large counts instead.
#include "datatype/construction.h"

namespace weft::datatype {
namespace {

using std::int64_t;
using ll = long long;

/// Which of the values are large counts: [begin, end).
struct Range {
  int64_t begin = 0, end = 0;
  int64_t size() const { return end - begin; }
};

Range large_counts(const Construction& c) {
  if (!c.large) return {};
  const auto all = static_cast<int64_t>(c.values.size());
  switch (c.combiner) {
    case MPI_COMBINER_SUBARRAY:
      return {1, all - 1};  // not ndims and order
    case MPI_COMBINER_DARRAY:
      return {3, 3 + c.values[2]};  // the global sizes only
    default:
      return {0, all};
  }
}

}  // namespace

Envelope envelope(const Type& type) {
  const Construction* c = type.construction;
  if (c == nullptr) return {.combiner = MPI_COMBINER_NAMED};
  const auto all = static_cast<int64_t>(c->values.size());
  const int64_t large = large_counts(*c).size();
  // With large counts there are no addresses: they have become counts, too.
  const int64_t addresses = large > 0 ? 0 : all - c->n_ints;
  return {.integers = all - large - addresses,
          .addresses = addresses,
          .large_counts = large,
          .types = static_cast<int64_t>(c->types.size()),
          .combiner = c->combiner};
}

Err contents(const Type& type, const Contents& out) {
  const Construction* c = type.construction;
  if (c == nullptr)
    return fail(MPI_ERR_TYPE, "%s is a predefined type (MPI_COMBINER_NAMED): it has no contents",
                predefined_name(type));
  const Envelope e = envelope(type);
  if (e.large_counts > 0 && out.large_counts == nullptr && out.max_large_counts == 0)
    return fail(MPI_ERR_TYPE,
                "the type was made by a function with large counts and has %lld of them; "
                "use MPI_Type_get_contents_c with room for them",
                ll(e.large_counts));
  if (out.max_integers < e.integers || out.max_addresses < e.addresses ||
      out.max_large_counts < e.large_counts || out.max_types < e.types)
    return fail(
        MPI_ERR_ARG,
        "the type has %lld integers, %lld addresses, %lld large counts and %lld "
        "types; there is room for %lld, %lld, %lld and %lld (ask MPI_Type_get_envelope first)",
        ll(e.integers), ll(e.addresses), ll(e.large_counts), ll(e.types), ll(out.max_integers),
        ll(out.max_addresses), ll(out.max_large_counts), ll(out.max_types));
  const Range large = large_counts(*c);
  int* integer = out.integers;
  MPI_Aint* address = out.addresses;
  MPI_Count* count = out.large_counts;
  const auto all = static_cast<int64_t>(c->values.size());
  for (int64_t i = 0; i < all; ++i) {
    const int64_t value = c->values[static_cast<std::size_t>(i)];
    if (i >= large.begin && i < large.end)
      *count++ = value;
    else if (large.size() > 0 || i < c->n_ints)
      *integer++ = static_cast<int>(value);
    else
      *address++ = value;
  }
  MPI_Datatype* handles = out.types;
  for (const Type* t : c->types) {
    retain(*t);  // the user frees what is not predefined
    *handles++ = handle(*t);
  }
  return ok;
}

}  // namespace weft::datatype
