// SPDX-License-Identifier: Apache-2.0
//
// The entry points of weft/channel.h. They take no lock: an end of a channel is one thread's, and
// who waits takes that of its context (channel/channel.cc).
#include <mpi.h>
#include <sched.h>

#include <algorithm>

#include "abi/check.h"
#include "abi/entry.h"
#include "channel/channel.h"
#pragma GCC visibility push(default)
#include "weft/channel.h"
#pragma GCC visibility pop

namespace weft::abi {
namespace {

using channel::Channel;
using channel::Options;
using object::Comm;

/// A call on a channel.
class Call {
 public:
  Call(Fn fn, WEFT_Channel handle) : entry_(fn, NoLock{}) {
    if (entry_.status()) return;
    if (is_address(handle) && is_live(handle, Kind::channel)) {
      auto* channel = static_cast<Channel*>(reinterpret_cast<Object*>(handle));
      if (channel->comm().owner == &entry_.rank()) channel_ = channel;
    }
    handle_ = handle;
  }
  Channel& channel() { return *channel_; }
  Rank& rank() { return entry_.rank(); }

  Err status() const {
    if (entry_.status()) return entry_.status();
    return channel_ != nullptr ? ok
                               : check::bad_handle(MPI_ERR_ARG, handle_, "a channel", "channel");
  }
  Err as_sender() {
    WEFT_TRY(status());
    if (channel_->sends() && !channel_->is_closed()) [[likely]]
      return ok;
    if (channel_->sends())
      return fail(MPI_ERR_OTHER, "this rank has closed the channel and sends no more");
    return fail(MPI_ERR_RANK, "rank %d of %s is none of the channel's senders",
                channel_->comm().rank, channel_->comm().name.c_str());
  }
  Err as_trying_sender() {
    WEFT_TRY(as_sender());
    if (!channel_->is_synchronous()) return ok;
    return fail(MPI_ERR_OTHER,
                "the channel is synchronous (k = 0): its sender always waits for the receiver. "
                "Create it with k >= 1 to try");
  }
  Err as_receiver() {
    WEFT_TRY(status());
    if (channel_->receives()) [[likely]]
      return ok;
    return fail(MPI_ERR_RANK, "rank %d of %s is none of the channel's receivers",
                channel_->comm().rank, channel_->comm().name.c_str());
  }
  int end(Err error) {
    if (!error) [[likely]]
      return MPI_SUCCESS;
    return entry_.raise(channel_ != nullptr ? &channel_->comm() : nullptr, error);
  }

