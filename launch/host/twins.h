// SPDX-License-Identifier: Apache-2.0
//
// Libraries that the process has although every rank has a copy of its own: a sanitizer's runtime
// brings libstdc++ into the process, and ld.so then finds its functions and variables before the
// copies'. Half a rank's C++ would use one library and half the other. So what ld.so found there is
// turned to the same place of the rank's copy. Thread-local variables may stay: a rank is a thread.
#pragma once

#include <vector>

#include "plan.h"
#include "rank.h"

namespace weft::host {

class Twins {
 public:
  /// Look for libraries of the process that are the same files as images of the plan.
  void find(const Plan& plan);
  bool empty() const { return twins_.empty(); }

  struct Place {
    int image;  // -1: not in a twin
    ElfW(Addr) offset;
  };
  Place place_of(ElfW(Addr) address) const;
  /// Turn what refers to a twin in `loaded`, relocated and not protected yet, to `rank`'s copies.
  void redirect(const Plan& plan, const Rank& rank, const Loaded& loaded) const;

 private:
  struct Twin {
    int image;
    ElfW(Addr) base, low, high;
  };
  std::vector<Twin> twins_;
  std::size_t seen_ = 0;  // images of the plan
};

}  // namespace weft::host
