// SPDX-License-Identifier: Apache-2.0
//
// The network that was taken, opened: of a rank, for all its contexts. It makes endpoints.
#pragma once

#include <memory>

#include "net/endpoint.h"
#include "net/survey.h"

namespace weft::net {

class Fabric {
 public:
  static Result<std::unique_ptr<Fabric>> open(const Wish& wish);
  /// What a survey took: ranks of a process share one. Any thread may call it.
  static Result<std::unique_ptr<Fabric>> open(std::shared_ptr<const Survey> survey);
  /// All its endpoints are gone by then.
  ~Fabric();
  Fabric(const Fabric&) = delete;
  Fabric& operator=(const Fabric&) = delete;

  /// What was taken.
  const Offer& offer() const { return survey_->offers()[static_cast<std::size_t>(taken_)]; }
  /// A new endpoint, with a name that peers can reach at once. Any thread may call it; some 100 us.
  Result<std::unique_ptr<Endpoint>> endpoint(const Rooms& rooms) const;

 private:
  Fabric(std::shared_ptr<const Survey> survey, int taken)
      : survey_(std::move(survey)), taken_(taken) {}

  std::shared_ptr<const Survey> survey_;
  int taken_;
  fid_fabric* fabric_ = nullptr;
};

}  // namespace weft::net