 private:
  Entry entry_;
  Channel* channel_ = nullptr;
  WEFT_Channel handle_ = nullptr;
};

using check::given;

Err ranks(int count, const int* given_ranks, const Comm& comm, const char* name,
          std::vector<int>* out) {
  if (count < 1)
    return fail(MPI_ERR_ARG, "%s_count is %d, but a channel has at least one", name, count);
  WEFT_TRY(check::array(given_ranks, count, name));
  out->assign(given_ranks, given_ranks + count);
  for (const int rank : *out) WEFT_TRY(check::rank(rank, comm, name));
  std::vector<int> sorted = *out;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end())
    return fail(MPI_ERR_RANK, "rank %d is twice among the %ss", *twice, name);
  return ok;
}

Err threads(const WEFT_Channel_options& o, channel::Couriers::Plan* out) {
  if (o.threads == nullptr) return ok;
  if (o.threads[0] == 0)
    return fail(MPI_ERR_ARG, "options.threads is empty; it is a name, or NULL for none");
  if (o.thread_count < 0 || o.thread_count > CPU_SETSIZE)
    return fail(MPI_ERR_ARG, "options.thread_count is %d; it is 0 (for 1) to %d", o.thread_count,
                CPU_SETSIZE);
  out->name = o.threads;
  out->threads = std::max(o.thread_count, 1);
  if (o.cpus == nullptr) return ok;
  WEFT_TRY(check::count(o.cpu_count, "options.cpu_count"));
  out->cpus.assign(o.cpus, o.cpus + o.cpu_count);
  for (const int cpu : out->cpus)
    if (cpu < 0 || cpu >= CPU_SETSIZE)
      return fail(MPI_ERR_ARG, "options.cpus names CPU %d; CPUs are 0 to %d", cpu, CPU_SETSIZE - 1);
  return ok;
}

Err read(const WEFT_Channel_options* given_options, const Comm& comm, Options* out) {
  WEFT_TRY(given(given_options, "options"));
  const WEFT_Channel_options& o = *given_options;
  out->type = type(o.type);
  WEFT_TRY(check::type(out->type, o.type, "options.type"));
  if (!out->type->committed)
    return fail(MPI_ERR_TYPE, "options.type is not committed: call MPI_Type_commit first");
  WEFT_TRY(check::count(o.count, "options.count"));
  out->count = o.count;
  if (!check::holds(o.count, *out->type))
    return fail(MPI_ERR_COUNT,
                "a message of options.count elements has more bytes than 64 bits hold");
  if (o.asynchrony < 0)
    return fail(MPI_ERR_ARG,
                "options.asynchrony is %d, but it is a number of messages: 0 (a send waits for its "
                "receive) or more",
                o.asynchrony);
  out->asynchrony = o.asynchrony;
  if (o.distribution != WEFT_CHANNEL_ROUND_ROBIN && o.distribution != WEFT_CHANNEL_ON_DEMAND)
    return fail(MPI_ERR_ARG,
                "options.distribution is %d, but it is WEFT_CHANNEL_ROUND_ROBIN (0) or "
                "WEFT_CHANNEL_ON_DEMAND (1)",
                o.distribution);
  out->on_demand = o.distribution == WEFT_CHANNEL_ON_DEMAND;
  WEFT_TRY(threads(o, &out->couriers));
  WEFT_TRY(ranks(o.sender_count, o.senders, comm, "sender", &out->senders));
  return ranks(o.receiver_count, o.receivers, comm, "receiver", &out->receivers);
}

channel::Ticket ticket_of(const WEFT_Channel_request& request) {
  return {request.row, request.queued, request.handed};
}

/// A call on a request that is not complete yet.
Err as_waiting(Call& call, const WEFT_Channel_request* request) {
  WEFT_TRY(call.status());
  if (call.channel().knows(ticket_of(*request))) return ok;
  return fail(MPI_ERR_REQUEST,
              "request is none of the channel's: give what WEFT_Channel_send_delegated gave");
}

}  // namespace
}  // namespace weft::abi

using namespace weft;
using namespace weft::abi;

extern "C" int WEFT_Channel_create(MPI_Comm comm, const WEFT_Channel_options* options,
                                   WEFT_Channel* channel) {
  Entry entry(Fn::Channel_create, comm);
  object::Comm* c = entry.comm(comm);
  Err error = entry.status();
  if (!error) error = check::comm(c, comm, "comm");
  if (!error) error = check::intra(*c, "comm");
  if (error) return entry.raise(c, error);
  Options wanted;
  Err wrong = given(channel, "channel");
  if (!wrong) wrong = read(options, *c, &wanted);
  Channel* made = nullptr;
  error = channel::create(entry.rank().channels, *c, wrong, wanted, &made);
  if (error) return entry.raise(c, error);
  *channel = reinterpret_cast<WEFT_Channel>(static_cast<Object*>(made));
  return MPI_SUCCESS;
}

extern "C" int WEFT_Channel_free(WEFT_Channel* channel) {
  Call call(Fn::Channel_free, handle_at(channel));
  Err error = call.status();
  if (error) return call.end(error);
  channel::free(call.rank().channels, call.channel());
  *channel = WEFT_CHANNEL_NULL;
  return MPI_SUCCESS;
}

extern "C" int WEFT_Channel_send(WEFT_Channel channel, const void* message) {
  Call call(Fn::Channel_send, channel);
  Err error = call.as_sender();
  if (!error) error = given(message, "message");
  if (!error) error = call.channel().send(message);
  return call.end(error);
}

