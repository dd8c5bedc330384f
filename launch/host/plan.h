// SPDX-License-Identifier: Apache-2.0
//
// What becomes of a program when its ranks are threads: which images each rank gets a copy of, in
// which order they are initialised, or why it cannot run this way at all.
//
// The rule: everything is private to a rank except the C library's own family, the compiler's
// unwinder, sanitizer runtimes, libmpi_abi, and what the rank host has loaded already. Those are
// made for threads. Any other library was, as far as its author knew, alone in its process
// (libstdc++'s cout, libgfortran's units, a plot library's current figure), and stays so.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "image.h"
#include "search.h"

namespace weft::host {

/// Largest thread-local block of a program: the reserve of weft-rankhost (main.cc).
inline constexpr std::size_t tls_reserve_bytes = 64 * 1024;
inline constexpr std::size_t tls_reserve_align = 4096;

/// An image that every rank has its own copy of.
struct Private {
  std::unique_ptr<Image> image;
  std::vector<std::string> names;  // as which DT_NEEDED entries ask for it
  std::vector<int> needs;          // other private images, indices into Plan::images
};

struct Plan {
  std::vector<Private> images;       // [0] is the program
  std::vector<int> order;            // initialisation: what is needed first; the program last
  std::vector<int> tools;            // loaded as if by LD_PRELOAD
  std::vector<int> before_mpi;       // as symbols are searched: the program, tools, its libraries
  bool uses_mpi = false;             // something asks for libmpi_abi
  std::vector<std::string> preload;  // sanitizer runtimes that must come first in the process
  std::size_t static_tls_bytes = 0;  // per rank, in the area that ld.so fixes at start

  const Image& program() const { return *images[0].image; }
  /// Index of the private image that `needed` stands for, or -1.
  int find(std::string_view needed) const;
  /// The first image that defines `name`, of those before libmpi_abi if it is a function of MPI; or
  /// -1.
  int wrapper(std::string_view name) const;
};

/// The functions that a tool may wrap begin so.
inline constexpr const char* mpi_prefix = "MPI_";

/// Whether a library of this name is loaded once for all ranks.
using IsShared = std::function<bool(const std::string&)>;
bool is_shared_by_name(const std::string& soname);
/// Whether ranks have their own even if the process has one too (twins.h).
bool is_private_by_name(const std::string& soname);

/// Fill `plan` for the program at `path`, with `tools` loaded before its libraries. Returns the
/// reason why it cannot run as threads, or "".
std::string make_plan(const std::string& path, const std::vector<std::string>& tools,
                      const IsShared& is_shared, Plan& plan);

/// Add a library that a running rank loads, with what it needs; returns an error text or "".
std::string add_library(Plan& plan, Search& search, const std::string& path,
                        const IsShared& is_shared);

}  // namespace weft::host
