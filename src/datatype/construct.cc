// SPDX-License-Identifier: Apache-2.0
//
// Constructors of derived types (MPI-5.0 §5.1.2), and how long types live: a type is held by its
// handle, by the types made of it and by operations in flight; the last one destroys it.
#include "datatype/draft.h"

namespace weft::datatype {
namespace {

using std::int64_t;

Err check_lengths(int64_t count, Numbers lengths) {
  WEFT_TRY(check_array("block lengths", count, lengths.data));
  for (int64_t i = 0; i < count; ++i)
    if (lengths[i] < 0)
      return fail(MPI_ERR_ARG, "block length %lld is %lld; it must be 0 or more",
                  static_cast<long long>(i), static_cast<long long>(lengths[i]));
  return ok;
}

Err too_far(int64_t i, int64_t disp, int64_t extent) {
  return fail(
      MPI_ERR_ARG,
      "displacement %lld is %lld times the extent %lld of the old type: more than 64 bits hold",
      static_cast<long long>(i), static_cast<long long>(disp), static_cast<long long>(extent));
}

/// The blocks of an indexed type: all of one length, or each of its own.
struct Blocks {
  int64_t count;
  Numbers lengths;  // data == nullptr: all blocks are `length` long
  int64_t length;
  Numbers disps;
  int64_t length_of(int64_t i) const { return lengths.data != nullptr ? lengths[i] : length; }
};

/// The common body of the indexed family; displacements count `unit` bytes.
Err indexed(Maker by, int combiner, const Blocks& blocks, int64_t unit, const Type& old,
            Type** out) {
  const int64_t count = blocks.count;
  WEFT_TRY(check_array("displacements", count, blocks.disps.data));
  Draft draft(by, combiner);
  auto& values = draft->values;
  values.reserve(static_cast<std::size_t>(2 * count + 2));
  values.push_back(count);
  if (blocks.lengths.data == nullptr) values.push_back(blocks.length);
  for (int64_t i = 0; blocks.lengths.data != nullptr && i < count; ++i)
    values.push_back(blocks.lengths[i]);
  const auto n_lengths = values.size();
  for (int64_t i = 0; i < count; ++i) values.push_back(blocks.disps[i]);
  const bool in_bytes =
      combiner == MPI_COMBINER_HINDEXED || combiner == MPI_COMBINER_HINDEXED_BLOCK;
  draft->n_ints = static_cast<int64_t>(in_bytes ? n_lengths : values.size());

  const Term* leaf = draft.component(old);
  auto* list = draft->arena.make<Entry>(count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t disp = 0;
    if (__builtin_mul_overflow(blocks.disps[i], unit, &disp))
      return too_far(i, blocks.disps[i], unit);
    list[i] = {disp, blocks.length_of(i), old.extent, leaf};
  }
  return draft.finish(draft.entries(list, count), out);
}

struct Strides {
  int64_t count, blocklength, stride;
};

/// The common body of vector and hvector; the stride counts `unit` bytes.
Err vector(Maker by, int combiner, const Strides& v, int64_t unit, const Type& old, Type** out) {
  WEFT_TRY(check_count("count", v.count));
  WEFT_TRY(check_count("blocklength", v.blocklength));
  int64_t bytes = 0;
  if (__builtin_mul_overflow(v.stride, unit, &bytes))
    return fail(MPI_ERR_ARG,
                "stride %lld times the extent %lld of the old type is more than 64 bits "
                "hold",
                static_cast<long long>(v.stride), static_cast<long long>(unit));
  Draft draft(by, combiner);
  draft->values = {v.count, v.blocklength, v.stride};
  draft->n_ints = combiner == MPI_COMBINER_VECTOR ? 3 : 2;
  const Term* block = draft.repeat(draft.component(old), v.blocklength, old.extent);
  return draft.finish(draft.repeat(block, v.count, bytes), out);
}

}  // namespace

Err create_contiguous(Maker by, int64_t count, const Type& old, Type** out) {
  WEFT_TRY(check_count("count", count));
  Draft draft(by, MPI_COMBINER_CONTIGUOUS);
  draft->values = {count};
  draft->n_ints = 1;
  return draft.finish(draft.repeat(draft.component(old), count, old.extent), out);
}

Err create_vector(Maker by, int64_t count, int64_t blocklength, int64_t stride, const Type& old,
                  Type** out) {
  return vector(by, MPI_COMBINER_VECTOR, {count, blocklength, stride}, old.extent, old, out);
}

Err create_hvector(Maker by, int64_t count, int64_t blocklength, int64_t stride, const Type& old,
                   Type** out) {
  return vector(by, MPI_COMBINER_HVECTOR, {count, blocklength, stride}, 1, old, out);
}

Err create_indexed(Maker by, int64_t count, Numbers lengths, Numbers disps, const Type& old,
                   Type** out) {
  WEFT_TRY(check_lengths(count, lengths));
  return indexed(by, MPI_COMBINER_INDEXED, {count, lengths, 0, disps}, old.extent, old, out);
}

Err create_hindexed(Maker by, int64_t count, Numbers lengths, Numbers disps, const Type& old,
                    Type** out) {
  WEFT_TRY(check_lengths(count, lengths));
  return indexed(by, MPI_COMBINER_HINDEXED, {count, lengths, 0, disps}, 1, old, out);
}

Err create_indexed_block(Maker by, int64_t count, int64_t blocklength, Numbers disps,
                         const Type& old, Type** out) {
  WEFT_TRY(check_count("blocklength", blocklength));
  return indexed(by, MPI_COMBINER_INDEXED_BLOCK, {count, {}, blocklength, disps}, old.extent, old,
                 out);
}

Err create_hindexed_block(Maker by, int64_t count, int64_t blocklength, Numbers disps,
                          const Type& old, Type** out) {
  WEFT_TRY(check_count("blocklength", blocklength));
  return indexed(by, MPI_COMBINER_HINDEXED_BLOCK, {count, {}, blocklength, disps}, 1, old, out);
}

Err create_struct(Maker by, int64_t count, Numbers lengths, Numbers disps,
                  const MPI_Datatype* types, Type** out) {
  WEFT_TRY(check_lengths(count, lengths));
  WEFT_TRY(check_array("displacements", count, disps.data));
  WEFT_TRY(check_array("types", count, types));
  Draft draft(by, MPI_COMBINER_STRUCT);
  auto& values = draft->values;
  values.reserve(static_cast<std::size_t>(2 * count + 1));
  values.push_back(count);
  for (int64_t i = 0; i < count; ++i) values.push_back(lengths[i]);
  draft->n_ints = count + 1;
  auto* list = draft->arena.make<Entry>(count);
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(disps[i]);
    const Type* type = from_handle(types[i]);
    if (type == nullptr)
      return fail(MPI_ERR_TYPE,
                  "type %lld of the array is %p, which is no datatype (null, freed or "
                  "never made)",
                  static_cast<long long>(i), static_cast<void*>(types[i]));
    list[i] = {disps[i], lengths[i], type->extent, draft.component(*type)};
  }
  return draft.finish(draft.entries(list, count), out);
}

