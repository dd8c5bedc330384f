// SPDX-License-Identifier: Apache-2.0
//
// process_vm_readv and process_vm_writev, in pieces the kernel accepts.
#include "memory/peer.h"

#include <sys/prctl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

namespace weft::memory {
namespace {

// The kernel moves at most 2 GiB - 4 KiB per call.
constexpr std::size_t call_max = std::size_t{1} << 30;

template <class Call>
bool move(int pid, std::uint64_t there, void* here, std::size_t bytes, Call call) {
  auto* at = static_cast<std::byte*>(here);
  while (bytes > 0) {
    const std::size_t n = std::min(bytes, call_max);
    iovec mine{at, n};
    iovec theirs{reinterpret_cast<void*>(there), n};
    const ssize_t done = call(pid, &mine, 1, &theirs, 1, 0);
    if (done <= 0) return false;
    at += done;
    there += static_cast<std::uint64_t>(done);
    bytes -= static_cast<std::size_t>(done);
  }
  return true;
}

}  // namespace

void permit_peers() {
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
}

Reach probe_reach(int pid, const void* probe) {
  if (pid == getpid()) return Reach::direct;
  std::uint64_t word = 0;
  const auto at = reinterpret_cast<std::uint64_t>(probe);
  return read_peer(pid, at, &word, sizeof word) ? Reach::kernel : Reach::none;
}

bool read_peer(int pid, std::uint64_t from, void* to, std::size_t bytes) {
  return move(pid, from, to, bytes, process_vm_readv);
}

bool write_peer(int pid, const void* from, std::uint64_t to, std::size_t bytes) {
  return move(pid, to, const_cast<void*>(from), bytes, process_vm_writev);
}

std::int64_t read_peer(int pid, std::span<const iovec> from, std::span<const iovec> to) {
  return process_vm_readv(pid, to.data(), to.size(), from.data(), from.size(), 0);
}

std::int64_t write_peer(int pid, std::span<const iovec> from, std::span<const iovec> to) {
  return process_vm_writev(pid, from.data(), from.size(), to.data(), to.size(), 0);
}

}  // namespace weft::memory
