// SPDX-License-Identifier: Apache-2.0
//
// Argument checks of the entry points, one overload per kind of parameter. A check gets what the
// user passed and the parameter's name, and answers with an error class and a sentence: what was
// passed, what was expected, what to try. The predicate is inline, the sentence is cold (check.cc).
// Below abi there are no wrong arguments.
//
// gcc gives up inlining in the large generated files, so what every message passes (ranks, tags and
// one buffer) is inlined by force.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>

#include "abi/plain.h"
#include "base/err.h"
#include "coll/coll.h"
#include "object/objects.h"
#include "object/request.h"
#include "object/topology.h"
#include "rma/window.h"

namespace weft::abi {

/// The handle an inout argument points to; none if it points nowhere.
template <class Handle>
Handle handle_at(Handle* pointer) {
  return is_address(pointer) ? *pointer : Handle{};
}

}  // namespace weft::abi

namespace weft::abi::check {

using datatype::Type;
using object::Comm;

// Sentences; each returns the error.
[[gnu::cold]] Err bad_handle(int cls, const void* handle, const char* expected, const char* name);
[[gnu::cold]] Err bad_inter(const char* name);
[[gnu::cold]] Err bad_count(std::int64_t count, const char* name);
[[gnu::cold]] Err bad_length(std::int64_t count, const char* name, int cls);
[[gnu::cold]] Err bad_pointer(const void* pointer, const char* name, int cls = MPI_ERR_ARG);
[[gnu::cold]] Err bad_array(std::int64_t length, const char* name);
[[gnu::cold]] Err bad_dest(int rank, const Comm& comm, const char* name);
[[gnu::cold]] Err bad_source(int rank, const Comm& comm, const char* name);
[[gnu::cold]] Err bad_rank(int rank, const Comm& comm, const char* name);
[[gnu::cold]] Err bad_root(int root, const Comm& comm, const char* name);
[[gnu::cold]] Err bad_tag(int tag, const char* name);
[[gnu::cold]] Err bad_any_tag(const Comm& comm, const char* name);

// --- handles
// --------------------------------------------------------------------------------------
inline Err comm(const Comm* object, MPI_Comm handle, const char* name) {
  return object ? ok : bad_handle(MPI_ERR_COMM, handle, "a communicator", name);
}
/// Where an intercommunicator is not allowed.
inline Err intra(const Comm& comm, const char* name) {
  return comm.is_inter() ? bad_inter(name) : ok;
}
inline Err type(const Type* object, MPI_Datatype handle, const char* name) {
  return object ? ok : bad_handle(MPI_ERR_TYPE, handle, "a datatype", name);
}
Err types(const MPI_Datatype* array, std::int64_t count, const char* name);
inline Err op(const object::Op* object, MPI_Op handle, const char* name) {
  return object ? ok : bad_handle(MPI_ERR_OP, handle, "an operation", name);
}
inline Err group(const object::Group* object, MPI_Group handle, const char* name) {
  return object ? ok : bad_handle(MPI_ERR_GROUP, handle, "a group", name);
}
inline Err errhandler(const object::Errhandler* object, MPI_Errhandler handle, const char* name) {
  return object ? ok : bad_handle(MPI_ERR_ERRHANDLER, handle, "an error handler", name);
}
inline Err window(const rma::Window* object, MPI_Win handle, const char* name) {
  return object ? ok : bad_handle(MPI_ERR_WIN, handle, "a window", name);
}
inline Err session(const object::Session* object, MPI_Session handle, const char* name) {
  return object ? ok : bad_handle(MPI_ERR_SESSION, handle, "a session", name);
}
/// MPI_INFO_NULL is legal (the object is nullptr then) ...
inline Err info(const object::Info* object, MPI_Info handle, const char* name) {
  if (object || handle == MPI_INFO_NULL) return ok;
  return bad_handle(MPI_ERR_INFO, handle, "an info object or MPI_INFO_NULL", name);
}
/// ... and here it is not.
inline Err info_given(const object::Info* object, MPI_Info handle, const char* name) {
  return object ? ok : bad_handle(MPI_ERR_INFO, handle, "an info object", name);
}
inline Err request(MPI_Request handle, const char* name) {
  if (handle == MPI_REQUEST_NULL || is_live(handle, Kind::request)) return ok;
  return bad_handle(MPI_ERR_REQUEST, handle, "a request or MPI_REQUEST_NULL", name);
}
inline Err request_at(const MPI_Request* pointer, const char* name) {
  return is_address(pointer) ? request(*pointer, name) : bad_pointer(pointer, name);
}
Err requests(const MPI_Request* array, std::int64_t count, const char* name);
/// For calls where the null request makes no sense (MPI_Start, MPI_Cancel, ...).
inline Err request_given(MPI_Request handle, const char* name) {
  if (is_live(handle, Kind::request)) return ok;
  return bad_handle(MPI_ERR_REQUEST, handle, "a request", name);
}
Err requests_given(const MPI_Request* array, std::int64_t count, const char* name);
/// A matched message for MPI_Mrecv.
inline Err message_at(const MPI_Message* pointer, const char* name) {
  if (!is_address(pointer)) return bad_pointer(pointer, name);
  if (*pointer == MPI_MESSAGE_NO_PROC || is_live(*pointer, Kind::message)) return ok;
  return bad_handle(MPI_ERR_REQUEST, *pointer, "a matched message", name);
}

// --- numbers and pointers
// -------------------------------------------------------------------------
inline Err count(std::int64_t value, const char* name) {
  return value >= 0 ? ok : bad_count(value, name);
}
inline Err length(std::int64_t value, const char* name, int cls = MPI_ERR_ARG) {
  return value >= 0 ? ok : bad_length(value, name, cls);
}
inline Err given(const void* pointer, const char* name, int cls = MPI_ERR_ARG) {
  return is_address(pointer) ? ok : bad_pointer(pointer, name, cls);
}
/// Null stands for what is not wanted: MPI_STATUS_IGNORE, an answer of an MPI_T query.
inline Err optional(const void* pointer, const char* name, int cls = MPI_ERR_ARG) {
  return pointer == nullptr || is_address(pointer) ? ok : bad_pointer(pointer, name, cls);
}
/// No array is longer than what 47 bits of addresses hold.
inline Err array(const void* pointer, std::int64_t length, const char* name,
                 int cls = MPI_ERR_ARG) {
  if (length >> 45 > 0) return bad_array(length, name);
  return length <= 0 ? ok : given(pointer, name, cls);
}
/// How many edges a graph has whose `nodes` processes have edges up to index[i]. Of more nodes than
/// processes, which the call reports, no index is looked at.
inline std::int64_t edges(const Comm& comm, int nodes, const int* index) {
  return nodes > 0 && nodes <= comm.size() ? index[nodes - 1] : 0;
}
/// Without negative ones, which are refused where they are used.
std::int64_t sum(const int* numbers, std::int64_t length);
inline Err statuses(const MPI_Status* pointer, std::int64_t length, const char* name) {
  return length <= 0 ? ok : optional(pointer, name);
}
inline Err weights(const int* pointer, std::int64_t length, const char* name) {
  return pointer == MPI_UNWEIGHTED ? ok : array(pointer, length, name);
}
/// A callback may be one of the first `constants` of the ABI: MPI_COMM_NULL_COPY_FN,
/// MPI_COMM_DUP_FN.
template <class Function>
Err function(Function* pointer, std::uintptr_t constants, const char* name) {
  const auto at = reinterpret_cast<std::uintptr_t>(pointer);
  return at < constants || at >= object::first_address
             ? ok
             : bad_pointer(reinterpret_cast<void*>(at), name);
}

/// At least one, and none of them null.
Err commands(char* const* array, int count, const char* name);
/// Each one an info object, or MPI_INFO_NULL.
Err infos(const MPI_Info* array, int count, object::Store& store, const char* name);

/// Shorter than MPI_MAX_STRINGTAG_LEN?
Err string_tag(const char* text, const char* name);

// --- ranks and tags
// -------------------------------------------------------------------------------
inline bool in_range(int rank, const Comm& comm) {
  return static_cast<unsigned>(rank) < comm.peers().size();
}
[[gnu::always_inline]] inline Err dest(int rank, const Comm& comm, const char* name) {
  return in_range(rank, comm) || rank == MPI_PROC_NULL ? ok : bad_dest(rank, comm, name);
}
[[gnu::always_inline]] inline Err source(int rank, const Comm& comm, const char* name) {
  if (in_range(rank, comm) || rank == MPI_ANY_SOURCE || rank == MPI_PROC_NULL) return ok;
  return bad_source(rank, comm, name);
}
inline Err rank(int rank, const Comm& comm, const char* name) {
  return in_range(rank, comm) ? ok : bad_rank(rank, comm, name);
}
/// A target of one-sided communication.
[[gnu::always_inline]] inline Err rank(int rank, const rma::Window& win, const char* name) {
  return dest(rank, win.comm, name);
}
/// Then what the origin passes is ignored.
inline bool is_no_op(const object::Op* op) {
  return op != nullptr && op->operation == datatype::Operation::no_op;
}
[[gnu::always_inline]] inline Err root(int root, const Comm& comm, const char* name) {
  if (in_range(root, comm)) return ok;
  if (comm.is_inter() && (root == MPI_ROOT || root == MPI_PROC_NULL)) return ok;
  return bad_root(root, comm, name);
}
[[gnu::always_inline]] inline Err tag(int tag, const char* name) {
  return tag >= 0 ? ok : bad_tag(tag, name);
}
[[gnu::always_inline]] inline Err recv_tag(int tag, const Comm& comm, const char* name) {
  if (tag >= 0) return ok;
  if (tag != MPI_ANY_TAG) return bad_tag(tag, name);
  return comm.by_tag ? bad_any_tag(comm, name) : ok;
}
/// How many processes the caller exchanges data with in a collective.
inline std::int64_t peers(const Comm& comm) {
  return static_cast<std::int64_t>(comm.peers().size());
}
/// The same in a neighborhood collective, by direction; 0 without a topology, which the call
/// reports.
inline std::int64_t sources(const Comm& comm) {
  return comm.topology ? static_cast<std::int64_t>(comm.topology->sources.size()) : 0;
}
inline std::int64_t destinations(const Comm& comm) {
  return comm.topology ? static_cast<std::int64_t>(comm.topology->destinations.size()) : 0;
}
/// Does the caller contribute data to a rooted collective? Not beside the root of an
/// intercommunicator.
inline bool takes_part(int root) {
  return root >= 0;
}
/// Is the caller the root of a rooted collective (whose root-only arguments count then)?
inline bool at_root(const Comm& comm, int root) {
  return comm.is_inter() ? root == MPI_ROOT : root == comm.rank;
}

// --- data
// -----------------------------------------------------------------------------------------
/// Does 64 bits hold the bytes of `count` elements?
inline bool holds(std::int64_t count, const Type& type) {
  std::int64_t bytes;
  return !__builtin_mul_overflow(count, type.size, &bytes);
}

/// What is not plainly right: MPI_BOTTOM, or an error.
Err unusual_buffer(const void* buffer, std::int64_t count, const Type* type, MPI_Datatype handle,
                   const char* names);
/// `names` are those of the three parameters, as in "sendbuf, sendcount, sendtype".
[[gnu::always_inline]] inline Err buffer(const void* buffer, std::int64_t count, const Type* type,
                                         MPI_Datatype handle, const char* names) {
  if (count >= 0 && type && type->committed && holds(count, *type) &&
      (is_address(buffer) || count == 0)) [[likely]]
    return ok;
  return unusual_buffer(buffer, count, type, handle, names);
}
/// The same for each of `blocks` parts of a buffer; none needs no address.
inline Err buffer(const void* data, std::int64_t count, const Type* type, MPI_Datatype handle,
                  std::int64_t blocks, const char* names) {
  return buffer(blocks > 0 ? data : names, count, type, handle, names);
}
/// One count per process of the communicator and one type ...
Err buffers(const void* data, coll::Counts counts, const Type* type, MPI_Datatype handle,
            std::int64_t blocks, const char* names);
/// ... or one type per process; the displacements are bytes then, addresses if data is MPI_BOTTOM.
Err buffers(const void* data, coll::Counts counts, coll::Counts displs, const MPI_Datatype* types,
            std::int64_t blocks, const char* names);
/// `bytes` of memory.
inline Err memory(const void* pointer, std::int64_t bytes, const char* name) {
  return is_address(pointer) || bytes <= 0 ? ok : bad_pointer(pointer, name, MPI_ERR_BUFFER);
}

/// Is it MPI_IN_PLACE where that is legal: not on intercommunicators, at the root of rooted calls?
inline bool in_place(const void* data, const Comm& comm) {
  return data == MPI_IN_PLACE && !comm.is_inter();
}
inline bool in_place(const void* data, const Comm& comm, int root) {
  return in_place(data, comm) && comm.rank == root;
}

/// Is the reduction operation defined for the type?
Err op_defined(const object::Op* op, const Type* type);
// The rank's own part of what is sent and of what is received must not be the same memory (§2.3).
[[gnu::cold]] Err aliased(const void* address, const Type* type);
inline Err not_aliased(const void* send, const void* recv, std::int64_t count, const Type* type) {
  return count > 0 && send == recv && send != nullptr ? aliased(send, type) : ok;
}
/// `count` elements of a type at `data`.
struct Part {
  const void* data;
  std::int64_t count;
  const Type* type;
};
inline Err apart(const Part& send, const Part& recv) {
  if (send.type == nullptr || send.type != recv.type) return ok;
  return not_aliased(send.data, recv.data, std::min(send.count, recv.count), send.type);
}
// The caller's own part of a buffer with one for each process; an intercommunicator has none.
inline std::int64_t own(const Comm& comm, std::int64_t count) {
  return comm.is_inter() ? 0 : count;
}
inline std::int64_t own(const Comm& comm, coll::Counts counts) {
  return comm.is_inter() ? 0 : counts[comm.rank];
}
Part own(const Comm& comm, const void* data, std::int64_t count, const Type* type);
Part own(const Comm& comm, const void* data, coll::Counts counts, coll::Counts displs,
         const Type* type);
/// Of a w-collective: displacements are bytes.
Part own(const Comm& comm, const void* data, coll::Counts counts, coll::Counts displs,
         const MPI_Datatype* types);

}  // namespace weft::abi::check