extern "C" int WEFT_Channel_try_send(WEFT_Channel channel, const void* message, int* sent) {
  Call call(Fn::Channel_try_send, channel);
  Err error = call.as_trying_sender();
  if (!error) error = given(message, "message");
  if (!error) error = given(sent, "sent");
  bool done = false;
  if (!error) error = call.channel().try_send(message, &done);
  if (!error) *sent = done ? 1 : 0;
  return call.end(error);
}

extern "C" int WEFT_Channel_reserve(WEFT_Channel channel, void** message) {
  Call call(Fn::Channel_reserve, channel);
  Err error = call.as_sender();
  if (!error) error = given(message, "message");
  if (!error) error = call.channel().reserve(message);
  return call.end(error);
}

extern "C" int WEFT_Channel_try_reserve(WEFT_Channel channel, void** message) {
  Call call(Fn::Channel_try_reserve, channel);
  Err error = call.as_trying_sender();
  if (!error) error = given(message, "message");
  if (!error) error = call.channel().try_reserve(message);
  return call.end(error);
}

extern "C" int WEFT_Channel_commit(WEFT_Channel channel, void* message) {
  Call call(Fn::Channel_commit, channel);
  Err error = call.as_sender();
  if (!error) error = call.channel().commit(message);
  return call.end(error);
}

extern "C" int WEFT_Channel_close(WEFT_Channel channel) {
  Call call(Fn::Channel_close, channel);
  Err error = call.as_sender();
  if (!error) error = call.channel().close();
  return call.end(error);
}

extern "C" int WEFT_Channel_receive(WEFT_Channel channel, const void** message, int* source) {
  Call call(Fn::Channel_receive, channel);
  Err error = call.as_receiver();
  if (!error) error = given(message, "message");
  if (!error) error = call.channel().receive(message, source);
  return call.end(error);
}

extern "C" int WEFT_Channel_try_receive(WEFT_Channel channel, const void** message, int* source,
                                        int* flag) {
  Call call(Fn::Channel_try_receive, channel);
  Err error = call.as_receiver();
  if (!error) error = given(message, "message");
  if (!error) error = given(flag, "flag");
  bool found = false;
  if (!error) error = call.channel().try_receive(message, source, &found);
  if (!error) *flag = found ? 1 : 0;
  return call.end(error);
}

extern "C" int WEFT_Channel_release(WEFT_Channel channel, const void* message) {
  Call call(Fn::Channel_release, channel);
  Err error = call.as_receiver();
  if (!error) error = call.channel().release(message);
  return call.end(error);
}

extern "C" int WEFT_Channel_send_delegated(WEFT_Channel channel, const void* message,
                                           WEFT_Channel_request* request) {
  Call call(Fn::Channel_send_delegated, channel);
  Err error = call.as_sender();
  if (!error) error = given(message, "message");
  if (!error) error = given(request, "request");
  channel::Ticket ticket;
  if (!error) error = call.channel().send_delegated(message, &ticket);
  if (!error) *request = {channel, ticket.queued, ticket.handed, ticket.row};
  return call.end(error);
}

extern "C" int WEFT_Channel_wait(WEFT_Channel_request* request) {
  if (is_address(request) && request->channel == WEFT_CHANNEL_NULL) return MPI_SUCCESS;
  Call call(Fn::Channel_wait, is_address(request) ? request->channel : WEFT_CHANNEL_NULL);
  Err error = given(request, "request");
  if (!error) error = as_waiting(call, request);
  if (!error) error = call.channel().wait(ticket_of(*request));
  if (!error) request->channel = WEFT_CHANNEL_NULL;
  return call.end(error);
}

extern "C" int WEFT_Channel_test(WEFT_Channel_request* request, int* flag) {
  Call call(Fn::Channel_test, is_address(request) ? request->channel : WEFT_CHANNEL_NULL);
  Err error = given(request, "request");
  if (!error) error = given(flag, "flag");
  bool done = !error && request->channel == WEFT_CHANNEL_NULL;
  if (!error && !done) {
    error = as_waiting(call, request);
    if (!error) error = call.channel().test(ticket_of(*request), &done);
    if (!error && done) request->channel = WEFT_CHANNEL_NULL;
  }
  if (!error) *flag = done ? 1 : 0;
  return call.end(error);
}
