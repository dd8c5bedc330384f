// SPDX-License-Identifier: Apache-2.0
//
// Reduction operations. A user function of the old form takes an int: longer vectors are given to
// it in pieces.
#include "object/op.h"

#include <algorithm>
#include <climits>

#include "object/store.h"

namespace weft::object {
namespace {

using datatype::Operation;

struct Named {
  MPI_Op handle;
  Operation operation;
  const char* name;
};
const Named names[] = {
    {MPI_SUM, Operation::sum, "MPI_SUM"},
    {MPI_MIN, Operation::min, "MPI_MIN"},
    {MPI_MAX, Operation::max, "MPI_MAX"},
    {MPI_PROD, Operation::prod, "MPI_PROD"},
    {MPI_BAND, Operation::band, "MPI_BAND"},
    {MPI_BOR, Operation::bor, "MPI_BOR"},
    {MPI_BXOR, Operation::bxor, "MPI_BXOR"},
    {MPI_LAND, Operation::land, "MPI_LAND"},
    {MPI_LOR, Operation::lor, "MPI_LOR"},
    {MPI_LXOR, Operation::lxor, "MPI_LXOR"},
    {MPI_MINLOC, Operation::minloc, "MPI_MINLOC"},
    {MPI_MAXLOC, Operation::maxloc, "MPI_MAXLOC"},
    {MPI_REPLACE, Operation::replace, "MPI_REPLACE"},
    {MPI_NO_OP, Operation::no_op, "MPI_NO_OP"},
};

const Named* named(Operation operation) {
  for (const Named& n : names)
    if (n.operation == operation) return &n;
  return nullptr;
}

constexpr std::uintptr_t first_handle = 0x20, handles = 32;

/// The predefined operations at the places of their handles.
struct Predefined {
  Op ops[handles];
  Predefined() {
    for (const Named& n : names) {
      Op& op = ops[reinterpret_cast<std::uintptr_t>(n.handle) - first_handle];
      op.kind = Kind::op;
      op.refs = 1;
      op.operation = n.operation;
      // Only MPI_Accumulate and its like use these two, in an order that matters.
      op.commutative = n.operation != Operation::replace && n.operation != Operation::no_op;
    }
  }
};

Op* make(Store& store, int commute) {
  Op* op = store.ops.create();
  op->operation = Operation::user;
  op->commutative = commute != 0;
  op->store = &store;
  return op;
}

void apply_user(const Op& op, const datatype::Type& type, void* in, void* inout,
                std::int64_t count) {
  MPI_Datatype handle = datatype::handle(type);
  if (op.user_c != nullptr) {
    MPI_Count n = count;
    op.user_c(in, inout, &n, &handle);
    return;
  }
  for (std::int64_t at = 0; at < count;) {
    int n = static_cast<int>(std::min<std::int64_t>(count - at, INT_MAX));
    const int done = n;
    op.user(static_cast<std::byte*>(in) + at * type.extent,
            static_cast<std::byte*>(inout) + at * type.extent, &n, &handle);
    at += done;
  }
}

}  // namespace

const Op* predefined_op(MPI_Op handle) {
  static const Predefined all;
  const auto at = reinterpret_cast<std::uintptr_t>(handle) - first_handle;
  if (at >= handles || all.ops[at].operation == Operation::null) return nullptr;
  return &all.ops[at];
}

MPI_Op handle_of(const Op& op) {
  const Named* n = named(op.operation);
  return n != nullptr ? n->handle : reinterpret_cast<MPI_Op>(const_cast<Op*>(&op));
}

const char* name_of(Operation operation) {
  const Named* n = named(operation);
  return n != nullptr ? n->name : "of a user";
}

Err create_op(Store& store, MPI_User_function* function, int commute, MPI_Op* out) {
  Op* op = make(store, commute);
  op->user = function;
  *out = handle_of(*op);
  return ok;
}

Err create_op_c(Store& store, MPI_User_function_c* function, int commute, MPI_Op* out) {
  Op* op = make(store, commute);
  op->user_c = function;
  *out = handle_of(*op);
  return ok;
}

Err free_op(Store& store, MPI_Op* handle) {
  const Op* op = store.op(*handle);
  if (op->operation != Operation::user)
    return fail(MPI_ERR_OP, "%s is predefined and cannot be freed", named(op->operation)->name);
  const_cast<Op*>(op)->freed = true;
  release(*op);
  *handle = MPI_OP_NULL;
  return ok;
}

Err check_op(const Op& op, const datatype::Type& type) {
  if (op.operation == Operation::user) return ok;
  if (op.operation == Operation::replace || op.operation == Operation::no_op)
    return fail(MPI_ERR_OP, "%s is for one-sided accumulation only", named(op.operation)->name);
  if (!type.predefined)
    return fail(MPI_ERR_OP,
                "%s is not defined for derived datatypes; make an operation of your own "
                "with MPI_Op_create",
                named(op.operation)->name);
  if (!datatype::is_defined(op.operation, type.basic)) {
    const char* name = datatype::predefined_name(type);
    return fail(MPI_ERR_OP, "%s is not defined for %s (see MPI-5.0 section 6.9.2)",
                named(op.operation)->name, name != nullptr ? name : "this datatype");
  }
  return ok;
}

void apply(const Op& op, const datatype::Type& type, const void* in, void* inout,
           std::int64_t count) {
  if (count == 0) return;
  if (op.operation == Operation::user) {
    // The standard's prototype has no const; the function must not change `in`.
    apply_user(op, type, const_cast<void*>(in), inout, count);
  } else {
    datatype::reduce(op.operation, type.basic, in, inout, count);
  }
}

}  // namespace weft::object
