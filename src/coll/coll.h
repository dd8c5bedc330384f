// SPDX-License-Identifier: Apache-2.0
//
// Collective operations (MPI-5.0 chapter 6), as the entry points and communicator construction see
// them. Arguments are checked; MPI_IN_PLACE keeps its ABI value in the data pointer of a buffer.
// One body per algorithm emits a Schedule; `How` says who runs it: the caller at once (blocking),
// progress (nonblocking), or each MPI_Start (persistent).
#pragma once

#include <cstdint>

#include "base/err.h"
#include "object/objects.h"
#include "pt2pt/pt2pt.h"

namespace weft::coll {

using datatype::Buffer;
using datatype::ConstBuffer;
using datatype::Type;
using object::Comm;
using object::Op;

/// How an operation is to be run. `out` receives the request's handle unless blocking.
struct How {
  enum What : std::uint8_t { blocking, nonblocking, persistent } what = blocking;
  MPI_Request* out = nullptr;
};

/// A user's array of counts or displacements: elements are int, or MPI_Count/MPI_Aint (64 bits).
struct Counts {
  const void* data = nullptr;
  bool wide = false;
  std::int64_t operator[](std::int64_t i) const {
    return wide ? static_cast<const std::int64_t*>(data)[i] : static_cast<const int*>(data)[i];
  }
};

/// The buffer of a v-collective: block i is counts[i] elements at data + displs[i] * extent.
struct VBuffer {
  void* data;  // const_cast by the stubs; send buffers are only read
  Counts counts, displs;
  const Type* type;
};
/// The buffer of a w-collective: block i is counts[i] elements of types[i] at data + displs[i]
/// bytes.
struct WBuffer {
  void* data;
  Counts counts, displs;
  const MPI_Datatype* types;
};
/// The operands of a reduction.
struct Operands {
  const void* send;
  void* recv;
  std::int64_t count;
  const Type* type;
  const Op* op;
};

Err barrier(Comm& comm, How how = {});
Err bcast(const Buffer& buffer, int root, Comm& comm, How how = {});
Err gather(const ConstBuffer& send, const Buffer& recv, int root, Comm& comm, How how = {});
Err gatherv(const ConstBuffer& send, const VBuffer& recv, int root, Comm& comm, How how = {});
Err scatter(const ConstBuffer& send, const Buffer& recv, int root, Comm& comm, How how = {});
Err scatterv(const VBuffer& send, const Buffer& recv, int root, Comm& comm, How how = {});
Err allgather(const ConstBuffer& send, const Buffer& recv, Comm& comm, How how = {});
Err allgatherv(const ConstBuffer& send, const VBuffer& recv, Comm& comm, How how = {});
Err alltoall(const ConstBuffer& send, const Buffer& recv, Comm& comm, How how = {});
Err alltoallv(const VBuffer& send, const VBuffer& recv, Comm& comm, How how = {});
Err alltoallw(const WBuffer& send, const WBuffer& recv, Comm& comm, How how = {});
Err reduce(const Operands& operands, int root, Comm& comm, How how = {});
Err allreduce(const Operands& operands, Comm& comm, How how = {});
/// counts[i] elements of the result go to rank i; operands.count is not used.
Err reduce_scatter(const Operands& operands, Counts counts, Comm& comm, How how = {});
/// operands.count elements of the result go to each rank.
Err reduce_scatter_block(const Operands& operands, Comm& comm, How how = {});
Err scan(const Operands& operands, Comm& comm, How how = {});
Err exscan(const Operands& operands, Comm& comm, How how = {});
/// MPI_Reduce_local (§6.9.7).
Err reduce_local(const void* in, void* inout, std::int64_t count, const Type& type, const Op& op);

// Neighborhood collectives (§8.6-§8.9): block i of `recv` comes from source i of the topology,
// block i of `send` goes to destination i.
Err neighbor_allgather(const ConstBuffer& send, const Buffer& recv, Comm& comm, How how = {});
Err neighbor_allgatherv(const ConstBuffer& send, const VBuffer& recv, Comm& comm, How how = {});
Err neighbor_alltoall(const ConstBuffer& send, const Buffer& recv, Comm& comm, How how = {});
Err neighbor_alltoallv(const VBuffer& send, const VBuffer& recv, Comm& comm, How how = {});
Err neighbor_alltoallw(const WBuffer& send, const WBuffer& recv, Comm& comm, How how = {});

// For communicator construction: agree without a user-visible operation.
/// comm.coll for a new communicator (all its members call it together, after `engine`, `context`
/// and the groups are set). detach frees it.
void attach(Comm& comm);
/// Its hints have changed, on all ranks alike.
void take_hints(Comm& comm);
void detach(Comm& comm);

}  // namespace weft::coll
