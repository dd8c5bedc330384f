// SPDX-License-Identifier: Apache-2.0
//
// What networks this machine offers through libfabric, which one is taken, and why the others are
// not. An offer is one provider on one interface. FI_PROVIDER is obeyed by libfabric itself: what
// it bars is not offered.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/params.h"
#include "net/library.h"

namespace weft::net {

/// Does the kernel send a connection's packets at a pace, by its timers? by_kernel: it is asked.
enum class Paced : int { by_kernel, no, yes };

/// What the user asks for; an empty text asks for nothing.
struct Wish {
  std::string provider;   // libfabric's name, such as tcp or verbs;ofi_rxm
  std::string interface;  // of the network (eth0), or the device (mlx5_0)
  Paced paced = Paced::by_kernel;
  static Wish of(const Params& params);
};

/// What libfabric says of a provider on an interface.
struct Offer {
  std::string provider;
  std::string device;
  std::string interface;  // that has the address; the device's name where none has
  bool is_loopback = false;
  bool is_ipv6 = false;
  bool has_sockets = false;     // of the kernel, which works when it is called
  bool is_paced = false;        // by the kernel
  bool reaches_memory = false;  // remote read and write
  bool registers_own = false;   // also memory that only this process uses must be registered
  std::string verdict;          // why it is taken or not, for people
};

/// A list of what libfabric offered; it goes with `library`.
using Infos = std::unique_ptr<fi_info, void (*)(fi_info*)>;

class Survey {
 public:
  /// Asks libfabric, which looks at the machine's devices: tens of ms; some ms where `first` names
  /// a provider that is asked alone, and all others only if it offers nothing (libfabric 2). An
  /// error where it cannot be loaded.
  static Result<std::unique_ptr<Survey>> make(const Wish& wish, const std::string& first = {});

  const Library& library() const { return library_; }
  const std::vector<Offer>& offers() const { return offers_; }
  /// Number of the offer that is taken. Where none is, the error says what was asked and what there
  /// is.
  Result<int> taken() const;
  /// What an endpoint of that offer is opened with.
  const fi_info& info(int offer) const { return *infos_[static_cast<std::size_t>(offer)]; }

 private:
  Survey(const Library& library, Wish wish);
  void ask(std::uint64_t capabilities, const std::string& provider);
  void choose();

  Library library_;
  Wish wish_;
  bool paces_;  // the kernel, connections
  std::vector<Infos> lists_;
  std::vector<const fi_info*> infos_;  // of the offer with that number
  std::vector<Offer> offers_;
  int taken_ = -1;
};

}  // namespace weft::net