Err create_resized(Maker by, const Type& old, int64_t lb, int64_t extent, Type** out) {
  int64_t ub = 0;
  if (__builtin_add_overflow(lb, extent, &ub))
    return fail(MPI_ERR_ARG, "lower bound %lld plus extent %lld is more than 64 bits hold",
                static_cast<long long>(lb), static_cast<long long>(extent));
  Draft draft(by, MPI_COMBINER_RESIZED);
  draft->values = {lb, extent};
  return draft.finish(draft.repeat(draft.component(old), 1, 0), out, {lb, extent, true});
}

Err create_dup(Context& context, const Type& old, Type** out) {
  Draft draft(context, MPI_COMBINER_DUP);
  const Term* term = draft.repeat(draft.component(old), 1, 0);
  WEFT_TRY(draft.finish(term, out, {old.lb, old.extent, old.marked_lb}));
  if (old.committed) commit(**out);
  return ok;
}

void commit(const Type& type) {
  // The type lives in a pool; only the predefined ones are really constant, and they are committed.
  if (type.committed) return;
  auto& t = const_cast<Type&>(type);
  const Layout layout = layout_of(t);
  const bool one_block = layout.node == nullptr || layout.node->kind == Node::Kind::block;
  t.dense = t.size == 0 || (one_block && t.size == t.extent);
  t.layout = t.dense ? nullptr : &t.construction->layout;
  t.committed = true;
}

Err free(const Type& type) {
  if (type.predefined) {
    const char* name = predefined_name(type);
    return fail(MPI_ERR_TYPE, "%s is predefined and cannot be freed",
                name != nullptr ? name : "the datatype (of a Fortran kind or a value-index pair)");
  }
  release(type);
  return ok;
}

namespace {
bool has_threads(const Type& type) {
  const sync::RankLock* lock = type.construction->context->lock;
  return lock != nullptr && lock->enabled();
}
}  // namespace

void retain_own(const Type& type) {
  add_owner(type, has_threads(type));
}

void release_own(const Type& type) {
  // A chain of types may be long: what dies is collected in a list instead of by recursion.
  std::vector<Type*> dying;
  const auto drop = [&](const Type& t) {
    if (!t.predefined && drop_owner(t, has_threads(t))) dying.push_back(const_cast<Type*>(&t));
  };
  for (drop(type); !dying.empty();) {
    Type* t = dying.back();
    dying.pop_back();
    Construction* c = t->construction;
    Context& context = *c->context;
    const sync::Guard guard(context.lock);
    if (t->attachment != nullptr && context.forget != nullptr) context.forget(*t);
    for (const Type* component : c->types) drop(*component);
    delete c;
    context.types.destroy(t);
  }
}

Context::~Context() {
  for (Type* type : unnamed) {
    delete type->construction;
    types.destroy(type);
  }
}

}  // namespace weft::datatype
