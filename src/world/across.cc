// SPDX-License-Identifier: Apache-2.0
#include "world/across.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <span>
#include <sstream>
#include <string_view>

#include "memory/addresses.h"
#include "object/group.h"
#include "shm/deaths.h"
#include "world/network.h"
#include "world/rank.h"

namespace weft::world {
namespace {

/// First word of what a leader says; other versions of weft have others.
constexpr const char* version = "weft-jobs-1";
constexpr std::size_t longest_text = std::size_t{64} << 20;
constexpr char goodbye = 'g';

Err other_side_ended() {
  return fail(MPI_ERR_OTHER, "the other job's process ended while it was being connected");
}

// --- what leaders say

struct Member {
  memory::Guest who;
  std::string addresses;
};

struct Introduction {
  std::string provider;
  std::int64_t piece_max = 0;  // bytes that follow a cell
  Member leader;
  std::vector<Member> group;
};

Member member_of(memory::Job& job, int rank) {
  return {memory::who_is(job, rank), memory::addresses_of(job, rank)};
}

void write(std::ostream& out, const Member& member) {
  const memory::Guest& who = member.who;
  char text[160];
  std::snprintf(text, sizeof text,
                "%016" PRIx64 " %016" PRIx64 " %016" PRIx64 " %016" PRIx64 " %d %d %d %u ",
                who.job.half[0], who.job.half[1], who.key.half[0], who.key.half[1], who.world.first,
                who.world.size, who.place, who.incarnation);
  out << text << member.addresses << '\n';
}

bool read(std::istream& in, Member* out) {
  memory::Guest& who = out->who;
  in >> std::hex >> who.job.half[0] >> who.job.half[1] >> who.key.half[0] >> who.key.half[1] >>
      std::dec >> who.world.first >> who.world.size >> who.place >> who.incarnation >>
      out->addresses;
  return static_cast<bool>(in);
}

std::string introduce(Rank& rank, const Members& group) {
  memory::Job& job = *rank.process->job;
  std::ostringstream out;
  out << version << ' ' << rank.network->fabric->offer().provider << ' ' << rank.engine.piece_max
      << ' ' << group.size() << '\n';
  write(out, member_of(job, rank.world_rank));
  for (const std::int32_t member : group) write(out, member_of(job, member));
  return out.str();
}

constexpr std::string_view refusal = "error ";

/// What the other leader said, or why it cannot.
Result<std::string> hear(Talk& talk, pt2pt::Engine& held) {
  Result<std::string> said = talk.receive(held);
  if (!said || !said.value.starts_with(refusal)) return said;
  return fail(MPI_ERR_OTHER, "the other job cannot be connected: %s",
              said.value.c_str() + refusal.size());
}

Result<Introduction> understand(const std::string& text) {
  std::istringstream in(text);
  std::string first;
  std::size_t count = 0;
  Introduction out;
  in >> first >> out.provider >> out.piece_max >> count;
  bool is_right = first == version && in && count > 0 && read(in, &out.leader);
  for (std::size_t i = 0; is_right && i < count; ++i)
    is_right = read(in, &out.group.emplace_back());
  if (is_right) return out;
  return fail(MPI_ERR_OTHER, "the other job is of another version of weft, which said \"%.40s\"",
              text.c_str());
}

/// All of a group become guests, or are ranks of this job.
Result<Members> admit_all(const std::vector<Member>& group, Admitted& admitted) {
  Members out;
  for (const Member& member : group) {
    const Result<std::int32_t> place = admitted.add(member.who, member.addresses);
    if (!place) return place.err;
    out.push_back(place.value);
  }
  return out;
}

/// Can these two groups be one communicator's?
Err check(Rank& rank, const Members& local, const Introduction& theirs) {
  memory::Job& job = *rank.process->job;
  const std::string& provider = rank.network->fabric->offer().provider;
  if (theirs.provider != provider)
    return fail(MPI_ERR_OTHER,
                "this job has the network %s, the other one %s; set WEFT_NET_PROVIDER to the same "
                "in both",
                provider.c_str(), theirs.provider.c_str());
  if (theirs.piece_max != rank.engine.piece_max)
    return fail(MPI_ERR_OTHER,
                "this job sends pieces of %lld bytes, the other one of %lld; set "
                "WEFT_SHM_RING_BYTES to the same in both",
                static_cast<long long>(rank.engine.piece_max),
                static_cast<long long>(theirs.piece_max));
  std::vector<memory::Guest> own;
  for (const std::int32_t mine : local) own.push_back(memory::who_is(job, mine));
  for (const Member& member : theirs.group)
    if (std::find(own.begin(), own.end(), member.who) != own.end()) return overlap();
  return ok;
}

/// The end of a talk: who of the two gives the number, and whether the socket stays as a link.
struct Closing {
  std::uint64_t context = 0;
  int keeps = 0;
};

Result<Closing> trade(Talk& talk, pt2pt::Engine& held, const Closing& mine) {
  char text[64];
  std::snprintf(text, sizeof text, "%" PRIx64 " %d", mine.context, mine.keeps);
  WEFT_TRY(talk.send(held, text));
  const Result<std::string> answer = hear(talk, held);
  if (!answer) return answer.err;
  Closing theirs;
  if (std::sscanf(answer.value.c_str(), "%" SCNx64 " %d", &theirs.context, &theirs.keeps) != 2)
    return other_side_ended();
  return theirs;
}

/// Who is behind `talk`, and may be connected. They are guests before there is a link, so that
/// their end is not missed.
Result<Introduction> meet_leader(Rank& rank, View& view, Talk& talk, std::string* said,
                                 Admitted& admitted) {
  WEFT_TRY(talk.send(view.engine(), introduce(rank, view.members())));
  const Result<std::string> heard = hear(talk, view.engine());
  if (!heard) return heard.err;
  Result<Introduction> theirs = understand(*said = heard.value);
  if (!theirs) return theirs;
  WEFT_TRY(check(rank, view.members(), theirs.value));
  if (const Result<Members> places = admit_all(theirs.value.group, admitted); !places)
    return places.err;
  return theirs;
}

/// The leader: what all of its group have to know. A number, and what the other leader said.
Result<std::string> agree(Rank& rank, View& view, Talk& talk, Admitted& admitted) {
  pt2pt::Engine& held = view.engine();
  std::string said;
  const Result<Introduction> theirs = meet_leader(rank, view, talk, &said, admitted);
  if (!theirs) {
    std::string why(refusal);
    why += last_error_text(theirs.err.cls);
    const ErrorsAside aside;
    static_cast<void>(talk.send(held, why));
    return theirs.err;
  }
  const memory::Guest& leader = theirs.value.leader.who;
  const bool gives = memory::name_of(*rank.process->job, rank.world_rank) < memory::name_of(leader);
  const auto is_linked = [&](const Link& link) { return link.is_to(leader.job, leader.world); };
  Closing mine{.context = gives ? take_contexts_across(held, 1) : 0};
  {
    const sync::Guard guard(rank.store.lock);
    mine.keeps = std::none_of(rank.links.begin(), rank.links.end(), is_linked);
  }
  const Result<Closing> closing = trade(talk, held, mine);
  if (!closing) return closing.err;
  if (mine.keeps != 0 && closing.value.keeps != 0) {
    const sync::Guard guard(rank.store.lock);
    std::erase_if(rank.links, [](const Link& link) { return link.is_over(); });
    if (Socket socket = talk.keep())
      rank.links.emplace_back(rank, std::move(socket), leader.job, leader.world);
  }
  char number[24];
  std::snprintf(number, sizeof number, "%" PRIx64 "\n",
                gives ? mine.context : closing.value.context);
  return said.insert(0, number);
}

// --- sockets

/// Its first byte is 0: the kernel knows it, no file system.
sockaddr_un address_of(const std::string& name, socklen_t* bytes) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  const std::size_t n = std::min(name.size(), sizeof at.sun_path - 1);
  std::memcpy(at.sun_path + 1, name.data(), n);
  *bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + n);
  return at;
}

