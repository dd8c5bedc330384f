// SPDX-License-Identifier: Apache-2.0
//
// Every knob of weft, in one table (params.cc): name, type, default, unit, range and one sentence.
// The table feeds the environment (WEFT_<FOLDER>_<NAME>), `weft info`, MPI_T control variables and
// docs/params.md. Values are read once at start and are constant afterwards.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace weft {

enum class P : int {
  abi_check,
  coll_shared_max,
  coll_explain,
  coll_reproducible,  // from here to coll_scatter also hints of communicators
  coll_explore,
  coll_allgather,  // to coll_scatter: one per collective, by name
  coll_allreduce,
  coll_alltoall,
  coll_barrier,
  coll_bcast,
  coll_gather,
  coll_reduce,
  coll_reduce_scatter,
  coll_scan,
  coll_scatter,
  memory_cma,
  net_bandwidth,
  net_gap,
  net_interface,
  net_latency,
  net_paced,
  net_pairs,
  net_provider,
  parallel_helpers,
  parallel_min_bytes,
  parallel_openmp,
  parallel_openmp_fits,
  parallel_transfers,
  progress_threads,
  progress_group,
  progress_placement,
  progress_placement_network,
  progress_user_ops,  // also a hint
  pt2pt_delegate_min,
  pt2pt_eager_max,
  pt2pt_unexpected_max,
  pt2pt_cooperate_min,
  pt2pt_kernel_copy_min,
  pt2pt_contexts,
  shm_ring_cells,
  shm_ring_bytes,
  shm_fragment_bytes,
  spawn_places,
  spawn_guests,
  spawn_names,
  spawn_agent,
  sync_spin_us,
  sync_yield_us,
  sync_lock,
  sync_bias,
  sync_servers,
  sync_hang_seconds,
  log,
  stats,
  trace,
  count_
};

/// How mpiexec, and jobs that meet, run a command on another host. Nobody is there to answer a
/// question, and a host that is switched off, before or meanwhile, is no reason to wait long.
inline constexpr const char* ssh_command =
    "ssh -x -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=5 "
    "-o ServerAliveCountMax=2";

enum class ParamType { boolean, integer, text };

struct ParamDef {
  P id;
  const char* name;  // "folder.name"
  ParamType type;
  const char* fallback;  // default, as text
  const char* unit;
  std::int64_t min, max;
  const char* help;
  const char* words = nullptr;  // names of the values 0, 1, ..., separated by commas
};

std::span<const ParamDef> param_table();
/// Word number `value` of the parameter's list of words.
std::string_view param_word(const ParamDef& def, std::int64_t value);
/// The value that `text` names: a word, or a number in the parameter's range.
bool param_parse(const ParamDef& def, const char* text, std::int64_t* out);
/// The parameter that a hint of a communicator sets: weft_coll_bcast for coll.bcast; null: none.
const ParamDef* param_of_hint(std::string_view key);
std::string param_hint_name(const ParamDef& def);
/// "4096", "0x10" or "16k" (k, M, G: powers of 1024).
bool parse_integer(const char* text, std::int64_t* out);
/// "sync.spin_us" -> "WEFT_SYNC_SPIN_US"
std::string param_env_name(const ParamDef& def);

/// The values of one process.
class Params {
 public:
  /// Read the environment; complain once on stderr about unknown or unusable WEFT_* variables
  /// (with the nearest name) if `complain`.
  static Params from_env(bool complain);
  std::int64_t integer(P id) const { return integers_[static_cast<int>(id)]; }
  bool boolean(P id) const { return integer(id) != 0; }
  const std::string& text(P id) const { return texts_[static_cast<int>(id)]; }

 private:
  std::int64_t integers_[static_cast<int>(P::count_)] = {};
  std::string texts_[static_cast<int>(P::count_)];
};

/// The name in `names` nearest to `word` by edit distance, or nullptr if none is near.
const char* nearest_name(const char* word, std::span<const char* const> names);

}  // namespace weft
