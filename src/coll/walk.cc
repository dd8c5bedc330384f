// SPDX-License-Identifier: Apache-2.0
#include "coll/walk.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "coll/block/block.h"
#include "coll/block/steps.h"
#include "object/op.h"

namespace weft::coll {
namespace {

using model::lines_of;
using model::Machine;
using model::Prediction;
using What = Step::What;

// Where buffers would be.
std::byte* imagined(int buffer) {
  return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(buffer) << 44);
}
enum { to_send = 1, to_receive, in_areas };
bool is_in_area(const void* place) {  // perhaps of the buffer's begin, before the area
  return place >= imagined(in_areas) - (std::int64_t{1} << 40);
}

std::size_t index(int i) {
  return static_cast<std::size_t>(i);
}

std::vector<std::int64_t> rows(int count, std::int64_t first, std::int64_t more) {
  std::vector<std::int64_t> out;
  for (int i = 0; i < count; ++i) out.push_back(first + i * more);
  return out;
}

}  // namespace

Blocks ImaginedCall::uneven(const Buffer& each) const {
  return Blocks(VBuffer{each.data, {counts.data(), true}, {displacements.data(), true}, each.type});
}

ImaginedCall::ImaginedCall(Call call, std::int64_t n, int p, bool uniform, int root)
    : send(as_bytes(imagined(to_send), n)),
      recv(as_bytes(imagined(to_receive), n)),
      counts(rows(uniform ? 0 : p, n, 0)),
      displacements(rows(uniform ? 0 : p, 0, n)),
      from(uniform ? Blocks(send) : uneven(send)),
      to(uniform ? Blocks(recv) : uneven(recv)),
      operands{send.data, recv.data, n, &byte_type(), object::predefined_op(MPI_SUM)},
      each((n + p - 1) / p),
      operation{.call = call,
                .root = root,
                .send = send,
                .buffer = recv,
                .from = &from,
                .to = &to,
                .operands = &operands,
                .parts = &each} {}

Walk::Walk(const Machine& x)
    : machine_(x), here_(x.ranks()), p_(x.all_ranks()), ground_(Levels(here_)) {
  std::vector<int> sizes;
  size_[0] = 1;
  int links = 0;
  for (int l = 0; l < x.levels; ++l) {
    size_[l + 1] = l == x.levels - 1 ? here_ : x.ranks_in(l);
    first_link_[l] = links;
    const int parts = part_of(l == 0 ? 0 : l - 1, p_ - 1) + 1;
    links += l == 0 ? parts : parts * parts;
  }
  for (int l = x.levels - 2; l >= 0; --l) sizes.push_back(size_[l + 1]);
  ground_.levels = Levels(here_, sizes);
  ground_.direct_strip = strip_for(x.cache_lines);
  links_.resize(index(links));
  ranks_.resize(index(p_));
  if (!x.crowded()) return;
  share_ = static_cast<double>(here_) / x.cpus;
  cpus_.resize(index(x.cpus));
}

int Walk::level_of(int a, int b) const {
  int l = 0;
  while (part_of(l, a) != part_of(l, b)) ++l;
  return l;
}

double Walk::latency(int l, int a, int b) const {
  const model::Level& level = x_.level[l];
  if (level.far_a <= level.a) return level.a;
  // Subparts are the corners of a cube; those that share no edge are far.
  const int first = part_of(l - 1, part_of(l, a) * size_[l + 1]);
  const auto corner = [&](int rank) { return static_cast<unsigned>(part_of(l - 1, rank) - first); };
  return std::popcount(corner(a) ^ corner(b)) > 1 ? level.far_a : level.a;
}

double Walk::flag(int a, int b) const {
  const int l = level_of(a, b);
  return latency(l, a, b) + x_.level[l].b;
}

int Walk::readers(int reader, int owner, int l) {
  if (alike_) return l == 0 ? size_[1] : size_[l];
  link_ = first_link_[l] + part_of(0, reader);
  if (l > 0) {
    const int parts = part_of(l - 1, p_ - 1) + 1;
    link_ = first_link_[l] + part_of(l - 1, reader) * parts + part_of(l - 1, owner);
  }
  int count = 1;
  const double now = ranks_[index(reader)].clock.now;
  for (int* next = &links_[index(link_)]; *next >= 0;) {
    Reader& other = reading_[index(*next)];
    if (other.until > now) {
      ++count;
      next = &other.next;
    } else {
      *next = other.next;
    }
  }
  return count;
}

