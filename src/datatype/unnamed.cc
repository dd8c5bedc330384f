// SPDX-License-Identifier: Apache-2.0
//
// Predefined types that are asked for by property: of a Fortran precision (MPI-5.0 §19.1.5), of a
// size, or the pair of a value and an index for MPI_MINLOC (§6.9.4). Those without a name are made
// once per rank and live as long as it does.
#include "datatype/draft.h"

namespace weft::datatype {
namespace {

/// The types that MPI_Type_match_size and the Fortran kinds choose from, smallest first.
constexpr std::uint16_t integers[] = {0x2c1, 0x2c9, 0x2d1, 0x2d9, 0x2e1};
constexpr std::uint16_t reals[] = {0x2ca, 0x2d2, 0x2da, 0x2e2};
constexpr std::uint16_t complexes[] = {0x2d3, 0x2db, 0x2e3, 0x2eb};

/// What a Fortran real kind holds; in the order of `reals`. The half precision type has no kind.
struct Precision {
  int digits, range;
};
constexpr Precision precisions[] = {{0, 0}, {6, 37}, {15, 307}, {33, 4931}};
constexpr int integer_ranges[] = {2, 4, 9, 18, 38};

Type* find_unnamed(Context& context, int combiner, const std::vector<int64_t>& values,
                   const std::vector<const Type*>& types) {
  for (Type* t : context.unnamed) {
    const Construction& c = *t->construction;
    if (c.combiner != combiner || c.values != values) continue;
    if (combiner != MPI_COMBINER_VALUE_INDEX || c.types == types) return t;
  }
  return nullptr;
}

/// Make a finished draft predefined.
Err keep(Context& context, Draft& draft, const Term* term, const Type** out) {
  Type* type = nullptr;
  WEFT_TRY(draft.finish(term, &type));
  commit(*type);
  type->predefined = true;
  context.unnamed.push_back(type);
  *out = type;
  return ok;
}

Err create_fortran(Context& context, int combiner, std::vector<int64_t> values, const Type& same,
                   const Type** out) {
  *out = find_unnamed(context, combiner, values, {});
  if (*out != nullptr) return ok;
  Draft draft(context, combiner);
  draft->values = std::move(values);
  draft->n_ints = static_cast<int64_t>(draft->values.size());
  const Term* term = draft.repeat(draft.component(same), 1, 0);
  draft->types.clear();  // an implementation detail, not part of the contents
  return keep(context, draft, term, out);
}

Err create_f90_floating(Context& context, int combiner, int p, int r, const Type** out) {
  const bool any_p = p == MPI_UNDEFINED, any_r = r == MPI_UNDEFINED;
  if (any_p && any_r)
    return fail(MPI_ERR_ARG, "precision and range are both MPI_UNDEFINED; one must be given");
  for (int i = 1; i < 4; ++i) {
    if ((!any_p && p > precisions[i].digits) || (!any_r && r > precisions[i].range)) continue;
    const auto* list = combiner == MPI_COMBINER_F90_REAL ? reals : complexes;
    return create_fortran(context, combiner, {p, r}, named(list[i]), out);
  }
  return fail(MPI_ERR_ARG,
              "no Fortran kind here has precision %d and range %d; at most 33 and 4931", p, r);
}

}  // namespace

Err create_f90_real(Context& context, int p, int r, const Type** out) {
  return create_f90_floating(context, MPI_COMBINER_F90_REAL, p, r, out);
}

Err create_f90_complex(Context& context, int p, int r, const Type** out) {
  return create_f90_floating(context, MPI_COMBINER_F90_COMPLEX, p, r, out);
}

Err create_f90_integer(Context& context, int r, const Type** out) {
  for (int i = 0; i < 5; ++i)
    if (r <= integer_ranges[i])
      return create_fortran(context, MPI_COMBINER_F90_INTEGER, {r}, named(integers[i]), out);
  return fail(MPI_ERR_ARG, "no Fortran integer kind here has range %d; at most 38", r);
}

Err match_size(int type_class, int size, const Type** out) {
  const auto pick = [&](const auto& list) {
    for (const std::uint16_t h : list)
      if (named(h).size == size) *out = &named(h);
  };
  *out = nullptr;
  if (type_class == MPI_TYPECLASS_INTEGER)
    pick(integers);
  else if (type_class == MPI_TYPECLASS_REAL)
    pick(reals);
  else if (type_class == MPI_TYPECLASS_COMPLEX)
    pick(complexes);
  else
    return fail(MPI_ERR_ARG, "type class %d is none; use MPI_TYPECLASS_INTEGER, _REAL or _COMPLEX",
                type_class);
  if (*out != nullptr) return ok;
  return fail(MPI_ERR_ARG, "no type of this class has %d bytes", size);
}

Err value_index(Context& context, const Type& value, const Type& index, const Type** out) {
  *out = named_pair(value, index);
  if (*out != nullptr) return ok;
  // Only the named pairs have to exist; which others do is the library's choice. An index beyond
  // int is a count or an offset. The integers of C are not offered as well: mpi4py (4.1.2) frees
  // unnamed pairs of C types, which are predefined, and cannot convert them.
  const MPI_Datatype h = handle(index);
  const bool offered = h == MPI_COUNT || h == MPI_OFFSET;
  const bool plain = offered && predefined_name(value) != nullptr;
  const Basic basic = plain ? pair_of(value.basic, index.basic) : Basic::none;
  if (basic == Basic::none) return ok;  // MPI_DATATYPE_NULL: there is no such pair
  *out = find_unnamed(context, MPI_COMBINER_VALUE_INDEX, {}, {&value, &index});
  if (*out != nullptr) return ok;
  Draft draft(context, MPI_COMBINER_VALUE_INDEX);
  auto* list = draft->arena.make<Entry>(2);
  list[0] = {0, 1, 0, draft.component(value)};
  list[1] = {(value.size + index.align - 1) / index.align * index.align, 1, 0,
             draft.component(index)};
  WEFT_TRY(keep(context, draft, draft.entries(list, 2), out));
  context.unnamed.back()->basic = basic;
  return ok;
}

}  // namespace weft::datatype
