// SPDX-License-Identifier: Apache-2.0
#include "net/endpoint.h"

#include <poll.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>

#include "net/limits.h"

namespace weft::net {
namespace {

static_assert(sizeof(Operation::scratch) >= sizeof(fi_context2) &&
                  offsetof(Operation, scratch) == 0,
              "an Operation is the context that libfabric writes into");

constexpr std::size_t page_bytes = 4096;
/// Completions taken in one go: enough that the call costs little of each, few enough for the
/// stack.
constexpr int batch = 16;

template <class T>
void close(T* object) {
  if (object != nullptr) fi_close(&object->fid);
}

std::size_t rounded(std::size_t bytes, std::size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

bool is_readable(int fd) {
  pollfd one{fd, POLLIN, 0};
  return poll(&one, 1, 0) > 0;
}

bool is_epoll_set(int fd) {
  char path[32], what[32] = "";
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return readlink(path, what, sizeof what - 1) > 0 &&
         std::strcmp(what, "anon_inode:[eventpoll]") == 0;
}

std::vector<int> wait_fds_of(fid_cq& queue, fi_wait_obj object) {
  std::vector<int> found;
  if (object == FI_WAIT_NONE) return found;
  if (object == FI_WAIT_FD) {
    int set = -1;
    if (fi_control(&queue.fid, FI_GETWAIT, &set) == 0) found.push_back(set);
    return found;
  }
  // libfabric (1.17, 2.5) lists its own signal alone until somebody has waited. Nothing can come
  // yet.
  fi_cq_msg_entry none;
  static_cast<void>(fi_cq_sread(&queue, &none, 1, nullptr, 1));
  constexpr std::size_t most = 16;
  pollfd fds[most]{};
  fi_wait_pollfd several{.change_index = 0, .nfds = most, .fd = fds};
  if (fi_control(&queue.fid, FI_GETWAIT, &several) != 0) return found;
  for (const pollfd& one : std::span(fds, several.nfds)) found.push_back(one.fd);
  return found;
}

std::uint64_t access_for(Use use, bool reaches_memory) {
  if (use == Use::shown) return FI_REMOTE_READ;
  if (!reaches_memory) return FI_SEND | FI_RECV;
  const std::uint64_t peers = use == Use::peers ? FI_REMOTE_READ | FI_REMOTE_WRITE : 0;
  return FI_SEND | FI_RECV | FI_READ | FI_WRITE | peers;
}

}  // namespace

Registration::~Registration() {
  close(region_);
}

Remote Registration::remote() const {
  return {address_, fi_mr_key(region_)};
}

void* Registration::descriptor() const {
  return region_ != nullptr ? fi_mr_desc(region_) : nullptr;
}

Err Endpoint::check(int rc, const char* what) const {
  if (rc >= 0) return ok;
  return fail(MPI_ERR_OTHER, "libfabric's %s on %s cannot %s: %s; try another WEFT_NET_PROVIDER",
              site_.info.fabric_attr->prov_name, site_.info.domain_attr->name, what,
              site_.library.strerror(-rc));
}

Err Endpoint::lost_peer(const char* what, int code) const {
  return fail(MPI_ERR_PROC_ABORTED, "%s did not arrive: %s (libfabric's %s on %s)", what,
              site_.library.strerror(code), site_.info.fabric_attr->prov_name,
              site_.info.domain_attr->name);
}

Result<std::unique_ptr<Endpoint>> Endpoint::open(const Site& site, const Rooms& rooms) {
  std::unique_ptr<Endpoint> made(new Endpoint(site));
  if (made->open_objects(FI_WAIT_POLLFD) || made->wait_fds_.size() < 2) {
    made.reset(new Endpoint(site));
    WEFT_TRY(made->open_objects(FI_WAIT_FD));
  }
  WEFT_TRY(made->open_rooms(rooms));
  return made;
}

/// FI_WAIT_POLLFD shows the descriptors themselves; FI_WAIT_FD, a set (epoll) of them: one more
/// that the kernel goes through for each packet.
Err Endpoint::open_objects(int wait_object) {
  fi_info* info = const_cast<fi_info*>(&site_.info);  // libfabric only reads it
  const Result<HashKey> key = random_key();
  if (!key) return key.err;
  key_of_keys_ = key.value;
  reaches_memory_ = (info->caps & FI_RMA) != 0;
  longest_transfer_bytes_ = info->ep_attr->max_msg_size;
  WEFT_TRY(check(fi_domain(&site_.fabric, info, &domain_, nullptr), "open a domain"));
  fi_av_attr peers{};
  peers.type =
      info->domain_attr->av_type != FI_AV_UNSPEC ? info->domain_attr->av_type : FI_AV_TABLE;
  WEFT_TRY(check(fi_av_open(domain_, &peers, &peers_, nullptr), "open an address vector"));
  fi_cq_attr queue{};
  queue.format = FI_CQ_FORMAT_MSG;
  queue.wait_obj = static_cast<fi_wait_obj>(wait_object);
  int rc = fi_cq_open(domain_, &queue, &queue_, nullptr);
  if (rc != 0 && queue.wait_obj == FI_WAIT_FD) {
    queue.wait_obj = FI_WAIT_NONE;
    rc = fi_cq_open(domain_, &queue, &queue_, nullptr);
  }
  WEFT_TRY(check(rc, "open a completion queue"));
  WEFT_TRY(check(fi_endpoint(domain_, info, &endpoint_, nullptr), "open an endpoint"));
  WEFT_TRY(check(fi_ep_bind(endpoint_, &peers_->fid, 0), "bind an address vector"));
  WEFT_TRY(check(fi_ep_bind(endpoint_, &queue_->fid, FI_TRANSMIT | FI_RECV), "bind a queue"));
  WEFT_TRY(check(fi_enable(endpoint_), "enable an endpoint"));
  wait_fds_ = wait_fds_of(*queue_, queue.wait_obj);
  std::size_t bytes = 0;
  fi_getname(&endpoint_->fid, nullptr, &bytes);
  address_.resize(bytes);
  return check(fi_getname(&endpoint_->fid, address_.data(), &bytes), "name an endpoint");
}

Err Endpoint::open_rooms(const Rooms& rooms) {
  const int receives = std::min(rooms.receives, static_cast<int>(site_.info.rx_attr->size));
  const int sends = std::min(rooms.sends, static_cast<int>(site_.info.tx_attr->size));
  const int all = receives + sends;
  receives_ = static_cast<std::size_t>(receives);
  room_bytes_ = rounded(rooms.room_bytes, 64);
  send_bytes_ = rooms.send_bytes > 0 ? rounded(rooms.send_bytes, 64) : room_bytes_;
  const std::size_t bytes =
      rounded(room_bytes_ * receives_ + send_bytes_ * static_cast<std::size_t>(sends), page_bytes);
  rooms_ = {static_cast<std::byte*>(std::aligned_alloc(page_bytes, bytes)), std::free};
  if (rooms_ == nullptr)
    return fail(MPI_ERR_OTHER, "no memory for the %zu bytes of an endpoint's buffers", bytes);
  Result<Registration> registered = enroll({rooms_.get(), bytes}, Use::own);
  if (!registered) return registered.err;
  rooms_registered_ = std::move(registered.value);
  operations_.resize(static_cast<std::size_t>(all));
  to_post_.reserve(static_cast<std::size_t>(receives));
  free_.reserve(static_cast<std::size_t>(sends));
  sent_.resize(static_cast<std::size_t>(sends));
  for (int room = 0; room < all; ++room) {
    Operation& operation = operations_[static_cast<std::size_t>(room)];
    operation.room = room;
    operation.what = room < receives ? Operation::What::receive : Operation::What::send;
    (room < receives ? to_post_ : free_).push_back(room);
  }
  return post_receives();
}

Endpoint::~Endpoint() {
  close(endpoint_);
  rooms_registered_ = Registration();
  close(queue_);
  close(peers_);
  close(domain_);
}

Result<Peer> Endpoint::add_peer(const Address& address) {
  fi_addr_t peer = FI_ADDR_UNSPEC;
  // An address of another length is of another provider, and would be read beyond its end.
  if (address.size() != address_.size() ||
      fi_av_insert(peers_, address.data(), 1, &peer, 0, nullptr) != 1)
    return fail(MPI_ERR_OTHER,
                "a peer's address (%zu bytes) is none of libfabric's %s, which is taken here (%zu "
                "bytes); set WEFT_NET_PROVIDER to one that all nodes have",
                address.size(), site_.info.fabric_attr->prov_name, address_.size());
  return peer;
}

void Endpoint::remove_peer(Peer peer) {
  fi_addr_t address = peer;
  fi_av_remove(peers_, &address, 1, 0);
}

std::byte* Endpoint::bytes_of(int room) {
  const auto n = static_cast<std::size_t>(room);
  const std::size_t sends = n - std::min(n, receives_);
  return rooms_.get() + (n - sends) * room_bytes_ + sends * send_bytes_;
}

/// Of one to send.
int Endpoint::room_of(const std::byte* bytes) const {
  const auto at = static_cast<std::size_t>(bytes - rooms_.get()) - receives_ * room_bytes_;
  return static_cast<int>(receives_ + at / send_bytes_);
}

std::byte* Endpoint::reserve(int spared) {
  if (free_.size() <= static_cast<std::size_t>(spared)) return nullptr;
  std::byte* room = bytes_of(free_.back());
  free_.pop_back();
  return room;
}

void Endpoint::discard(std::byte* room) {
  free_.push_back(room_of(room));
}

Result<bool> Endpoint::posted(ssize_t rc, const char* what) {
  if (rc == -FI_EAGAIN) return false;
  if (rc != 0) return lost_peer(what, static_cast<int>(-rc));
  ++on_their_way_;
  is_quiet_ = false;
  return true;
}

Result<bool> Endpoint::commit(std::byte* room, std::size_t bytes, Peer to,
                              std::span<const std::byte> behind) {
  const int number = room_of(room);
  Operation& operation = operations_[static_cast<std::size_t>(number)];
  operation.peer = to;
  operation.what = behind.empty() ? Operation::What::send : Operation::What::lent;
  sent_in(number) = {bytes, behind};
  return post_send(number);
}

void Endpoint::hint(std::byte* room, std::size_t bytes, Peer to) {
  const Result<bool> sent = commit(room, bytes, to);
  if (sent && sent.value)
    operations_[static_cast<std::size_t>(room_of(room))].what = Operation::What::hint;
  else
    discard(room);
}

Endpoint::Sent& Endpoint::sent_in(int room) {
  return sent_[static_cast<std::size_t>(room) - receives_];
}

Result<bool> Endpoint::post_send(int room) {
  Operation& operation = operations_[static_cast<std::size_t>(room)];
  std::byte* const bytes = bytes_of(room);
  const Sent& sent = sent_in(room);
  if (operation.what == Operation::What::send)
    return posted(fi_send(endpoint_, bytes, sent.bytes, rooms_registered_.descriptor(),
                          operation.peer, &operation),
                  "a message");
  const iovec parts[] = {{bytes, sent.bytes},
                         {const_cast<std::byte*>(sent.behind.data()), sent.behind.size()}};
  void* none[] = {nullptr, nullptr};
  return posted(fi_sendv(endpoint_, parts, none, 2, operation.peer, &operation), "a message");
}

/// Where two ends connect to each other at the same time, libfabric 1.17's net now and then closes
/// both connections, and fails what was sent over them. A message may be sent again: its receiver
/// drops what it has (lane.h). A peer that is dead fails each time.
bool Endpoint::may_come_again(const Operation& operation, int error) {
  if (error != FI_ENOTCONN && error != FI_ECONNRESET) return false;
  return ++sent_in(operation.room).failures < most_failures;
}

void Endpoint::send_again(Listener& listener) {
  const ErrorsAside errors_are_for_the_listener;
  std::vector<int> rooms = std::exchange(to_send_again_, {});
  for (const int room : rooms) {
    const Result<bool> sent = post_send(room);
    if (!sent)
      lose(operations_[static_cast<std::size_t>(room)], sent.err, listener);
    else if (!sent.value)
      to_send_again_.push_back(room);
  }
}

void Endpoint::lose(const Operation& operation, Err err, Listener& listener) {
  listener.lost(operation.peer, err);
  if (operation.what == Operation::What::lent) listener.returned(bytes_of(operation.room));
  free_.push_back(operation.room);
}

/// From memory that is not registered.
bool Endpoint::borrows() const {
  return !site_.registers_own && site_.info.tx_attr->iov_limit >= 2;
}

/// libfabric's providers over sockets say that they go on by themselves, too, and do not without a
/// call (tried: net of 1.17, tcp of 2.5; 2026-11-24).
bool Endpoint::works_alone() const {
  return !site_.has_sockets && site_.info.domain_attr->data_progress == FI_PROGRESS_AUTO;
}

bool Endpoint::connects() const {
  const std::string_view provider = site_.info.fabric_attr->prov_name;
  return site_.has_sockets || provider.find("rxm") != provider.npos;
}

/// Where the provider lets one choose: none that a stranger guesses, nor who has seen others, if
/// keys are long enough that none comes twice.
std::uint64_t Endpoint::next_key() {
  ++keys_;
  if (site_.info.domain_attr->mr_key_size < sizeof keys_) return keys_;
  return keyed_hash(key_of_keys_, std::as_bytes(std::span(&keys_, 1)));
}

Result<Registration> Endpoint::enroll(std::span<std::byte> memory, Use use) {
  if (use == Use::own && !site_.registers_own) return Registration();
  const std::uint64_t access = access_for(use, reaches_memory_);
  fid_mr* region = nullptr;
  WEFT_TRY(check(
      fi_mr_reg(domain_, memory.data(), memory.size(), access, 0, next_key(), 0, &region, nullptr),
      "register memory"));
  const int mode = site_.info.domain_attr->mr_mode;
  const bool has_addresses = (mode & FI_MR_VIRT_ADDR) != 0;
  Registration made(region, has_addresses ? reinterpret_cast<std::uint64_t>(memory.data()) : 0);
  if ((mode & FI_MR_ENDPOINT) != 0) {
    WEFT_TRY(check(fi_mr_bind(region, &endpoint_->fid, 0), "bind memory to an endpoint"));
    WEFT_TRY(check(fi_mr_enable(region), "enable registered memory"));
  }
  return made;
}

Result<bool> Endpoint::read(Operation& operation, std::span<std::byte> memory,
                            const Registration& own, Peer peer, Remote from) {
  operation.what = Operation::What::transfer;
  operation.peer = peer;
  return posted(fi_read(endpoint_, memory.data(), memory.size(), own.descriptor(), peer,
                        from.address, from.key, &operation),
                "what was read from a peer's memory");
}

Result<bool> Endpoint::write(Operation& operation, std::span<const std::byte> memory,
                             const Registration& own, Peer peer, Remote to) {
  operation.what = Operation::What::transfer;
  operation.peer = peer;
  iovec piece{const_cast<std::byte*>(memory.data()), memory.size()};
  void* descriptor = own.descriptor();
  const fi_rma_iov there{to.address, memory.size(), to.key};
  fi_msg_rma message{};
  message.msg_iov = &piece;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.addr = peer;
  message.rma_iov = &there;
  message.rma_iov_count = 1;
  message.context = &operation;
  return posted(fi_writemsg(endpoint_, &message, FI_DELIVERY_COMPLETE | FI_COMPLETION),
                "what was written to a peer's memory");
}

/// Of a provider that is layered on others each message of some length takes an answer anyway.
bool Endpoint::has_tags() const {
  const std::string_view provider = site_.info.fabric_attr->prov_name;
  return (site_.info.caps & FI_TAGGED) != 0 && site_.has_sockets && borrows() &&
         provider.find(';') == provider.npos;
}

std::uint64_t Endpoint::next_tag() {
  ++keys_;
  return keyed_hash(key_of_keys_, std::as_bytes(std::span(&keys_, 1)));
}

Result<bool> Endpoint::send_tagged(Operation& operation, std::span<const std::byte> memory, Peer to,
                                   std::uint64_t tag) {
  operation.what = Operation::What::transfer;
  operation.peer = to;
  return posted(fi_tsend(endpoint_, memory.data(), memory.size(), nullptr, to, tag, &operation),
                "a message");
}

Result<bool> Endpoint::await_tagged(Operation& operation, std::span<std::byte> memory,
                                    std::uint64_t tag) {
  operation.what = Operation::What::transfer;
  return posted(fi_trecv(endpoint_, memory.data(), memory.size(), nullptr, FI_ADDR_UNSPEC, tag, 0,
                         &operation),
                "a message");
}

void Endpoint::cancel(Operation& operation) {
  fi_cancel(&endpoint_->fid, &operation);
}

Err Endpoint::post_receives() {
  while (!to_post_.empty()) {
    const int room = to_post_.back();
    const ssize_t rc =
        fi_recv(endpoint_, bytes_of(room), room_bytes_, rooms_registered_.descriptor(),
                FI_ADDR_UNSPEC, &operations_[static_cast<std::size_t>(room)]);
    if (rc == -FI_EAGAIN) return ok;
    WEFT_TRY(check(static_cast<int>(rc), "post a buffer"));
    to_post_.pop_back();
  }
  return ok;
}

Result<int> Endpoint::progress(Listener& listener) {
  WEFT_TRY(post_receives());
  if (!to_send_again_.empty()) [[unlikely]]
    send_again(listener);
  fi_cq_msg_entry done[batch];
  const ssize_t n = fi_cq_read(queue_, done, batch);
  is_quiet_ = n == -FI_EAGAIN && to_post_.empty();
  if (n == -FI_EAGAIN) return 0;
  if (n == -FI_EAVAIL) {
    WEFT_TRY(complete_failed(listener));
  } else {
    WEFT_TRY(check(static_cast<int>(n), "read its completion queue"));
    for (ssize_t i = 0; i < n; ++i) complete(done[i], listener);
  }
  // Else the next call does it: a message is answered before its room is posted again.
  if (to_post_.size() > receives_ / 2) WEFT_TRY(post_receives());
  return static_cast<int>(std::max<ssize_t>(n, 1));
}

void Endpoint::complete(const fi_cq_msg_entry& entry, Listener& listener) {
  auto& operation = *static_cast<Operation*>(entry.op_context);
  switch (operation.what) {
    case Operation::What::receive:
      listener.received({bytes_of(operation.room), entry.len});
      to_post_.push_back(operation.room);
      return;
    case Operation::What::send:
    case Operation::What::hint:
      --on_their_way_;
      free_.push_back(operation.room);
      return;
    case Operation::What::lent:
      --on_their_way_;
      listener.returned(bytes_of(operation.room));
      free_.push_back(operation.room);
      return;
    case Operation::What::transfer:
      --on_their_way_;
      listener.finished(operation, ok);
  }
}

Err Endpoint::complete_failed(Listener& listener) {
  fi_cq_err_entry error{};
  const ssize_t n = fi_cq_readerr(queue_, &error, 0);
  if (n == -FI_EAGAIN) return ok;
  WEFT_TRY(check(static_cast<int>(n), "read an error of its completion queue"));
  if (error.op_context == nullptr) return ok;
  const ErrorsAside errors_are_for_the_listener;
  auto& operation = *static_cast<Operation*>(error.op_context);
  switch (operation.what) {
    case Operation::What::receive:
      ++dropped_;
      to_post_.push_back(operation.room);
      break;
    case Operation::What::send:
    case Operation::What::lent:
      --on_their_way_;
      if (may_come_again(operation, error.err))
        to_send_again_.push_back(operation.room);
      else
        lose(operation, lost_peer("a message", error.err), listener);
      break;
    case Operation::What::hint:
      --on_their_way_;
      free_.push_back(operation.room);
      break;
    case Operation::What::transfer:
      --on_their_way_;
      listener.finished(operation, lost_peer("a transfer", error.err));
  }
  return ok;
}

bool Endpoint::may_sleep() {
  fid* queue = &queue_->fid;
  if (!to_send_again_.empty()) return false;
  if (hides_news()) return false;  // what is in the queue already does not show there
  return !wait_fds_.empty() && fi_trywait(&site_.fabric, &queue, 1) == 0;
}

bool Endpoint::has_news() const {
  return std::any_of(wait_fds_.begin(), wait_fds_.end(), is_readable);
}

bool Endpoint::leave_out_readable() {
  const auto stays = [](int fd) { return is_epoll_set(fd) && !is_readable(fd); };
  if (std::none_of(wait_fds_.begin(), wait_fds_.end(), stays)) return false;
  std::erase_if(wait_fds_, std::not_fn(stays));
  return leaves_some_out_ = true;
}

}  // namespace weft::net