std::string socket_of_port(const std::string& port) {
  return "weft-port " + port;
}

/// In front of its port. A socket's name has no room for all that a service's may have. That of
/// another user only looks like it: who connects to the port finds out.
std::string socket_of_service(const std::string& service) {
  constexpr HashKey no_secret{{1, 2}};
  char text[48];
  std::snprintf(text, sizeof text, "weft-name %u %016" PRIx64 " ", geteuid(),
                keyed_hash(no_secret, std::as_bytes(std::span(service))));
  return text;
}

Socket new_socket() {
  return Socket(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

/// None: the system has none, or another socket has this name.
Socket bound_to(const std::string& name) {
  socklen_t bytes = 0;
  const sockaddr_un at = address_of(name, &bytes);
  Socket made = new_socket();
  return bind(made.fd(), reinterpret_cast<const sockaddr*>(&at), bytes) == 0 ? std::move(made)
                                                                             : Socket();
}

bool is_of_this_user(const Socket& socket) {
  ucred other{};
  socklen_t bytes = sizeof other;
  return getsockopt(socket.fd(), SOL_SOCKET, SO_PEERCRED, &other, &bytes) == 0 &&
         other.uid == geteuid();
}

/// By messages between two members of a communicator.
class MessageTalk final : public Talk {
 public:
  MessageTalk(const Comm& peer, Members pair, int tag)
      : engine_(*peer.engine), pair_(peer, Among::some, std::move(pair)), tag_(tag) {}

  Err send(pt2pt::Engine& held, const std::string& text) override {
    end(held);
    const sync::Away away(held.lock);  // one context's lock at a time
    const pt2pt::Inside inside(engine_);
    sent_ = text;
    bytes_ = sent_.size();
    const int other = 1 - pair_.rank();
    sending_ = {pair_.post_send(&bytes_, sizeof bytes_, other, tag_),
                pair_.post_send(sent_.data(), sent_.size(), other, tag_)};
    return ok;
  }
  Result<std::string> receive(pt2pt::Engine& held) override {
    const sync::Away away(held.lock);
    const pt2pt::Inside inside(engine_);
    const int other = 1 - pair_.rank();
    std::uint64_t bytes = 0;
    std::string text;
    WEFT_TRY(pair_.receive(&bytes, sizeof bytes, other, tag_));
    text.resize(std::min<std::size_t>(bytes, longest_text));
    WEFT_TRY(pair_.receive(text.data(), text.size(), other, tag_));
    return text;
  }
  void end(pt2pt::Engine& held) override {
    const sync::Away away(held.lock);
    const pt2pt::Inside inside(engine_);
    for (pt2pt::Request* request : std::exchange(sending_, {})) {
      pt2pt::wait_for(*request);
      pt2pt::free_request(request);
    }
  }

 private:
  pt2pt::Engine& engine_;
  View pair_;
  int tag_;
  std::string sent_;
  std::uint64_t bytes_ = 0;
  std::vector<pt2pt::Request*> sending_;
};

}  // namespace

// --- talks

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

Err SocketTalk::send(pt2pt::Engine& held, const std::string& text) {
  const std::uint64_t bytes = text.size();
  std::string all(reinterpret_cast<const char*>(&bytes), sizeof bytes);
  all += text;
  const bool is_there = move_all(held, socket_.fd(), POLLOUT, all.size(), [&](std::size_t done) {
    return ::send(socket_.fd(), all.data() + done, all.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
  });
  return is_there ? ok : other_side_ended();
}

Result<std::string> SocketTalk::receive(pt2pt::Engine& held) {
  if (!first_.empty()) return std::exchange(first_, {});
  std::string text;
  const auto get = [&](void* to, std::size_t bytes) {
    return move_all(held, socket_.fd(), POLLIN, bytes, [&](std::size_t done) {
      return recv(socket_.fd(), static_cast<char*>(to) + done, bytes - done, MSG_DONTWAIT);
    });
  };
  std::uint64_t bytes = 0;
  if (!get(&bytes, sizeof bytes) || bytes > longest_text) return other_side_ended();
  text.resize(bytes);
  if (!get(text.data(), bytes)) return other_side_ended();
  return text;
}

std::unique_ptr<Talk> talk_by_messages(const Comm& peer, std::int32_t remote_leader, int tag) {
  memory::Job& job = *peer.engine->job;
  Members pair{peer.store->world_rank, remote_leader};
  if (memory::name_of(job, pair[1]) < memory::name_of(job, pair[0])) std::swap(pair[0], pair[1]);
  return std::make_unique<MessageTalk>(peer, std::move(pair), tag);
}

SharedName share_name(const std::string& service, const std::string& port) {
  return {service, bound_to(socket_of_service(service) + port)};
}

std::string find_shared(const std::string& service) {
  const std::string name = "@" + socket_of_service(service);
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);)
    if (const std::size_t at = line.find(name); at != line.npos)
      return line.substr(at + name.size());
  return "";
}

