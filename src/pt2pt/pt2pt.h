// SPDX-License-Identifier: Apache-2.0
//
// Point-to-point communication, as the entry points and the collectives see it. Arguments are
// already checked; ranks are ranks of the communicator (of its remote group for an
// intercommunicator), MPI_PROC_NULL and the wildcards keep their ABI values.
//
// Blocking calls progress the whole rank while they wait and release their context's lock then.
#pragma once

#include <cstdint>
#include <span>

#include "base/err.h"
#include "datatype/type.h"
#include "object/objects.h"
#include "object/request.h"

namespace weft::pt2pt {

using datatype::Buffer;
using datatype::ConstBuffer;
using object::Comm;
using object::Request;

enum class Mode : std::uint8_t { standard, synchronous, buffered, ready };

/// Which of a communicator's message spaces: the user's, the collectives', or those of partitioned
/// communication (partitioned.h). Between them lie the two of construction (world/comms.h).
enum class Space : std::uint8_t { user = 0, collective = 1, plan = 4, partition = 5 };
/// The number of a communicator is a multiple of this; its spaces follow.
inline constexpr std::uint32_t spaces = 8;

// Blocking and nonblocking (MPI-5.0 §3.2, §3.4, §3.7). `*out` is the new request's handle.
Err send(const ConstBuffer& what, int dest, int tag, Comm& comm, Mode mode = Mode::standard);
Err recv(const Buffer& into, int source, int tag, Comm& comm, MPI_Status* status);
Err isend(const ConstBuffer& what, int dest, int tag, Comm& comm, Mode mode, MPI_Request* out);
Err irecv(const Buffer& into, int source, int tag, Comm& comm, MPI_Request* out);
Err sendrecv(const ConstBuffer& what, int dest, int sendtag, const Buffer& into, int source,
             int recvtag, Comm& comm, MPI_Status* status);
Err sendrecv_replace(const Buffer& buffer, int dest, int sendtag, int source, int recvtag,
                     Comm& comm, MPI_Status* status);
Err isendrecv(const ConstBuffer& what, int dest, int sendtag, const Buffer& into, int source,
              int recvtag, Comm& comm, MPI_Request* out);
Err isendrecv_replace(const Buffer& buffer, int dest, int sendtag, int source, int recvtag,
                      Comm& comm, MPI_Request* out);

// Persistent (§3.9).
Err send_init(const ConstBuffer& what, int dest, int tag, Comm& comm, Mode mode, MPI_Request* out);
Err recv_init(const Buffer& into, int source, int tag, Comm& comm, MPI_Request* out);
Err start(MPI_Request* request);
Err startall(std::span<MPI_Request> requests);

// Probe and matched probe (§3.8).
Err probe(int source, int tag, Comm& comm, MPI_Status* status);
Err iprobe(int source, int tag, Comm& comm, int* flag, MPI_Status* status);
Err mprobe(int source, int tag, Comm& comm, MPI_Message* message, MPI_Status* status);
Err improbe(int source, int tag, Comm& comm, int* flag, MPI_Message* message, MPI_Status* status);
Err mrecv(const Buffer& into, MPI_Message* message, MPI_Status* status);
Err imrecv(Engine& engine, const Buffer& into, MPI_Message* message, MPI_Request* out);

// Completion (§3.7.3-§3.7.6). Null and inactive requests are legal.
Err wait(MPI_Request* request, MPI_Status* status);
Err test(MPI_Request* request, int* flag, MPI_Status* status);
Err waitany(std::span<MPI_Request> requests, int* index, MPI_Status* status);
Err testany(std::span<MPI_Request> requests, int* index, int* flag, MPI_Status* status);
Err waitall(std::span<MPI_Request> requests, MPI_Status* statuses);
Err testall(std::span<MPI_Request> requests, int* flag, MPI_Status* statuses);
Err waitsome(std::span<MPI_Request> requests, int* outcount, int* indices, MPI_Status* statuses);
Err testsome(std::span<MPI_Request> requests, int* outcount, int* indices, MPI_Status* statuses);
// The same questions without completing anything (§3.7.6).
Err get_status(MPI_Request request, int* flag, MPI_Status* status);
Err get_status_any(std::span<const MPI_Request> requests, int* index, int* flag,
                   MPI_Status* status);
Err get_status_all(std::span<const MPI_Request> requests, int* flag, MPI_Status* statuses);
Err get_status_some(std::span<const MPI_Request> requests, int* outcount, int* indices,
                    MPI_Status* statuses);
Err request_free(MPI_Request* request);
Err cancel(MPI_Request* request);

// Buffered mode (§3.6), for the buffer of a communicator, a session, or the process (rank).
struct BufferOwner;  // contexts.h
Err buffer_attach(Engine& engine, const BufferOwner& owner, void* buffer, std::int64_t size);
Err buffer_detach(Engine& engine, const BufferOwner& owner, void* buffer_address,
                  std::int64_t* size);
Err buffer_flush(Engine& engine, const BufferOwner& owner);
Err buffer_iflush(Engine& engine, const BufferOwner& owner, MPI_Request* out);
/// It is about to be destroyed.
void forget_buffer(Engine& engine, const BufferOwner& owner);

// For the collectives: messages of the collective space. `tag` is any non-negative int that keeps
// concurrent operations of one communicator apart. The Request stays the caller's: finish it with
// wait_one/`done`, then give it back with free_request.
Request* post_send(const ConstBuffer& what, int dest, int tag, Comm& comm);
Request* post_recv(const Buffer& into, int source, int tag, Comm& comm);
void free_request(Request* request);
/// A receive of these that has no message yet is done, without one.
void give_up_receive(Request& request);

/// Progress a context once: mailbox, queued sends, registered pollers. Under the engine's lock.
/// True if there was anything to do.
bool progress(Engine& engine);
/// The same, but nothing is taken out of the mailbox: what comes from other nodes, and what it
/// begins. `in_passing`: by a call that only sends (wire::Network::look).
bool progress_of_network(Engine& engine, bool in_passing = false);
/// In a call that begins something, and is to return soon: is a copy of so many bytes for the
/// rank's thread of weft's own? It is told as the call ends.
bool leave_to_thread(Engine& engine, std::int64_t bytes);
/// Progress until the request is done: spins, yields, parks; lets go of the lock meanwhile.
void wait_for(Request& request);
/// The same for several requests of one context.
void wait_for_all(std::span<Request* const> requests);

/// Something else that progress() advances (the schedules of nonblocking collectives). Polled while
/// registered; returns true when it has nothing left to do (it is then removed).
struct Poller {
  bool (*poll)(void* state);
  void* state;
};
void add_poller(Engine& engine, Poller poller);

}  // namespace weft::pt2pt
