// SPDX-License-Identifier: Apache-2.0
//
// Memory that the network may use. A registration lives as long as the transfer or the window it is
// for: nothing here outlives an munmap or free of the program's. Providers for which registering is
// dear (verbs, efa, cxi, ...) keep registrations themselves, and see with libfabric's memory
// monitor when pages go; for the others it costs less than a message (docs/network.md has the
// figures).
#pragma once

#include <cstdint>
#include <utility>

struct fid_mr;

namespace weft::net {

/// A place in the memory of a process as its peers name it; travels in messages. `address` + n is
/// the place n bytes further.
struct Remote {
  std::uint64_t address = 0;
  std::uint64_t key = 0;
};

/// What registered memory is for.
enum class Use {
  own,    // transfers that this process begins; where the provider needs no word of it, nothing is
          // done
  shown,  // reads of peers that know the Remote; the program may hold it read-only
  peers   // all transfers of theirs
};

class Registration {
 public:
  Registration() = default;
  /// Of `region`, whose first byte peers call `address`.
  Registration(fid_mr* region, std::uint64_t address) : region_(region), address_(address) {}
  Registration(Registration&& other) noexcept { *this = std::move(other); }
  Registration& operator=(Registration&& other) noexcept {
    std::swap(region_, other.region_);
    std::swap(address_, other.address_);
    return *this;
  }
  ~Registration();

  /// Its first byte; of memory that was enrolled for peers.
  Remote remote() const;
  /// For libfabric; null where there is none.
  void* descriptor() const;

 private:
  fid_mr* region_ = nullptr;
  std::uint64_t address_ = 0;
};

}  // namespace weft::net
