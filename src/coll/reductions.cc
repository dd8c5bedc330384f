// SPDX-License-Identifier: Apache-2.0
//
// The collectives that reduce (MPI-5.0 §6.9-§6.12): through the shared block, or by a schedule.
#include "coll/block/shared.h"
#include "coll/boards/algorithms.h"
#include "coll/messages/algorithms.h"
#include "coll/state.h"

namespace weft::coll {
namespace {

Err copy_operand(const Operands& x) {
  return copy_alone({x.send, x.count, x.type}, {x.recv, x.count, x.type});
}

Case case_of(Call call, const Operands& x, std::int64_t elements) {
  return {.call = call,
          .bytes = elements * x.type->size,
          .commutative = x.op->commutative,
          .plain = is_plain(*x.type)};
}

/// Slots hold packed data, and whoever comes last applies the operation: so it has to be the
/// library's.
Shared* shared_for_reduction(Call call, const Operands& x, Comm& comm, const How& how) {
  if (comm.is_inter()) return nullptr;  // beside the root there may be no operation and type
  const bool plain =
      x.op->operation != datatype::Operation::user && x.type->predefined && x.type->dense;
  return plain ? shared_for(call, comm, how) : nullptr;
}

Signature signature(Call call, const Operands& x, std::int64_t count, const How& how,
                    int root = Signature::no_root) {
  if (x.type == nullptr) return {call, how.what, root};  // beside the root of an intercommunicator
  return {call, how.what, root, count * x.type->size, static_cast<std::uint64_t>(x.op->operation)};
}

Err reduce_scatter_parts(Call call, const Operands& x, const Parts& parts, Comm& comm,
                         const How& how) {
  if (is_alone(comm, how))
    return copy_alone({x.send, parts[0], x.type}, {x.recv, parts[0], x.type});
  const Position me = position(comm);
  if (Shared* shared = shared_for_reduction(call, x, comm, how)) {
    const std::int64_t total = parts.before(me.size) * x.type->size;
    Shared::Going going;
    // In place, a rank's result would overwrite what others have not read yet.
    WEFT_TRY(shared->go(going, call, total, !is_in_place(x.send)));
    return shared->reduce_scatter(call, x, parts, total, going.place);
  }
  const Signature mine = signature(call, x, parts.before(me.size), how);
  if (comm.is_inter())
    return run_emitted(comm, how, mine, [&](Schedule& s) {
      reduce_scatter_inter(s, x, parts, me, remote_size(comm));
    });
  return run_schedule({.call = call, .operands = &x, .parts = &parts},
                      case_of(call, x, parts.before(me.size)), comm, how, mine);
}

Err scan_of(Call call, const Operands& x, Comm& comm, const How& how) {
  Shared::Going going;
  if (Shared* shared = shared_for_reduction(call, x, comm, how)) {
    WEFT_TRY(shared->go(going, call, x.count * x.type->size));
    if (going.place < Place::board) return shared->scan(call, x, going.place);
  }
  return run_schedule({.call = call, .operands = &x}, case_of(call, x, x.count), comm, how,
                      signature(call, x, x.count, how));
}

}  // namespace

Err reduce(const Operands& x, int root, Comm& comm, How how) {
  if (is_alone(comm, how)) return copy_operand(x);
  Shared::Going going;
  if (Shared* shared = shared_for_reduction(Call::reduce, x, comm, how)) {
    WEFT_TRY(shared->go(going, Call::reduce, x.count * x.type->size));
    if (going.place < Place::board) return shared->reduce(x, root, going.place);
  }
  const Signature mine = signature(Call::reduce, x, x.count, how, root);
  if (comm.is_inter())
    return run_emitted(comm, how, mine,
                       [&](Schedule& s) { reduce_inter(s, x, root, remote_size(comm)); });
  return run_schedule({.call = Call::reduce, .root = root, .operands = &x},
                      case_of(Call::reduce, x, x.count), comm, how, mine);
}

Err allreduce(const Operands& x, Comm& comm, How how) {
  if (is_alone(comm, how)) return copy_operand(x);
  Shared::Going going;
  if (Shared* shared = shared_for_reduction(Call::allreduce, x, comm, how)) {
    // In place, two ranks would write over each other's operands.
    const bool reach = comm.size() > 2 || !is_in_place(x.send);
    WEFT_TRY(shared->go(going, Call::allreduce, x.count * x.type->size, reach));
    if (going.place < Place::board) return shared->allreduce(x, going.place);
  }
  const Signature mine = signature(Call::allreduce, x, x.count, how);
  if (comm.is_inter())
    return run_emitted(comm, how, mine, [&](Schedule& s) {
      allreduce_inter(s, x, position(comm), remote_size(comm));
    });
  return run_schedule({.call = Call::allreduce, .operands = &x},
                      case_of(Call::allreduce, x, x.count), comm, how, mine);
}

Err reduce_scatter(const Operands& x, Counts counts, Comm& comm, How how) {
  return reduce_scatter_parts(Call::reduce_scatter, x, Parts(counts), comm, how);
}

Err reduce_scatter_block(const Operands& x, Comm& comm, How how) {
  return reduce_scatter_parts(Call::reduce_scatter_block, x, Parts(x.count), comm, how);
}

Err scan(const Operands& x, Comm& comm, How how) {
  return is_alone(comm, how) ? copy_operand(x) : scan_of(Call::scan, x, comm, how);
}

Err exscan(const Operands& x, Comm& comm, How how) {
  return is_alone(comm, how) ? ok : scan_of(Call::exscan, x, comm, how);  // nobody is before it
}

Err reduce_local(const void* in, void* inout, std::int64_t count, const Type& type, const Op& op) {
  object::apply(op, type, in, inout, count);
  return ok;
}

}  // namespace weft::coll
