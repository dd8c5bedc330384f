// SPDX-License-Identifier: Apache-2.0
//
// The parameter table, and the reading of WEFT_* variables. Defaults that decide between two ways
// of doing something are measured; the bench that measured them is named in the help of
// docs/params.md.
#include "base/params.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

extern char** environ;

namespace weft {
namespace {

constexpr std::int64_t big = std::int64_t{1} << 40;

constexpr ParamDef table[] = {
    {P::abi_check, "abi.check", ParamType::integer, "on", "", 0, 2,
     "1 checks the arguments of every MPI call; 0 trusts them; full (2) also compares call, root, "
     "size and operation of each collective between its ranks, which costs an allgather",
     "off,on,full"},
    {P::coll_shared_max, "coll.shared_max", ParamType::integer, "4096", "bytes", 0, 1 << 20,
     "largest payload for which collectives inside a node use shared flags and slots"},
    {P::coll_explain, "coll.explain", ParamType::boolean, "0", "", 0, 1,
     "say once for each communicator, collective and way which way it goes (weft docs "
     "collectives)"},
    {P::coll_reproducible, "coll.reproducible", ParamType::boolean, "0", "", 0, 1,
     "fold every reduction in the order of ranks, so that its bits depend on neither the way it "
     "goes, nor where ranks run, nor whether they are processes or threads"},
    {P::coll_explore, "coll.explore", ParamType::integer, "50", "%", 0, 1000000,
     "collectives longer than a slot try the ways that cost by the model at most so much more than "
     "the one it takes (of reductions those with the same bits), and keep the fastest; 0: none "
     "(weft docs collectives)"},
    {P::coll_allgather, "coll.allgather", ParamType::integer, "auto", "", 0, 7,
     "the way of every allgather that can go it",
     "auto,slots,direct,strips,bruck,ring,exchange,nodes"},
    {P::coll_allreduce, "coll.allreduce", ParamType::integer, "auto", "", 0, 18,
     "the way of every allreduce that can go it",
     "auto,slots,direct,strips,recursive_doubling,rabenseifner,ordered,tree,tree_one_stage,"
     "tiled_naive,tiled_cyclic,tiled_hierarchical,dissemination,tree_3,tree_4,tree_8,nodes,nodes_"
     "parts,nodes_segments"},
    {P::coll_alltoall, "coll.alltoall", ParamType::integer, "auto", "", 0, 9,
     "the way of every alltoall that can go it",
     "auto,slots,direct,strips,bruck,pairwise,scattered,exchange,nodes,nodes_parts"},
    {P::coll_barrier, "coll.barrier", ParamType::integer, "auto", "", 0, 4,
     "the way of every barrier that can go it", "auto,slots,dissemination,tree,nodes"},
    {P::coll_bcast, "coll.bcast", ParamType::integer, "auto", "", 0, 12,
     "the way of every bcast that can go it",
     "auto,slots,direct,pieces,binomial,scatter_allgather,one_stage,two_stage,tree,tree_2,tree_8,"
     "nodes,nodes_segments"},
    {P::coll_gather, "coll.gather", ParamType::integer, "auto", "", 0, 8,
     "the way of every gather that can go it",
     "auto,slots,direct,pieces,binomial,linear,exchange,two_stage,nodes"},
    {P::coll_reduce, "coll.reduce", ParamType::integer, "auto", "", 0, 14,
     "the way of every reduce that can go it",
     "auto,slots,direct,strips,binomial,ordered,tree,tiled_naive,tiled_cyclic,tiled_hierarchical,"
     "tree_3,tree_4,tree_8,nodes,nodes_segments"},
    {P::coll_reduce_scatter, "coll.reduce_scatter", ParamType::integer, "auto", "", 0, 8,
     "the way of every reduce_scatter that can go it",
     "auto,slots,direct,strips,rooted,pairwise,ordered,exchange,nodes"},
    {P::coll_scan, "coll.scan", ParamType::integer, "auto", "", 0, 6,
     "the way of every scan and exscan that can go it",
     "auto,slots,pieces,recursive_doubling,linear,chain,nodes"},
    {P::coll_scatter, "coll.scatter", ParamType::integer, "auto", "", 0, 8,
     "the way of every scatter that can go it",
     "auto,slots,direct,pieces,binomial,linear,exchange,two_stage,nodes"},
    {P::memory_cma, "memory.cma", ParamType::boolean, "1", "", 0, 1,
     "let processes read each other's memory in one copy (process_vm_readv) where permitted"},
    {P::net_bandwidth, "net.bandwidth", ParamType::integer, "1000", "MB/s", 1, big,
     "between two ranks on different nodes, for the cost model (weft docs cost-model); the same on "
     "all ranks; where it is not set, what weft tune --net has measured"},
    {P::net_gap, "net.gap", ParamType::integer, "3000", "ns", 0, big,
     "that a message between nodes keeps what leads out of one, beside its bytes; as "
     "net.bandwidth"},
    {P::net_interface, "net.interface", ParamType::text, "", "", 0, 0,
     "the interface (eth0) or device (mlx5_0) of the network; empty: the best (weft docs network)"},
    {P::net_latency, "net.latency", ParamType::integer, "12000", "ns", 0, big,
     "until a short message from another node comes; as net.bandwidth"},
    {P::net_paced, "net.paced", ParamType::integer, "auto", "", 0, 2,
     "whether the kernel paces connections, so that little is given to a socket at once; auto: its "
     "congestion control is bbr",
     "auto,no,yes"},
    {P::net_pairs, "net.pairs", ParamType::integer, "1", "pairs", 1, 4096,
     "pairs of ranks of two nodes whose messages pass at once as fast as those of one pair, over "
     "connections of their own; as net.bandwidth"},
    {P::net_provider, "net.provider", ParamType::text, "", "", 0, 0,
     "libfabric's provider for the network (tcp, tcp;ofi_rxm, verbs;ofi_rxm, ...); empty: the best "
     "(weft docs network)"},
    {P::parallel_helpers, "parallel.helpers", ParamType::integer, "0", "threads", 0, 1024,
     "threads of weft's own in each process that only help with large copies, reductions and rows "
     "of packets (weft docs idle-threads)"},
    {P::parallel_min_bytes, "parallel.min_bytes", ParamType::integer, "-1", "bytes", -1, big,
     "smallest copy, reduction or row of packets that idle threads may help with; -1: what takes "
     "10 us alone, by the cost model"},
    {P::parallel_openmp, "parallel.openmp", ParamType::boolean, "1", "", 0, 1,
     "let idle OpenMP threads of a rank help with its large copies, reductions and rows of "
     "packets"},
    {P::parallel_openmp_fits, "parallel.openmp_fits", ParamType::boolean, "1", "", 0, 1,
     "say at MPI_Init when OpenMP is to start more threads, in all ranks, than there are CPUs"},
    {P::parallel_transfers, "parallel.transfers", ParamType::integer, "profile", "", 0, 2,
     "which messages idle threads help to copy: by the cost model, by the thresholds of the MT-MPI "
     "paper, or none (weft docs idle-threads)",
     "profile,paper,alone"},
    {P::progress_threads, "progress", ParamType::integer, "off", "", 0, 4,
     "threads of weft's own that go on with nonblocking operations while their rank is not in MPI: "
     "none; one for each rank, for each group of ranks of a process, for each process; or one for "
     "each rank that has an idle core for it (weft docs progress)",
     "off,rank,group,node,auto"},
    {P::progress_group, "progress.group", ParamType::integer, "8", "ranks", 1, 1 << 20,
     "ranks of a process that share a progress thread, with WEFT_PROGRESS=group"},
    {P::progress_placement, "progress.placement", ParamType::text, "auto", "", 0, 0,
     "where progress threads sit: auto, dedicated-core, same-core, smt, smt-sleep, llc, or CPUs "
     "such as 8-11,15; set where the job starts (weft docs progress)"},
    {P::progress_placement_network, "progress.placement_network", ParamType::text, "auto", "", 0, 0,
     "the same for those of ranks on several nodes that find no idle core: they take the steps of "
     "the network only"},
    {P::progress_user_ops, "progress.user_ops", ParamType::integer, "false", "", 0, 1,
     "let progress threads call a program's own reduction functions; also the hint "
     "weft_progress_user_ops of a communicator (weft docs progress)",
     "false,true"},
    {P::pt2pt_delegate_min, "pt2pt.delegate_min", ParamType::integer, "-1", "bytes", -1, big,
     "smallest nonblocking send that a rank leaves to its progress thread instead of copying it in "
     "the call (weft docs progress); -1: where the copy takes twice as long as telling the thread"},
    {P::pt2pt_eager_max, "pt2pt.eager_max", ParamType::integer, "-1", "bytes", -1, 1 << 20,
     "largest message that is pushed to its receiver without asking; -1: 32 KiB, and "
     "256 KiB between processes while each rank has a core, and to other nodes; some of up to 1 "
     "MiB are announced there (weft docs network), and blocking sends between threads of up to 1 "
     "MiB are pushed where that is faster (weft docs send-path)"},
    {P::pt2pt_unexpected_max, "pt2pt.unexpected_max", ParamType::integer, "67108864", "bytes", 0,
     big, "bytes a rank holds for unexpected messages before its peers must ask first"},
    {P::pt2pt_cooperate_min, "pt2pt.cooperate_min", ParamType::integer, "32768", "bytes", 0, big,
     "smallest single copy that sender and receiver share; what is shorter the receiver makes"},
    {P::pt2pt_kernel_copy_min, "pt2pt.kernel_copy_min", ParamType::integer, "2097152", "bytes", 0,
     big, "smallest message between processes that the kernel copies (process_vm_readv)"},
    {P::pt2pt_contexts, "pt2pt.contexts", ParamType::integer, "8", "contexts", 1, 16,
     "communication contexts of each rank: its threads do not hinder each other in different ones "
     "(weft docs locking); 1: one lock for all; a power of two, set where the job starts"},
    {P::shm_ring_cells, "shm.ring_cells", ParamType::integer, "1024", "cells", 64, 1 << 20,
     "64-byte cells in each rank's mailbox ring; a power of two"},
    {P::shm_ring_bytes, "shm.ring_bytes", ParamType::integer, "262144", "bytes", 16384, 1 << 30,
     "payload bytes in each rank's mailbox ring; a power of two"},
    {P::shm_fragment_bytes, "shm.fragment_bytes", ParamType::integer, "-1", "bytes", -1, 1 << 30,
     "room of each of a rank's contexts for the longer pieces of messages that it sends; 0: they "
     "go through the rings; -1: by the caches (weft docs send-path), 0 with more ranks than CPUs"},
    {P::spawn_places, "spawn.places", ParamType::integer, "-1", "ranks", -1, 65536,
     "ranks that may live at once beside those that a job starts with: MPI_Comm_spawn (weft docs "
     "dynamic-processes); -1: 64, or as many as MPI_UNIVERSE_SIZE leaves; set where the job "
     "starts"},
    {P::spawn_guests, "spawn.guests", ParamType::integer, "1024", "ranks", 0, 65536,
     "ranks of other jobs that may be connected at once: MPI_Comm_connect (weft docs "
     "dynamic-processes); set where the job starts"},
    {P::spawn_names, "spawn.names", ParamType::integer, "machine", "", 0, 1,
     "who knows what MPI_Publish_name says, and whose names MPI_Lookup_name finds: this job only, "
     "or all jobs of the user on this machine (weft docs dynamic-processes)",
     "job,machine"},
    {P::spawn_agent, "spawn.agent", ParamType::text, ssh_command, "", 0, 0,
     "the command by which MPI_Comm_connect reaches a port of another host, and MPI_Comm_spawn "
     "under another process manager its hosts: COMMAND HOST COMMAND... (weft docs "
     "dynamic-processes); mpiexec --launch-agent sets it"},
    {P::sync_spin_us, "sync.spin_us", ParamType::integer, "-1", "us", -1, 1000000,
     "how long a waiting thread polls before it yields; -1: 0 when ranks outnumber cores, else 50"},
    {P::sync_yield_us, "sync.yield_us", ParamType::integer, "-1", "us", -1, 10000000,
     "how long a waiting thread yields before it sleeps in the kernel; -1: 1000, and where each "
     "rank has a core up to 10000 unless its waits are longer"},
    {P::sync_lock, "sync.lock", ParamType::integer, "auto", "", 0, 7,
     "the lock between a rank's threads (weft docs locking); auto: none to speak of while one "
     "thread "
     "calls, then clhub or, with several memory domains, hclhub",
     "mtx,ticket,clh,pclh,clhub,hclhub,park,auto"},
    {P::sync_bias, "sync.bias", ParamType::integer, "1000", "times", 0, 1 << 30,
     "how often a thread that waits for a lock may be passed by later ones; 0: without end"},
    {P::sync_servers, "sync.servers", ParamType::integer, "1", "threads", 0, 1 << 20,
     "of the threads that wait in a context so many look after messages, and wake each of the "
     "others when its own operations are complete; 0: every waiting thread looks"},
    {P::sync_hang_seconds, "sync.hang_seconds", ParamType::integer, "60", "s", 0, 1000000000,
     "say who waits for what when ranks have waited so long for something that cannot come "
     "(weft docs hangs); 0: never"},
    {P::log, "log", ParamType::text, "", "", 0, 0,
     "what to log to stderr: a list of folder:level, level one of error, info, debug"},
    {P::stats, "stats", ParamType::boolean, "0", "", 0, 1,
     "measure where threads spend their time in MPI, and print all ranks' counters at "
     "MPI_Finalize"},
    {P::trace, "trace", ParamType::text, "", "path", 0, 0,
     "write when each rank was in which MPI call to this file at MPI_Finalize (weft docs tracing)"},
};
static_assert(std::size(table) == static_cast<std::size_t>(P::count_));

// Variables that are weft's but no parameters: the launcher's own, those it tells ranks,
// and those of mpicc and bench.
constexpr const char* reserved[] = {
    "WEFT_JOB",        "WEFT_HOST_STDOUT", "WEFT_HOST_STDERR", "WEFT_HOST_CPUS",
    "WEFT_HOST_OMP",   "WEFT_HOST_DIR",    "WEFT_HOST_TOOLS",  "WEFT_HOST_USER_PRELOAD",
    "WEFT_HOST_STACK", "WEFT_PREFIX",      "WEFT_CC",          "WEFT_CXX",
    "WEFT_PEERS",      "WEFT_HOST_STDIN",  "WEFT_RANK",        "WEFT_SIZE",
    "WEFT_LOCAL_RANK", "WEFT_LOCAL_SIZE"};

int edit_distance(const char* a, const char* b) {
  const std::size_t n = std::strlen(b);
  std::vector<int> row(n + 1);
  for (std::size_t j = 0; j <= n; ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; a[i - 1] != 0; ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= n; ++j) {
      const int up = row[j];
      row[j] = std::min({up + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = up;
    }
  }
  return row[n];
}

/// The position of `text` in a list of words.
bool parse_word(const char* text, const char* words, std::int64_t* out) {
  const std::size_t length = std::strlen(text);
  for (*out = 0; words != nullptr && *words != 0; ++*out) {
    const std::size_t n = std::strcspn(words, ",");
    if (n == length && strncasecmp(text, words, n) == 0) return true;
    words += n + (words[n] == ',' ? 1 : 0);
  }
  return false;
}

void complain_about_unknown() {
  std::vector<std::string> names;
  for (const ParamDef& def : table) names.push_back(param_env_name(def));
  for (const char* name : reserved) names.emplace_back(name);
  std::vector<const char*> pointers;
  for (const std::string& name : names) pointers.push_back(name.c_str());
  for (char** e = environ; e != nullptr && *e != nullptr; ++e) {
    if (std::strncmp(*e, "WEFT_", 5) != 0) continue;
    const std::string name(*e, std::strcspn(*e, "="));
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const char* near = nearest_name(name.c_str(), pointers);
    std::fprintf(stderr, "weft: unknown variable %s is ignored%s%s; `weft info` lists all\n",
                 name.c_str(), near ? "; did you mean " : "", near ? near : "");
  }
}

}  // namespace

std::span<const ParamDef> param_table() {
  return table;
}

bool parse_integer(const char* text, std::int64_t* out) {
  char* end = nullptr;
  errno = 0;
  const std::int64_t value = std::strtoll(text, &end, 0);
  if (end == text || errno == ERANGE) return false;
  int shift = 0;
  switch (std::tolower(static_cast<unsigned char>(*end))) {
    case 'k':
      shift = 10;
      break;
    case 'm':
      shift = 20;
      break;
    case 'g':
      shift = 30;
      break;
    default:
      break;
  }
  if (shift > 0) ++end;
  const std::int64_t unit = std::int64_t{1} << shift;
  if (value > INT64_MAX / unit || value < INT64_MIN / unit) return false;
  *out = value * unit;
  return *end == 0;
}

std::string param_env_name(const ParamDef& def) {
  std::string name = "WEFT_";
  for (const char* c = def.name; *c != 0; ++c)
    name += *c == '.' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(*c)));
  return name;
}

