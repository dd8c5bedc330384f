// SPDX-License-Identifier: Apache-2.0
//
// PMI-1, client side: under another process manager (MPICH's Hydra and its relatives) a rank learns
// its number from PMI_RANK and talks lines of key=value through the descriptor PMI_FD (or connects
// to PMI_PORT). The ranks of a node then share one job segment: rank 0 makes it and publishes where
// it is, the others open it through /proc.
#pragma once

#include <map>
#include <string>

#include "base/err.h"
#include "base/params.h"
#include "memory/job.h"

namespace weft::world {

/// The world ranks first .. first+count-1 of `job` live in this process.
struct Placement {
  memory::Job* job = nullptr;
  int first = 0;
  int count = 0;
};

/// A conversation with a process manager. Requests block until they are answered.
class Pmi1 {
 public:
  /// `fd` is a connected stream; it is not closed.
  Pmi1(int fd, int rank, int size) : fd_(fd), rank_(rank), size_(size) {}

  /// For PMI_PORT: say who we are and learn rank and size.
  Err identify(int id);
  /// First of all requests.
  Err init();
  int rank() const { return rank_; }
  int size() const { return size_; }

  Result<int> appnum();
  Err put(const std::string& key, const std::string& value);
  /// An error when nobody has put the key.
  Result<std::string> get(const std::string& key);
  /// Everything put before by any rank can be got after.
  Err barrier();
  Err finalize();
  /// Tell the manager to end the job; there is no answer.
  void abort(int exit_code);

 private:
  using Fields = std::map<std::string, std::string>;
  Err send(const std::string& line);
  Result<std::string> receive();
  /// Send a line and wait for the answer `answer` with rc=0.
  Result<Fields> ask(const std::string& line, const char* answer);

  int fd_, rank_, size_;
  std::string space_;  // name of the job's key space
  std::string buffer_;
};

/// Nodes that a PMI_process_mapping "(vector,(first node,nodes,ranks per node),...)" spreads `size`
/// ranks over; 1 when it cannot be read.
int nodes_of_mapping(const std::string& mapping, int size);

/// Find or make the job segment through `manager`, for one node.
Result<Placement> join_job(Pmi1& manager, const Params& params);

/// Is this process a rank of a job of another process manager?
bool has_pmi();
/// Join that job. Called once, by Process.
Result<Placement> from_pmi(const Params& params);
/// At the end of MPI_Finalize; nothing without PMI.
Err pmi_finalize();
/// When the job is aborted; nothing without PMI.
void pmi_abort(int exit_code);

}  // namespace weft::world