void Walk::read(int rank, int owner, double lines, double before, double line) {
  const int l = level_of(rank, owner), d = readers(rank, owner, l);
  Rank& me = ranks_[index(rank)];
  add(me, reading, before + std::max(line, x_.level[l].B * d) * lines);
  if (alike_ || lines < 2) return;  // a line is there at once
  reading_.push_back({me.clock.now, links_[index(link_)]});
  links_[index(link_)] = static_cast<int>(reading_.size()) - 1;
}

// --- steps

void Walk::fetch_or_fold(int rank, const Step& step) {
  Rank& me = ranks_[index(rank)];
  const double lines = lines_of(step.bytes);
  if (step.what == What::fetch) ++counts_.copies;
  if (step.peer != Source::own) {
    const int l = level_of(rank, step.peer);
    (step.what == What::fold ? counts_.folded : counts_.copied)[index(l)] += (step.bytes + 63) / 64;
    ++me.steps;
    const bool goes_on = me.read_last == step.peer;  // the latency is that of the first line
    read(rank, step.peer, lines, goes_on ? 0 : latency(l, rank, step.peer), x_.level[l].b);
    me.read_last = step.peer;
    if (step.what_shown >= 0)
      ranks_[index(alike_ ? rank : step.peer)].read[step.what_shown][l] += lines;
  }
  if (step.what == What::fold) return add(me, folding, x_.reduce * lines);
  // An area is so small that what it held is still in its reader's own cache, and must be fetched.
  const double to_area = at_board_ ? x_.top().b : x_.top().taken();
  add(me, copying, (x_.copy + (is_in_area(step.to) ? to_area : 0)) * lines);
}

void Walk::give(int rank, const Step& step) {
  Rank& me = ranks_[index(rank)];
  Rank& other = ranks_[index(alike_ ? rank : step.peer)];
  const double lines = lines_of(step.bytes);
  const int l = level_of(rank, step.peer);
  const model::Level& level = x_.level[l];
  ++counts_.copies;
  counts_.copied[index(l)] += (step.bytes + 63) / 64;
  ++me.steps;
  add(me, copying, level.a + (x_.copy + level.taken()) * lines);
  auto& written = other.written[l];
  written.lines += lines;
  written.latencies += latency(l, rank, step.peer);
  written.by = alike_ ? step.peer : rank;
}

void Walk::meet(Rank& me, const Step& step) {
  turn_of_all(me);
  double look = 0;
  for (int l = 0; l < x_.levels; ++l) look += x_.peers_at(l) * x_.level[l].line();
  const bool flat = p_ <= flat_max && share_ == 1;
  if (flat || step.count != 0) add(me, flags, look);
  if (flat) return;
  // One after the other: nobody works beside it on the same CPU.
  int span = 1;
  for (int members = p_; members > 1; members = (members + fan - 1) / fan) {
    const int here = std::min(fan, members);
    span *= here;
    const model::Level& level = x_.holding(span);
    me.clock.add(flags, here * level.line());
    if (step.bytes == 0) continue;
    const double lines = lines_of(step.bytes);
    me.clock.add(reading, (here - 1) * level.read(lines, 1));
    me.clock.add(folding, (here - 1) * x_.reduce * lines);
  }
  add(me, flags, x_.top().line());
}

void Walk::wait_for(int rank, int peer, std::int64_t phase) {
  Rank &me = ranks_[index(rank)], &other = ranks_[index(peer)];
  me.awaits = peer;
  me.phase = phase;
  me.next_waiter = other.waiters;
  other.waiters = rank;
}

bool Walk::await(int rank, int peer, std::int64_t phase) {
  Rank& me = ranks_[index(rank)];
  if (alike_) {
    if (phase > me.met) {
      me.met = phase;
      turn_of_all(me);
      me.clock.add(software, x_.step);
    }
    add(me, flags, flag(rank, peer));
    return true;
  }
  int found = -1;
  for (int i = ranks_[index(peer)].signalled; i >= 0 && signals_[index(i)].phase >= phase;
       i = signals_[index(i)].earlier)
    found = i;
  if (found < 0) {
    wait_for(rank, peer, phase);
    return false;
  }
  if (me.clock.follow(signals_[index(found)].at) || me.awaits >= 0) add(me, software, x_.step);
  me.awaits = -1;
  add(me, flags, flag(rank, peer));
  return true;
}

