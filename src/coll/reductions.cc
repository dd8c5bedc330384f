// SPDX-License-Identifier: Apache-2.0
//
// The collectives that reduce (MPI-5.0 §6.9-§6.12): pick an algorithm, emit, launch.
#include "coll/algorithms/algorithms.h"
#include "coll/node/choose.h"
#include "coll/select.h"
#include "coll/shared/shared.h"
#include "coll/state.h"
#include "coll/way.h"

namespace weft::coll {
namespace {

Err copy_operand(const Operands& x) {
  return copy_alone({x.send, x.count, x.type}, {x.recv, x.count, x.type});
}

Case case_of(const Operands& x, std::int64_t elements) {
  return {.bytes = elements * x.type->size, .commutative = x.op->commutative};
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
  if (Shared* shared = shared_for_reduction(call, x, comm, how))
    return shared->reduce_scatter(call, x, parts, parts.before(me.size) * x.type->size);
  Schedule& s = take_schedule(comm, signature(call, x, parts.before(me.size), how));
  if (comm.is_inter())
    reduce_scatter_inter(s, x, parts, me, remote_size(comm));
  else if (!reduce_scatter_on_node(call, s, x, parts, comm, how))
    pick(comm, call, choose_reduce_scatter, case_of(x, parts.before(me.size)))(s, x, parts, me);
  return launch(s, comm, how);
}

}  // namespace

Err reduce(const Operands& x, int root, Comm& comm, How how) {
  if (is_alone(comm, how)) return copy_operand(x);
  if (Shared* shared = shared_for_reduction(Call::reduce, x, comm, how))
    if (!shared->leaves_to_node(Call::reduce, x.count * x.type->size))
      return shared->reduce(x, root);
  Schedule& s = take_schedule(comm, signature(Call::reduce, x, x.count, how, root));
  if (comm.is_inter())
    reduce_inter(s, x, root, remote_size(comm));
  else if (!reduce_on_node(s, x, root, comm, how))
    pick(comm, Call::reduce, choose_reduce, case_of(x, x.count))(s, x, root, position(comm));
  return launch(s, comm, how);
}

Err allreduce(const Operands& x, Comm& comm, How how) {
  if (is_alone(comm, how)) return copy_operand(x);
  if (Shared* shared = shared_for_reduction(Call::allreduce, x, comm, how))
    if (!shared->leaves_to_node(Call::allreduce, x.count * x.type->size))
      return shared->allreduce(x);
  Schedule& s = take_schedule(comm, signature(Call::allreduce, x, x.count, how));
  if (comm.is_inter())
    allreduce_inter(s, x, position(comm), remote_size(comm));
  else if (!allreduce_on_node(s, x, comm, how))
    pick(comm, Call::allreduce, choose_allreduce, case_of(x, x.count))(s, x, position(comm));
  return launch(s, comm, how);
}

Err reduce_scatter(const Operands& x, Counts counts, Comm& comm, How how) {
  return reduce_scatter_parts(Call::reduce_scatter, x, Parts(counts), comm, how);
}

Err reduce_scatter_block(const Operands& x, Comm& comm, How how) {
  return reduce_scatter_parts(Call::reduce_scatter_block, x, Parts(x.count), comm, how);
}

Err scan(const Operands& x, Comm& comm, How how) {
  if (is_alone(comm, how)) return copy_operand(x);
  if (Shared* shared = shared_for_reduction(Call::scan, x, comm, how))
    return shared->scan(Call::scan, x);
  Schedule& s = take_schedule(comm, signature(Call::scan, x, x.count, how));
  if (!scan_on_node(Call::scan, s, x, comm, how))
    pick(comm, Call::scan, choose_scan, case_of(x, x.count))(s, x, position(comm));
  return launch(s, comm, how);
}

Err exscan(const Operands& x, Comm& comm, How how) {
  if (is_alone(comm, how)) return ok;  // nobody is before it
  if (Shared* shared = shared_for_reduction(Call::exscan, x, comm, how))
    return shared->scan(Call::exscan, x);
  Schedule& s = take_schedule(comm, signature(Call::exscan, x, x.count, how));
  if (!scan_on_node(Call::exscan, s, x, comm, how))
    pick(comm, Call::exscan, choose_exscan, case_of(x, x.count))(s, x, position(comm));
  return launch(s, comm, how);
}

Err reduce_local(const void* in, void* inout, std::int64_t count, const Type& type, const Op& op) {
  object::apply(op, type, in, inout, count);
  return ok;
}

}  // namespace weft::coll
