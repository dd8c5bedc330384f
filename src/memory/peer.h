// SPDX-License-Identifier: Apache-2.0
//
// Reaching a peer's own memory: how a large message crosses in one copy. Between ranks of one
// process any address may be used; between processes the kernel copies (process_vm_readv/writev),
// if it permits that; where it does not, the message is staged in shared memory.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/err.h"

namespace weft::memory {

enum class Reach : std::uint8_t {
  unknown,
  direct,  // same process
  kernel,  // process_vm_readv / process_vm_writev
  none,    // refused; `why` in the log
};

/// Allow the other processes of the job to reach this one (Yama's ptrace scope 1).
void permit_peers();

/// Can this process reach process `pid`? Tries to read 8 bytes at `probe` there.
Reach probe_reach(int pid, const void* probe);

/// Copy `bytes` from address `from` in process `pid` to `to` here, or the reverse. False if the
/// kernel refused (errno says why).
bool read_peer(int pid, std::uint64_t from, void* to, std::size_t bytes);
bool write_peer(int pid, const void* from, std::uint64_t to, std::size_t bytes);
/// The same for pieces of memory there and here, which hold equally many bytes, in one call. How
/// many were copied, which may be fewer; 0 or less if the kernel refused.
std::int64_t read_peer(int pid, std::span<const iovec> from, std::span<const iovec> to);
std::int64_t write_peer(int pid, std::span<const iovec> from, std::span<const iovec> to);

}  // namespace weft::memory