double Walk::Link::enter(double at, double takes) {
  auto next = std::upper_bound(busy.begin(), busy.end(), at,
                               [](double t, const Span& span) { return t < span.end; });
  for (; next != busy.end() && next->begin < at + takes; ++next) at = std::max(at, next->end);
  if (next != busy.begin() && next[-1].end == at)
    next[-1].end += takes;
  else
    busy.insert(next, {at, at + takes});
  return at;
}

double Walk::Ends::enter(int rank, int node, double at, double lines, const model::Network& x) {
  at = nodes[index(node)].enter(at, x.keeps(lines));
  return ranks.empty() ? at : ranks[index(rank)].enter(at, x.takes(lines));
}

void Walk::cross(Clock& clock, int from, int to, double lines) {
  const model::Network& x = x_.network;
  if (alike_) {  // one rank stands for all, and the others of its node send at the same time
    const double takes = std::max(x.takes(lines), here_ * x.keeps(lines));
    const double begin = out_.nodes[index(from / here_)].enter(clock.now, takes);
    return clock.add(network, begin + takes + x.latency - clock.now);
  }
  // It comes in as it goes out, bytes behind bytes.
  const double begin = out_.enter(from, from / here_, clock.now, lines, x);
  const double comes = in_.enter(to, to / here_, begin + x.latency, lines, x);
  clock.add(network, comes + x.takes(lines) - clock.now);
}

constexpr std::int64_t any_message = -1;

void Walk::release(int rank, std::int64_t phase) {
  const Rank& me = ranks_[index(rank)];
  for (int* next = &ranks_[index(rank)].waiters; *next >= 0;) {
    const int waiter = *next;
    Rank& other = ranks_[index(waiter)];
    if (phase == any_message ? other.phase != any_message
                             : other.phase == any_message || other.phase > phase) {
      next = &other.next_waiter;
      continue;
    }
    *next = other.next_waiter;
    other.clock.follow(me.clock);
    ready_.push({other.clock.now, waiter});
  }
}

void Walk::post_round(int rank) {
  Rank& me = ranks_[index(rank)];
  const std::vector<Step>& steps = schedule_.steps();
  do {
    const Step& step = steps[me.posted];
    if (step.what != What::send) continue;
    add(me, software, x_.message / 2);
    const int to = alike_ ? rank : step.peer;
    Rank& other = ranks_[index(to)];
    const int number = static_cast<int>(sent_.size());
    const double lines = lines_of(step.count * step.type->size);
    sent_.push_back({rank, lines, me.clock, -1});
    if (are_apart(rank, step.peer)) cross(sent_.back().at, rank, step.peer, lines);
    (other.inbox < 0 ? other.inbox : sent_[index(other.inbox_end)].next) = number;
    other.inbox_end = number;
    if (!alike_) release(rank, any_message);
    add(me, copying, x_.copy * lines);
  } while (!steps[me.posted++].ends_round);
}

bool Walk::receive(int rank, const Step& step) {
  Rank& me = ranks_[index(rank)];
  int before = -1, found = me.inbox;
  while (found >= 0 && !alike_ && sent_[index(found)].from != step.peer) {
    before = found;
    found = sent_[index(found)].next;
  }
  if (found < 0) {
    wait_for(rank, step.peer, any_message);
    return false;
  }
  const Message& message = sent_[index(found)];
  (before < 0 ? me.inbox : sent_[index(before)].next) = message.next;
  if (me.inbox_end == found) me.inbox_end = before;
  me.awaits = -1;
  if (alike_) turn_of_all(me);
  me.clock.follow(message.at);
  add(me, software, x_.message / 2);
  if (are_apart(rank, step.peer)) {
    add(me, copying, x_.copy * message.lines);
    return true;
  }
  add(me, flags, 2 * flag(rank, step.peer));
  if (message.lines > 0) {
    read(rank, step.peer, message.lines, 0, x_.level[level_of(rank, step.peer)].b);
    add(me, copying, x_.copy * message.lines);
  }
  return true;
}

void Walk::run_step(int rank, const Step& step) {
  Rank& me = ranks_[index(rank)];
  switch (step.what) {
    case What::copy:
      return add(me, copying, x_.copy * lines_of(step.count * step.type->size));
    case What::reduce:
      return add(me, folding, x_.reduce * lines_of(step.count * step.type->size));
    case What::show:
      for (const ConstBuffer& view : step.views())
        me.shown[step.what_shown] += lines_of(view.bytes());
      return;
    case What::signal:
      if (alike_) return;
      signals_.push_back({step.count, me.clock, me.signalled});
      me.signalled = static_cast<int>(signals_.size()) - 1;
      return release(rank, step.count);
    case What::expect:
      if (step.from != nullptr) add(me, flags, flag(rank, step.peer));
      return;
    case What::fetch:
    case What::fold:
      return fetch_or_fold(rank, step);
    case What::give:
      return give(rank, step);
    case What::meet:
      return meet(me, step);
    default:
      return;
  }
}

