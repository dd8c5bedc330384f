// SPDX-License-Identifier: Apache-2.0
//
// mpiexec's part in ranks that spawn ranks on several hosts (spawn_frames.h): gives them seats,
// hears from all agents, keeps the job's directory, and gives places to guests. Belongs to the
// head.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "frames.h"
#include "seats.h"
#include "spawn_frames.h"

namespace weft::launch {

class Spawner {
 public:
  using Send = std::function<void(int node, FrameKind kind, std::string_view payload)>;
  using Fail = std::function<void(const std::string& why)>;
  using SendAll = std::function<void(FrameKind kind, std::string_view payload)>;
  Spawner(const Options& options, Send send, SendAll send_all, Fail fail);

  /// An agent has begun, whose memory has so many places.
  void begun(int places);
  /// From an agent. Throws Failure where that cannot be.
  void take(int node, const Frame& frame);
  /// The node of the last rank at each place behind those of the start that has had one.
  const std::vector<std::int32_t>& spawned_on() const { return spawned_on_; }

 private:
  /// A world that was spawned.
  struct Family {
    Seats seats;
    int by = 0;  // node of who asked
    std::uint64_t at = 0;
    std::vector<bool> has_placed;  // by node
    std::vector<int> ends_due;     // by node: of its ranks, and of a withdrawal
    std::string why;               // it could not be started
    bool is_withdrawn = false;
    Addresses addresses;
    int know = 0;             // nodes that know them
    bool has_absent = false;  // ranks that ended without MPI_Init
  };

  void place(int node, const Wanted& wanted);
  void take_outcome(int node, const StartOutcome& outcome);
  void take_told(Told told);
  void take_known(std::uint64_t serial);
  void take_ended(int node, std::uint64_t serial);
  void ask(int node, const Question& question);
  void check_absence(const Family& family);
  void settle(std::uint64_t serial);
  void dismiss();
  Family* find(std::uint64_t serial);

  const Options& options_;
  Send send_;
  SendAll send_all_;
  Fail fail_;
  int nodes_;
  int places_ = 0;  // 0: not known yet
  std::optional<Seating> seating_;
  std::uint64_t count_ = 0;  // worlds so far
  std::map<std::uint64_t, Family> families_;
  std::vector<std::int32_t> spawned_on_;
  std::vector<bool> start_runs_;  // by node: ranks that the job started with
  bool are_dismissed_ = false;
  std::map<std::string, std::string> names_;
  std::map<std::string, std::size_t> guests_;  // numbers of their places
};

}  // namespace weft::launch
