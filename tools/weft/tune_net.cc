// SPDX-License-Identifier: Apache-2.0
//
// The ranks of this program send each other messages as any program would, so that what is measured
// is weft's own way through the network. A measurement ends after some time whatever it has.
#include "tune_net.h"

#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <iostream>
#include <limits>
#include <string>
#include <vector>

#include "launch/network_profile.h"
#include "launch/tuning.h"
#include "memory/job.h"
#include "model/loggp.h"
#include "world/rank.h"

namespace weft::tool {
namespace {

constexpr int tag = 1, go_on = 1, enough = 0;
constexpr int rounds = 15, in_a_row = 16;
constexpr double longest_s = 0.4;  // for one size
// Shorter ones would travel together (docs/network.md), which those of a collective cannot.
constexpr std::int64_t sizes[] = {2048, 4096, 8192, 16384, 65536, 262144, 1 << 20};
constexpr std::int64_t short_bytes = 16384;

int count_of(const std::vector<char>& data) {
  return static_cast<int>(data.size());
}

void send(const std::vector<char>& data, int to) {
  MPI_Send(data.data(), count_of(data), MPI_CHAR, to, tag, MPI_COMM_WORLD);
}

void receive(std::vector<char>& data, int from) {
  MPI_Recv(data.data(), count_of(data), MPI_CHAR, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/// One round trip.
void bounce(std::vector<char>& data, int other, bool first) {
  if (first) send(data, other);
  receive(data, other);
  if (!first) send(data, other);
}

/// Messages one behind the other, into receives that are there, and an answer.
void stream(std::vector<std::vector<char>>& data, int other, bool first) {
  std::vector<MPI_Request> requests(data.size());
  char answer = 0;
  for (std::size_t i = 0; i < data.size(); ++i)
    if (!first)
      MPI_Irecv(data[i].data(), count_of(data[i]), MPI_CHAR, other, tag, MPI_COMM_WORLD,
                &requests[i]);
  std::vector<char> ready(1);
  if (first) receive(ready, other);
  if (!first) send(ready, other);
  for (std::size_t i = 0; i < data.size() && first; ++i)
    MPI_Isend(data[i].data(), count_of(data[i]), MPI_CHAR, other, tag, MPI_COMM_WORLD,
              &requests[i]);
  MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
  if (first)
    MPI_Recv(&answer, 1, MPI_CHAR, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    MPI_Send(&answer, 1, MPI_CHAR, other, tag, MPI_COMM_WORLD);
}

/// Both ranks do `body` again and again; its least time, because what else runs only adds to it.
/// The first rank says when it is enough.
template <class Body>
double repeat(int other, bool first, Body&& body) {
  double least = std::numeric_limits<double>::infinity();
  const double begin = MPI_Wtime();
  for (int round = 0;; ++round) {
    int next = round < rounds && (round < 3 || MPI_Wtime() - begin < longest_s) ? go_on : enough;
    if (first)
      MPI_Send(&next, 1, MPI_INT, other, tag, MPI_COMM_WORLD);
    else
      MPI_Recv(&next, 1, MPI_INT, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (next == enough) break;
    const double start = MPI_Wtime();
    body();
    if (round > 0) least = std::min(least, MPI_Wtime() - start);  // the first connects
  }
  return least;
}

model::MessageTimes measure_size(std::int64_t bytes, int other, bool first) {
  constexpr int bounces = 8;
  std::vector<char> one(static_cast<std::size_t>(bytes));
  const double rounds_s = repeat(other, first, [&] {
    for (int i = 0; i < bounces; ++i) bounce(one, other, first);
  });
  std::vector<std::vector<char>> few(in_a_row / 4, one), many(in_a_row, one);
  // What the end of a row costs is in both.
  const double short_row = repeat(other, first, [&] { stream(few, other, first); });
  const double long_row = repeat(other, first, [&] { stream(many, other, first); });
  return {bytes, rounds_s / bounces / 2,
          std::max(long_row - short_row, 0.0) / static_cast<double>(many.size() - few.size())};
}

/// The first rank that is not on this one's node; -1: there is none.
int rank_elsewhere() {
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int here = 0, ranks = 0;
  MPI_Comm_size(node, &here);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<int> own(static_cast<std::size_t>(here)), all = own;
  for (int i = 0; i < here; ++i) own[static_cast<std::size_t>(i)] = i;
  MPI_Group nodes, world;
  MPI_Comm_group(node, &nodes);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_translate_ranks(nodes, here, own.data(), world, all.data());
  MPI_Group_free(&nodes);
  MPI_Group_free(&world);
  MPI_Comm_free(&node);
  for (int rank = 0; rank < ranks; ++rank)
    if (std::find(all.begin(), all.end(), rank) == all.end()) return rank;
  return -1;
}

std::string processor_of(int rank) {
  char name[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  MPI_Get_processor_name(name, &length);
  MPI_Bcast(name, sizeof name, MPI_CHAR, rank, MPI_COMM_WORLD);
  return name;
}

std::string prices_as_text(const launch::NetworkProfile& p) {
  char text[160];
  std::snprintf(text, sizeof text,
                "  latency %lld ns, gap %lld ns a message, bandwidth %lld MB/s (%s on %s)\n",
                static_cast<long long>(p.latency_ns), static_cast<long long>(p.gap_ns),
                static_cast<long long>(p.bandwidth_mb_s), p.provider.c_str(), p.interface.c_str());
  return text;
}

std::string times_as_text(const std::vector<model::MessageTimes>& times, const model::Network& x,
                          const model::Parameters& machine) {
  std::string out =
      "       bytes   half a round trip    by the model   one of many    by the model\n";
  for (const model::MessageTimes& t : times) {
    char line[160];
    std::snprintf(line, sizeof line, "  %10lld %16.1f us %12.1f us %10.1f us %12.1f us\n",
                  static_cast<long long>(t.bytes), t.half_round * 1e6,
                  message_seconds(x, machine, t.bytes) * 1e6, t.one_of_many * 1e6,
                  message_interval(x, machine, t.bytes) * 1e6);
    out += line;
  }
  return out;
}

launch::NetworkProfile profile_of(const model::Network& x, const net::Offer& offer) {
  const auto rounded = [](double value) { return static_cast<std::int64_t>(value + 0.5); };
  return {.provider = offer.provider,
          .interface = offer.interface,
          .when = "now",
          .latency_ns = rounded(x.latency * 1e9),
          .gap_ns = rounded(x.gap * 1e9),
          .bandwidth_mb_s = std::max<std::int64_t>(rounded(model::line_bytes / x.line / 1e6), 1)};
}

/// Of rank 0.
int keep(const std::vector<model::MessageTimes>& times, const std::string& hosts) {
  const auto node = topo::Topology::this_node();
  const model::Parameters machine =
      node ? launch::read_tuning(node.value).prices : model::built_in();
  const model::Network found = model::fit_network(times, machine, short_bytes);
  const Rank& rank = *world::current_rank();
  const launch::NetworkProfile profile = profile_of(found, rank.network->fabric->offer());
  const std::string key = launch::network_key(rank.process->job->header().loopback != 0);
  std::cout << "between " << hosts << ", for jobs on " << key << ":\n"
            << prices_as_text(profile) << times_as_text(times, found, machine);
  if (profile.latency_ns + profile.gap_ns == 0) {
    std::cerr << "weft tune: no network costs nothing, so these times are of a busy machine; they "
                 "are not kept, "
                 "measure again when less runs\n";
    return 1;
  }
  if (const std::string why = launch::write_network(key, profile); !why.empty()) {
    std::cerr << "weft tune: the results are not kept: " << why << "\n";
    return 1;
  }
  std::cout << "kept in " << launch::network_path().string()
            << "; mpiexec here gives them to such jobs\n";
  return 0;
}

}  // namespace

int tune_network() {
  MPI_Init(nullptr, nullptr);
  int me = 0, exit_code = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  int other = rank_elsewhere();
  MPI_Bcast(&other, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (other < 0) {
    if (me == 0)
      std::cerr << "weft tune --net measures between two nodes of a job, and this job is on one; "
                   "start it as a job: `mpiexec -H a,b weft tune --net`, or `mpiexec "
                   "--pretend-nodes 2 -n 2 weft tune --net` for what a pretended network costs\n";
    MPI_Finalize();
    return 2;
  }
  const std::string here = processor_of(0), there = processor_of(other);
  std::vector<model::MessageTimes> times;
  if (me == 0 || me == other)
    for (const std::int64_t bytes : sizes)
      times.push_back(measure_size(bytes, me == 0 ? other : 0, me == 0));
  if (me == 0) exit_code = keep(times, here + " and " + there);
  MPI_Bcast(&exit_code, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  return exit_code;
}

int show_network() {
  for (const bool loopback : {false, true}) {
    const std::string key = launch::network_key(loopback);
    std::string complaint;
    const launch::NetworkProfile profile = launch::read_network(key, &complaint);
    if (!complaint.empty()) std::cerr << "weft tune: " << complaint << "\n";
    std::cout << key << ": "
              << (profile.is_measured()
                      ? "measured " + profile.when + "\n" + prices_as_text(profile)
                      : "not measured; the parameters net.latency, net.gap and "
                        "net.bandwidth serve\n");
  }
  return 0;
}

int forget_network() {
  const std::filesystem::path path = launch::network_path();
  std::error_code error;
  const bool was_there = std::filesystem::remove(path, error);
  if (error) {
    std::cerr << "weft tune: " << path.string() << ": " << error.message() << "\n";
    return 1;
  }
  std::cout << (was_there ? "removed " : "there is no ") << path.string() << "\n";
  return 0;
}

}  // namespace weft::tool