void Walk::end(int rank) {
  Rank& me = ranks_[index(rank)];
  for (int l = 0; l < x_.levels; ++l) {
    const auto& written = me.written[l];
    if (written.lines > 0)
      read(rank, written.by, written.lines, written.latencies, x_.level[l].arrived());
  }
  for (int what = 0; what < shown_max; ++what) {
    double left = me.shown[what];  // whoever is farthest has it last
    for (int l = x_.levels - 1; l >= 0; --l) {
      const double lines = std::min(left, me.read[what][l]);
      add(me, fetching, x_.level[l].back() * lines);
      left -= lines;
    }
  }
  counts_.most_steps = std::max(counts_.most_steps, me.steps);
}

// --- the order of time

void Walk::go_on(int rank) {
  Rank& me = ranks_[index(rank)];
  Cpu* const cpu =
      cpus_.empty() || alike_ ? nullptr : &cpus_[index(rank) * cpus_.size() / index(p_)];
  if (cpu != nullptr) {
    me.clock.follow(cpu->free);
    if (cpu->last >= 0 && cpu->last != rank) me.clock.add(turns, x_.turn);
    cpu->last = rank;
  }
  const std::vector<Step>& steps = schedule_.steps();
  const std::size_t began = me.next;
  bool waits = false;
  while (!waits) {
    if (messages_ && me.next == me.posted) {
      for (; me.taken < me.posted && !waits; me.taken += !waits)
        if (steps[me.taken].what == What::recv) waits = !receive(rank, steps[me.taken]);
      if (waits) break;
      if (me.next < me.end) post_round(rank);
    }
    if (me.next == me.end) {
      end(rank);
      break;
    }
    const Step& step = steps[me.next];
    if (step.what == What::await) {
      waits = !await(rank, step.peer, step.count);
      if (waits) break;
    } else {
      // Who reads sees those who began before.
      const bool reads = step.what == What::fetch || step.what == What::fold;
      if (reads && cpu == nullptr && me.next > began && !ready_.empty() &&
          ready_.top().at < me.clock.now)
        return ready_.push({me.clock.now, rank});
      run_step(rank, step);
    }
    ++me.next;
  }
  if (cpu != nullptr) cpu->free = me.clock;
}

void Walk::emit(const Way& way, Call call, std::int64_t n, std::int64_t of, int rank) {
  // A tree from the first rank on would follow the nodes; roots lie anywhere.
  const ImaginedCall imagined_call(call, n, p_, true, x_.nodes > 1 ? here_ / 2 : 0);
  const Operation& o = imagined_call.operation;
  const Site site{ground_, areas_, {rank, p_}};
  if (way.place == Place::board)
    way.at_board(schedule_, o, site);
  else if (way.place == Place::messages)
    way.by_messages(schedule_, o, site.me);
  else
    emit_shared(schedule_, call, way.place, n, of, share_ > 1, site);
  schedule_.next_round();
}

Walk::Clock Walk::run(const Way& way, Call call, std::int64_t bytes, std::int64_t of, bool reach) {
  areas_ = {imagined(in_areas), index(area_bytes(x_.crowded(), here_)), reach};
  messages_ = way.place == Place::messages;
  at_board_ = way.place == Place::board;
  alike_ = way.place < Place::board ? is_alike(call, way.place, p_, share_ > 1)
                                    : way.alike && p_ > walked_one_by_one;
  signals_.clear();
  sent_.clear();
  reading_.clear();
  counts_ = {};
  std::fill(links_.begin(), links_.end(), -1);
  std::fill(cpus_.begin(), cpus_.end(), Cpu{});
  out_.nodes.assign(index(x_.nodes), {});
  out_.ranks.assign(x_.network.pairs > 1 ? index(p_) : 0, {});
  in_ = out_;
  schedule_.clear();
  schedule_.imagine();
  const int walked = alike_ ? 1 : p_;
  for (int r = 0; r < walked; ++r) {
    Rank& rank = ranks_[index(r)] = {};
    rank.next = rank.posted = rank.taken = schedule_.steps().size();
    emit(way, call, bytes, of, r);
    rank.end = schedule_.steps().size();
    if (at_board_) rank.clock.add(software, x_.step);
    ready_.push({0, r});
  }
  while (!ready_.empty()) {
    const int rank = ready_.top().rank;
    ready_.pop();
    go_on(rank);
  }
  Clock last;
  for (int r = 0; r < walked; ++r) {
    WEFT_CHECK(ranks_[index(r)].next == ranks_[index(r)].end);
    last.follow(ranks_[index(r)].clock);
  }
  return last;
}