std::string_view param_word(const ParamDef& def, std::int64_t value) {
  std::string_view words = def.words != nullptr ? def.words : "";
  for (; value > 0 && !words.empty(); --value) {
    const std::size_t comma = words.find(',');
    words.remove_prefix(comma == words.npos ? words.size() : comma + 1);
  }
  return words.substr(0, words.find(','));
}

bool param_parse(const ParamDef& def, const char* text, std::int64_t* out) {
  return (parse_word(text, def.words, out) || parse_integer(text, out)) && *out >= def.min &&
         *out <= def.max;
}

const ParamDef* param_of_hint(std::string_view key) {
  const auto is_hint = [](P id) {
    return (id >= P::coll_reproducible && id <= P::coll_scatter) || id == P::progress_user_ops;
  };
  for (const ParamDef& def : table)
    if (is_hint(def.id) && key == param_hint_name(def)) return &def;
  return nullptr;
}

std::string param_hint_name(const ParamDef& def) {
  std::string name = std::string("weft_") + def.name;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

const char* nearest_name(const char* word, std::span<const char* const> names) {
  const char* best = nullptr;
  int best_distance = std::max(2, static_cast<int>(std::strlen(word)) / 3) + 1;
  for (const char* name : names) {
    const int d = edit_distance(word, name);
    if (d < best_distance) {
      best = name;
      best_distance = d;
    }
  }
  return best;
}

Params Params::from_env(bool complain) {
  Params params;
  for (const ParamDef& def : table) {
    const int at = static_cast<int>(def.id);
    const std::string name = param_env_name(def);
    const char* given = std::getenv(name.c_str());
    if (def.type == ParamType::text) {
      params.texts_[at] = given != nullptr ? given : def.fallback;
      continue;
    }
    std::int64_t value = 0;
    if (!parse_word(def.fallback, def.words, &value)) parse_integer(def.fallback, &value);
    if (given != nullptr) {
      std::int64_t wanted = 0;
      if (param_parse(def, given, &wanted)) {
        value = wanted;
      } else if (complain) {
        std::fprintf(stderr, "weft: %s=%s is not a number from %lld to %lld%s%s; %s is used\n",
                     name.c_str(), given, static_cast<long long>(def.min),
                     static_cast<long long>(def.max), def.words != nullptr ? " or one of " : "",
                     def.words != nullptr ? def.words : "", def.fallback);
      }
    }
    params.integers_[at] = value;
  }
  if (complain) complain_about_unknown();
  return params;
}

}  // namespace weft
