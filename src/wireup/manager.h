// SPDX-License-Identifier: Apache-2.0
//
// A process manager, as one rank of its job speaks with it. Ranks publish small values under keys,
// and read each other's after a fence. Three protocols say this (PMI-1, PMI-2, PMIx); who calls
// does not see which. Requests block until they are answered; one thread at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/err.h"

namespace weft::wireup {

class Manager {
 public:
  virtual ~Manager() = default;
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  /// Which of the programs of an MPMD job this is (MPI-5.0 §11.10.3, MPI_APPNUM).
  int appnum() const { return appnum_; }
  /// Ranks that the job may have (MPI_UNIVERSE_SIZE); 0: the manager does not say.
  int universe() const { return universe_; }
  virtual const char* protocol() const = 0;

  /// Publish `value`: any bytes, some hundred of them.
  virtual Err put(const std::string& key, const std::string& value) = 0;
  /// All ranks call it; what any of them has put before, all can get after.
  virtual Err fence() = 0;
  /// What `rank` has put. An error where it has not.
  virtual Result<std::string> get(int rank, const std::string& key) = 0;
  /// The number of the node that each rank runs on. An error where the manager does not say.
  virtual Result<std::vector<int>> nodes() = 0;

  virtual Err finalize() = 0;
  /// Ask the manager to end the whole job. The caller exits with `exit_code` also by itself.
  virtual void abort(int exit_code, const std::string& message) = 0;

 protected:
  Manager() = default;
  int rank_ = 0, size_ = 1, appnum_ = 0, universe_ = 0;
};

/// The manager of the job that this process is a rank of, with the connection made; null where the
/// environment names none. Called once.
Result<std::unique_ptr<Manager>> join_manager();

}  // namespace weft::wireup