Walk::Counts Walk::count(const Way& way, Call call, std::int64_t bytes, bool reach) {
  x_ = machine_;
  run(way, call, bytes, bytes, reach);
  if (!alike_) return counts_;
  Counts all = counts_;
  for (int l = 0; l < x_.levels; ++l) {
    all.copied[index(l)] *= p_;
    all.folded[index(l)] *= p_;
  }
  all.copies *= p_;
  return all;
}

Prediction Walk::price(const Way& way, Call call, std::int64_t bytes, bool reach) {
  // What is in no cache: of ranks' buffers, or only what is copied from them.
  const double lines = footprint(call, p_, bytes);
  const Machine in_memory = machine_.holding_lines(lines, model::Others::in_memory);
  const bool own = way.place == Place::direct || (way.place == Place::board && reach);
  x_ = own ? in_memory : machine_.holding_lines(lines, model::Others::in_cache);
  if (way.place >= Place::board) x_.reduce = in_memory.reduce;
  // Of a long vector two strips are walked, in a crowd four, where ranks wait for room; the others
  // cost what the second half costs more.
  std::int64_t most =
      (share_ > 1 ? 4 : 2) * (way.place != Place::board ? Cuts(share_ > 1, false).strip_max
                              : reach                   ? ground_.direct_strip
                                                        : area_bytes(x_.crowded(), here_) / 2);
  const bool by_block =
      x_.nodes == 1 && (call == Call::scatter || call == Call::alltoall ||
                        (call == Call::gather && way.place == Place::board && !reach));
  if (x_.nodes > 1) most = walked_bytes_across;  // nothing goes in strips
  if (by_block) most = std::max<std::int64_t>(most / p_ / 128 * 128, 128);
  Clock found = run(way, call, std::min(bytes, most), bytes, reach);
  double scale = 1;
  if (bytes > most) {
    const double half = run(way, call, most / 2, bytes, reach).now;
    const double more = static_cast<double>(bytes - most) / static_cast<double>(most / 2);
    scale = 1 + more * std::max(0.0, found.now - half) / found.now;
  }
  static constexpr struct {
    const char *what, *source;
  } names[parts] = {{"software", "built in, per message or wait"},
                    {"flags", "a + b each"},
                    {"reading of others", "a + max(b, B d) per line, d at once"},
                    {"copies", "copy per line; over lines of others + b/4"},
                    {"folds", "reduce per line"},
                    {"owners fetch their lines back", "w per line"},
                    {"ranks take turns", "a turn per switch"},
                    {"others' work on the same CPU", "p/CPUs - 1 times the own"},
                    {"network", "latency, gap and bytes, one after the other at a node"}};
  Prediction out;
  out.add("the call", "built in", x_.call);
  for (int i = 0; i < parts; ++i)
    out.add(names[i].what, names[i].source, found.part[index(i)] * scale);
  return out;
}

Prediction price_of(const Machine& x, const Way& way, Call call, std::int64_t bytes, bool reach) {
  const int most =
      std::max(static_cast<int>(std::bit_floor(static_cast<unsigned>(walked_across / x.ranks()))),
               fewest_nodes_walked);
  if (x.nodes <= most || way.alike) return Walk(x).price(way, call, bytes, reach);
  const auto of = [&](int nodes) {
    Machine fewer = x;
    fewer.nodes = nodes;
    return Walk(fewer).price(way, call, bytes, reach);
  };
  Prediction out = of(most);
  const double known = out.seconds(), half = of(most / 2).seconds();
  double more = known - half, all = known;
  const double before = half - of(most / 4).seconds();
  // By a constant each time (log p steps), by twice as much (p steps), or in between.
  const double growth = before > 0 ? std::clamp(more / before, 1.0, 2.0) : 1;
  for (double nodes = most; nodes < x.nodes; nodes *= 2)
    all += (more *= growth) * std::min(1.0, x.nodes / nodes - 1);
  return out.add("more nodes", "extrapolated", all - known);
}

}  // namespace weft::coll
