// SPDX-License-Identifier: Apache-2.0
#include "world/across.h"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <span>
#include <sstream>
#include <string_view>

#include "base/kernel.h"
#include "memory/addresses.h"
#include "object/group.h"
#include "shm/deaths.h"
#include "world/directory.h"
#include "world/network.h"
#include "world/port_far.h"
#include "world/rank.h"

namespace weft::world {
namespace {

/// First word of what a leader says; other versions of weft have others.
constexpr const char* version = "weft-jobs-2";
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

constexpr std::string_view refusal = "error ";

/// What the other leader said, or why it cannot.
Result<std::string> hear(Talk& talk, pt2pt::Engine& held) {
  Result<std::string> said = talk.receive(held);
  if (!said || !said.value.starts_with(refusal)) return said;
  return fail(MPI_ERR_OTHER, "the other job cannot be connected: %s",
              said.value.c_str() + refusal.size());
}

Err other_version(const std::string& said) {
  return fail(MPI_ERR_OTHER, "the other job is of another version of weft, which said \"%.40s\"",
              said.c_str());
}

/// How far a job's network reaches, or has to.
memory::Range range_of(Rank& rank) {
  using memory::Range;
  memory::Job& job = *rank.process->job;
  if (rank.network != nullptr)
    return rank.network->fabric->offer().is_loopback ? Range::loopback : Range::beyond;
  const std::string& interface = rank.process->params.text(P::net_interface);
  if (!interface.empty()) return interface == "lo" ? Range::loopback : Range::beyond;
  return job.header().range.load(std::memory_order_relaxed);  // nothing else comes by it
}

/// Before the two groups open their networks: both leaders say where they are, and conclude the
/// same. Jobs of one machine meet over loopback, unless one of them has another network already.
Err agree_on_range(Rank& rank, pt2pt::Engine& held, Talk& talk) {
  using memory::Range;
  const Range was = range_of(rank);
  Range mine = was;
  const std::string here = kernel_id() + network_id();
  std::ostringstream out;
  out << version << ' ' << static_cast<std::uint32_t>(mine) << ' ' << here;
  WEFT_TRY(talk.send(held, out.str()));
  const Result<std::string> heard = hear(talk, held);
  if (!heard) return heard.err;
  std::istringstream in(heard.value);
  std::string first, there;
  std::uint32_t number = 0;
  if (!(in >> first >> number >> there) || first != version) return other_version(heard.value);
  const auto theirs = static_cast<Range>(number);
  const bool leaves = here != there || mine == Range::beyond || theirs == Range::beyond;
  const Range wanted = leaves ? Range::beyond : Range::loopback;
  // relaxed: as above. One of several leaders of this job is the first.
  if (mine == Range::unsaid && rank.process->job->header().range.compare_exchange_strong(
                                   mine, wanted, std::memory_order_relaxed))
    mine = wanted;
  if (mine == wanted && (theirs == Range::unsaid || theirs == wanted)) return ok;
  // The other side knows what this one has said, not that another leader was faster.
  if (was == Range::unsaid && mine != wanted)
    static_cast<void>(talk.send(held, std::string(refusal) + "its network is another one now"));
  return fail(MPI_ERR_OTHER,
              "%s job has opened its network at loopback, which does not reach %s; set "
              "WEFT_NET_INTERFACE=NAME, of an interface that leaves the machine, where it starts",
              mine == wanted ? "the other" : "this",
              here != there ? "another machine" : "the other job's");
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
  return other_version(text);
}

/// Where a guest is in the memory of each host; -1: there is one, and no place yet.
Result<std::int32_t> place_of(Rank& rank, const Member& member) {
  memory::Job& job = *rank.process->job;
  const memory::Guest& who = member.who;
  if (job.header().apart == 0 || who.job == job.header().identity) return -1;
  char name[64];
  std::snprintf(name, sizeof name, "%016" PRIx64 "%016" PRIx64 " %d %u", who.job.half[0],
                who.job.half[1], who.place, who.incarnation);
  const Result<std::optional<std::string>> number = ask_directory(rank, memory::Ask::guest, name);
  if (!number) return number.err;
  return job.places() + std::atoi(number.value.value_or("").c_str());
}

/// The leader: all of a group become guests, or are ranks of this job.
Result<Members> admit_all(Rank& rank, const std::vector<Member>& group, Admitted& admitted) {
  Members out;
  for (const Member& member : group) {
    Result<std::int32_t> place = place_of(rank, member);
    if (place) place = admitted.add(member.who, member.addresses, place.value);
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
                                 Remote& out) {
  WEFT_TRY(talk.send(view.engine(), introduce(rank, view.members())));
  const Result<std::string> heard = hear(talk, view.engine());
  if (!heard) return heard.err;
  Result<Introduction> theirs = understand(*said = heard.value);
  if (!theirs) return theirs;
  WEFT_TRY(check(rank, view.members(), theirs.value));
  Result<Members> places = admit_all(rank, theirs.value.group, out.admitted);
  if (!places) return places.err;
  out.members = std::move(places.value);
  return theirs;
}

/// The leader: what all of its group have to know. A number, their places here, and what the other
/// leader said.
Result<std::string> agree(Rank& rank, View& view, Talk& talk, Remote& out) {
  pt2pt::Engine& held = view.engine();
  std::string said;
  const Result<Introduction> theirs = meet_leader(rank, view, talk, &said, out);
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
    if (Socket socket = talk.keep()) {
      WEFT_TRY(rank.network->of_links.start("weft-links", net::Watcher::Descriptors::shared));
      rank.links.emplace_back(rank, std::move(socket), leader.job, leader.world);
    }
  }
  out.context = gives ? mine.context : closing.value.context;
  std::ostringstream all;
  all << out.context;
  for (const std::int32_t place : out.members) all << ' ' << place;
  return all.str() + '\n' + said;
}

// --- sockets

/// In front of its port. A socket's name has no room for all that a service's may have. That of
/// another user only looks like it: who connects to the port finds out.
std::string socket_of_service(const std::string& service) {
  constexpr HashKey no_secret{{1, 2}};
  char text[48];
  std::snprintf(text, sizeof text, "weft-name %u %016" PRIx64 " ", geteuid(),
                keyed_hash(no_secret, std::as_bytes(std::span(service))));
  return text;
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

namespace {

/// In front of a text: how long it is.
std::string with_length(const std::string& text) {
  const std::uint64_t bytes = text.size();
  return std::string(reinterpret_cast<const char*>(&bytes), sizeof bytes) + text;
}

}  // namespace

void SocketTalk::put_back(const std::string& text) {
  heard_.insert(0, with_length(text));
}

Err SocketTalk::send(pt2pt::Engine& held, const std::string& text) {
  const std::string all = with_length(text);
  const auto move = [&](std::size_t done) {
    const ssize_t n =
        ::send(socket_.fd(), all.data() + done, all.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n >= 0 || errno != EAGAIN) return n;
    // The other side may be sending, too, and read nothing until it has sent all.
    char buffer[1 << 16];
    const ssize_t came = recv(socket_.fd(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (came > 0) heard_.append(buffer, static_cast<std::size_t>(came));
    errno = EAGAIN;
    return came == 0 ? came : n;
  };
  return move_all(held, socket_.fd(), POLLOUT | POLLIN, all.size(), move) ? ok : other_side_ended();
}

Result<std::string> SocketTalk::receive(pt2pt::Engine& held) {
  std::string text;
  const auto get = [&](char* to, std::size_t bytes) {
    const std::size_t known = heard_.copy(to, bytes);
    heard_.erase(0, known);
    return move_all(held, socket_.fd(), POLLIN, bytes - known, [&](std::size_t done) {
      return recv(socket_.fd(), to + known + done, bytes - known - done, MSG_DONTWAIT);
    });
  };
  std::uint64_t bytes = 0;
  if (!get(reinterpret_cast<char*>(&bytes), sizeof bytes) || bytes > longest_text)
    return other_side_ended();
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
  return {service, memory::bound_to(socket_of_service(service) + port)};
}

std::string find_shared(const std::string& service) {
  const std::string name = "@" + socket_of_service(service);
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);)
    if (const std::size_t at = line.find(name); at != line.npos)
      return line.substr(at + name.size());
  return "";
}

Result<std::unique_ptr<Talk>> connect_to(Rank& rank, const std::string& port,
                                         const std::string& host) {
  const auto talk_by = [](Socket socket) {
    return std::unique_ptr<Talk>(std::make_unique<SocketTalk>(std::move(socket)));
  };
  if (!host.empty() && !is_own_host(*rank.process->job, host)) {
    Result<Socket> far =
        connect_far(rank.engine, rank.process->params.text(P::spawn_agent), host, port);
    if (!far) return far.err;
    return talk_by(std::move(far.value));
  }
  Socket made;
  look_until(rank.engine, [&] {
    made = memory::connect_to(memory::socket_of_port(port));
    return made || (errno != EAGAIN && errno != EINTR);
  });
  if (made) return talk_by(std::move(made));
  return fail(
      MPI_ERR_PORT,
      "port_name is \"%s\", of another job, where nobody listens: the port is not open (any "
      "more), or of another user, or in another network of this machine's kernel (a "
      "container)",
      port.c_str());
}

// --- groups

namespace {

/// Guests have died. Those on other hosts hear of it by their agents.
void mourn(Rank& rank, const Members& guests) {
  const auto is_here = [](const void* self, int other) {
    memory::Job& job = *static_cast<const Rank*>(self)->process->job;
    return job.header().apart == 0 ||
           job.node_of(other) == job.node_of(static_cast<const Rank*>(self)->world_rank);
  };
  if (shm::mourn(*rank.process->job, guests, is_here, &rank)) return;
  char text[memory::message_bytes];
  std::snprintf(text, sizeof text, "weft: rank %d is connected to a process that is dead: %s",
                rank.world_rank, shm::how_guests_die);
  abort_job(&rank, 1, text);
}

}  // namespace

Admitted::~Admitted() {
  for (const std::int32_t place : places_) memory::drop_user(*job_, place);
}

Result<std::int32_t> Admitted::add(const memory::Guest& who, const std::string& addresses,
                                   std::int32_t at) {
  const Result<std::int32_t> place = memory::admit(*job_, who, addresses, at);
  if (place && job_->is_guest(place.value)) places_.push_back(place.value);
  return place;
}

Result<Remote> meet_across(View& view, int root, int tag, Talk* talk) {
  Rank& rank = view.owner();
  Err found = ok;
  char is_found = 0;
  if (view.rank() == root) {
    found = agree_on_range(rank, view.engine(), *talk);
    is_found = !found;
  }
  WEFT_TRY(view.bcast(&is_found, sizeof is_found, tag, root));
  if (is_found == 0) return share_failure(view, root, tag, found);
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
  memory::Job& job = *rank.process->job;
  out.admitted = Admitted(job);
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
    text = agree(rank, view, *talk, out);
  }
  std::uint64_t bytes = text.value.size();
  WEFT_TRY(view.bcast(&bytes, sizeof bytes, tag, root));
  if (all_opened == 0) return text.err;
  if (bytes == 0) return share_failure(view, root, tag, text.err);
  text.value.resize(bytes);
  WEFT_TRY(view.bcast(text.value.data(), bytes, tag, root));
  if (view.rank() == root) return out;
  const Result<Introduction> theirs = understand(text.value.substr(text.value.find('\n') + 1));
  if (!theirs) return theirs.err;
  std::istringstream in(text.value);
  in >> out.context;
  for (const Member& member : theirs.value.group) {
    std::int32_t at = -1;
    in >> at;
    const Result<std::int32_t> place = out.admitted.add(member.who, member.addresses, at);
    if (!place) return place.err;
    out.members.push_back(place.value);
    if (job.is_guest(place.value) && memory::end_of(job, place.value) == memory::GuestEnd::death)
      mourn(rank, {place.value});
  }
  return out;
}

// --- links

Link::Link(Rank& rank, Socket socket, const HashKey& job, memory::World world)
    : rank_(rank),
      socket_(std::move(socket)),
      job_(job),
      world_(world),
      sleeper_{[](void* self) { static_cast<Link*>(self)->has_news(); }, this} {
  rank_.network->of_links.arm(socket_.fd(), sleeper_);
}

Link::~Link() {
  rank_.network->of_links.remove(socket_.fd());
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
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) {
    rank_.network->of_links.arm(socket_.fd(), sleeper_);
    return;
  }
  memory::Job& job = *rank_.process->job;
  const bool is_missed = n <= 0 && !said_goodbye_.load(std::memory_order_acquire);
  const Members with_users = memory::world_has_ended(
      job, job_, world_, is_missed ? memory::GuestEnd::death : memory::GuestEnd::goodbye);
  if (job.header().apart != 0) memory::stir_agent(job);
  if (is_missed) mourn(rank_, with_users);
  is_over_.store(true, std::memory_order_release);
}

}  // namespace weft::world
