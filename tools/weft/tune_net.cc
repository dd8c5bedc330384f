// SPDX-License-Identifier: Apache-2.0
//
// The ranks of this program send each other messages as any program would, so that what is measured
// is weft's own way through the network. A measurement ends after some time whatever it has.
#include "tune_net.h"

#include <mpi.h>

#include <algorithm>
#include <cmath>
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
constexpr std::int64_t bytes_of_pairs = 262144;
constexpr std::size_t most_pairs = 16;

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

/// The node of each rank, as the first rank on it.
std::vector<int> nodes_of_ranks() {
  MPI_Comm node;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int first = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &first);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Bcast(&first, 1, MPI_INT, 0, node);
  MPI_Comm_free(&node);
  std::vector<int> out(static_cast<std::size_t>(ranks));
  MPI_Allgather(&first, 1, MPI_INT, out.data(), 1, MPI_INT, MPI_COMM_WORLD);
  return out;
}

std::vector<int> ranks_on(const std::vector<int>& nodes, int node) {
  std::vector<int> out;
  for (std::size_t rank = 0; rank < nodes.size(); ++rank)
    if (nodes[rank] == node) out.push_back(static_cast<int>(rank));
  return out;
}

/// s of a row of messages by each of the first `pairs` ranks of one node to those of the other, all
/// at once. By all ranks.
double seconds_of_rows(const std::vector<int>& from, const std::vector<int>& to,
                       std::size_t pairs) {
  int me = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &me);
  std::vector<std::vector<char>> data;
  int other = -1;
  bool first = false;
  for (std::size_t i = 0; i < pairs; ++i) {
    if (me != from[i] && me != to[i]) continue;
    first = me == from[i];
    other = first ? to[i] : from[i];
    data.assign(in_a_row, std::vector<char>(static_cast<std::size_t>(bytes_of_pairs)));
  }
  double least = std::numeric_limits<double>::infinity();
  for (int round = 0; round < rounds; ++round) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    if (other >= 0) stream(data, other, first);
    MPI_Barrier(MPI_COMM_WORLD);
    if (round > 0) least = std::min(least, MPI_Wtime() - start);  // the first connects
  }
  return least;
}

/// How many pairs of ranks pass as fast as one: so many times as much comes over in a time. By all
/// ranks; rank 0's answer counts.
std::int64_t measure_pairs(const std::vector<int>& from, const std::vector<int>& to) {
  const std::size_t pairs = std::min({from.size(), to.size(), most_pairs});
  if (pairs < 2) return 1;
  const double one = seconds_of_rows(from, to, 1), all = seconds_of_rows(from, to, pairs);
  const auto most = static_cast<double>(pairs);
  return static_cast<std::int64_t>(std::clamp(std::round(most * one / all), 1.0, most));
}

std::string processor_of(int rank) {
  char name[MPI_MAX_PROCESSOR_NAME] = {};
  int length = 0;
  MPI_Get_processor_name(name, &length);
  MPI_Bcast(name, sizeof name, MPI_CHAR, rank, MPI_COMM_WORLD);
  return name;
}

std::string prices_as_text(const launch::NetworkProfile& p) {
  char text[200];
  std::snprintf(text, sizeof text,
                "  latency %lld ns, gap %lld ns a message, bandwidth %lld MB/s, pairs at once %lld "
                "(%s on %s)\n",
                static_cast<long long>(p.latency_ns), static_cast<long long>(p.gap_ns),
                static_cast<long long>(p.bandwidth_mb_s), static_cast<long long>(p.pairs),
                p.provider.c_str(), p.interface.c_str());
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

launch::NetworkProfile profile_of(const model::Network& x, std::int64_t pairs,
                                  const net::Offer& offer) {
  const auto rounded = [](double value) { return static_cast<std::int64_t>(value + 0.5); };
  return {.provider = offer.provider,
          .interface = offer.interface,
          .when = "now",
          .latency_ns = rounded(x.latency * 1e9),
          .gap_ns = rounded(x.gap * 1e9),
          .bandwidth_mb_s = std::max<std::int64_t>(rounded(model::line_bytes / x.line / 1e6), 1),
          .pairs = pairs};
}

/// Of rank 0.
int keep(const std::vector<model::MessageTimes>& times, std::int64_t pairs,
         const std::string& hosts) {
  const auto node = topo::Topology::this_node();
  const model::Parameters machine =
      node ? launch::read_tuning(node.value).prices : model::built_in();
  const model::Network found = model::fit_network(times, machine, short_bytes);
  const Rank& rank = *world::current_rank();
  const launch::NetworkProfile profile = profile_of(found, pairs, rank.network->fabric->offer());
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
  const std::vector<int> nodes = nodes_of_ranks();
  const auto apart =
      std::find_if(nodes.begin(), nodes.end(), [&](int node) { return node != nodes[0]; });
  if (apart == nodes.end()) {
    if (me == 0)
      std::cerr << "weft tune --net measures between two nodes of a job, and this job is on one; "
                   "start it as a job: `mpiexec -H a:8,b:8 weft tune --net`, or `mpiexec "
                   "--pretend-nodes 2 -n 2 weft tune --net` for what a pretended network costs\n";
    MPI_Finalize();
    return 2;
  }
  const std::vector<int> from = ranks_on(nodes, nodes[0]), to = ranks_on(nodes, *apart);
  const int other = to[0];
  const std::string here = processor_of(0), there = processor_of(other);
  std::vector<model::MessageTimes> times;
  if (me == 0 || me == other)
    for (const std::int64_t bytes : sizes)
      times.push_back(measure_size(bytes, me == 0 ? other : 0, me == 0));
  const std::int64_t pairs = measure_pairs(from, to);
  if (me == 0) exit_code = keep(times, pairs, here + " and " + there);
  if (me == 0 && std::min(from.size(), to.size()) < 2)
    std::cout
        << "one rank on a host does not show how many pairs pass at once; start several, with "
           "a core each\n";
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
                      : "not measured; the parameters net.latency, net.gap, net.bandwidth and "
                        "net.pairs serve\n");
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