Socket listen_at(const std::string& port) {
  Socket made = bound_to(socket_of_port(port));
  return listen(made.fd(), SOMAXCONN) == 0 ? std::move(made) : Socket();
}

Socket accept_at(const Socket& listening) {
  Socket made(accept4(listening.fd(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  return made && is_of_this_user(made) ? std::move(made) : Socket();
}

Result<std::unique_ptr<Talk>> connect_to(pt2pt::Engine& held, const std::string& port) {
  socklen_t bytes = 0;
  const sockaddr_un at = address_of(socket_of_port(port), &bytes);
  Socket made = new_socket();
  bool is_there = false;
  look_until(held, [&] {  // EAGAIN: too many wait to be accepted
    is_there = connect(made.fd(), reinterpret_cast<const sockaddr*>(&at), bytes) == 0;
    return is_there || (errno != EAGAIN && errno != EINTR);
  });
  if (is_there && is_of_this_user(made))
    return std::unique_ptr<Talk>(std::make_unique<SocketTalk>(std::move(made)));
  return fail(
      MPI_ERR_PORT,
      "port_name is \"%s\", of another job, where nobody listens: the port is not open (any "
      "more), or on another machine; jobs of one machine and one user can be connected",
      port.c_str());
}

// --- groups

Admitted::~Admitted() {
  for (const std::int32_t place : places_) memory::drop_user(*job_, place);
}

Result<std::int32_t> Admitted::add(const memory::Guest& who, const std::string& addresses) {
  const Result<std::int32_t> place = memory::admit(*job_, who, addresses);
  if (place && job_->is_guest(place.value)) places_.push_back(place.value);
  return place;
}

Result<Remote> meet_across(View& view, int root, int tag, Talk* talk) {
  Rank& rank = view.owner();
  Err opened = ok;
  {
    const sync::Away away(view.engine().lock);
    opened = open_network_to_guests(rank);
  }
  std::vector<char> all(static_cast<std::size_t>(view.size()));
  const char mine = opened ? 0 : 1;
  WEFT_TRY(view.gather(&mine, sizeof mine, all.data(), tag));
  char all_opened = std::count(all.begin(), all.end(), 1) == view.size();
  WEFT_TRY(view.bcast(&all_opened, sizeof all_opened, tag));
  Remote out;
  out.admitted = Admitted(*rank.process->job);
  Result<std::string> text = std::string();
  if (all_opened == 0) {
    text = opened ? opened : fail(MPI_ERR_OTHER, "a process of the group cannot open the network");
    const ErrorsAside aside;
    std::string why(refusal);
    why += "a process cannot open the network";
    if (talk != nullptr) {
      static_cast<void>(talk->send(view.engine(), why));
      static_cast<void>(talk->receive(view.engine()));  // the other side is not to be held up
    }
  } else if (view.rank() == root) {
    text = agree(rank, view, *talk, out.admitted);
  }
  std::uint64_t bytes = text.value.size();
  WEFT_TRY(view.bcast(&bytes, sizeof bytes, tag, root));
  if (text.err) return text.err;
  if (bytes == 0) return not_found_by(root);
  text.value.resize(bytes);
  WEFT_TRY(view.bcast(text.value.data(), bytes, tag, root));
  const Result<Introduction> theirs = understand(text.value.substr(text.value.find('\n') + 1));
  if (!theirs) return theirs.err;
  if (std::sscanf(text.value.c_str(), "%" SCNx64, &out.context) != 1) return other_side_ended();
  Result<Members> members = admit_all(theirs.value.group, out.admitted);
  if (!members) return members.err;
  out.members = std::move(members.value);
  return out;
}

// --- links

namespace {

/// Guests have died.
void mourn(Rank& rank, const Members& guests) {
  memory::Job& job = *rank.process->job;
  const char* const how =
      "its job, which another mpiexec started, has ended without MPI_Comm_disconnect or "
      "MPI_Finalize";
  const auto everywhere = [](const void*, int) { return true; };
  if (shm::all_survive(job, {}, everywhere, nullptr)) {
    for (const std::int32_t place : guests) shm::mark_dead(job, {place, 1}, how);
    return;
  }
  char text[memory::message_bytes];
  std::snprintf(text, sizeof text, "weft: rank %d is connected to a process that is dead: %s",
                rank.world_rank, how);
  abort_job(&rank, 1, text);
}

}  // namespace

Link::Link(Rank& rank, Socket socket, const HashKey& job, memory::World world)
    : rank_(rank),
      socket_(std::move(socket)),
      job_(job),
      world_(world),
      sleeper_{[](void* self) { static_cast<Link*>(self)->has_news(); }, this} {
  net::Watcher& watcher = rank_.network->watcher;
  if (!watcher.add(socket_.fd(), sleeper_)) watcher.arm(socket_.fd(), sleeper_);
}

Link::~Link() {
  rank_.network->watcher.remove(socket_.fd());
}

void Link::say_goodbye() {
  said_goodbye_.store(true, std::memory_order_release);
  static_cast<void>(::send(socket_.fd(), &goodbye, sizeof goodbye, MSG_NOSIGNAL | MSG_DONTWAIT));
}

void say_goodbye(Rank& rank) {
  const sync::Guard guard(rank.store.lock);
  for (Link& link : rank.links) link.say_goodbye();
}

/// In the watcher's thread.
void Link::has_news() {
  char said = 0;
  const ssize_t n = recv(socket_.fd(), &said, sizeof said, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR))
    return rank_.network->watcher.arm(socket_.fd(), sleeper_);
  memory::Job& job = *rank_.process->job;
  const Members with_users = memory::world_has_ended(job, job_, world_);
  const bool is_missed = n <= 0 && !said_goodbye_.load(std::memory_order_acquire);
  if (is_missed && !with_users.empty()) mourn(rank_, with_users);
  is_over_.store(true, std::memory_order_release);
}

}  // namespace weft::world
