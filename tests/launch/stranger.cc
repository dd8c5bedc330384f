// SPDX-License-Identifier: Apache-2.0
//
// stranger PROVIDER PORT SEED: says to the endpoint at a port of this machine, through libfabric
// and so by its protocol, what nobody of the job would: packets too short and too long, noise,
// cells that name ranks there are and are not with seals that are guessed. Ends when all has left,
// or after two seconds.
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>

#include "net/fabric.h"
#include "wire/cell.h"

namespace {

using namespace weft;

struct Deaf : net::Listener {
  void received(std::span<std::byte>) override {}
  void returned(std::byte*) override {}
  void finished(net::Operation&, Err) override {}
  void lost(net::Peer, Err) override {}
};

/// What it says the `n`th time; returns how long it is.
std::size_t say(std::byte* room, std::size_t room_bytes, int n, std::mt19937& random) {
  const std::size_t lengths[] = {1, 63, 64, 65, 96, 4096, room_bytes};
  const std::size_t bytes = std::min(lengths[static_cast<unsigned>(n) % 7], room_bytes);
  for (std::size_t i = 0; i < bytes; ++i) room[i] = static_cast<std::byte>(random());
  if (bytes < sizeof(wire::Cell) || n % 3 == 0) return bytes;
  auto& cell = *reinterpret_cast<wire::Cell*>(room);
  cell.turn.store(1 + static_cast<unsigned>(n) % 5, std::memory_order_relaxed);
  cell.what = static_cast<wire::What>(1 + n % 13);
  cell.sender = static_cast<std::uint32_t>(n) % 5;
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  Result<std::unique_ptr<net::Fabric>> fabric = net::Fabric::open({argv[1], "lo"});
  if (!fabric) return std::puts(last_error_text(fabric.err.cls)), 77;
  Result<std::unique_ptr<net::Endpoint>> opened = fabric.value->endpoint({.room_bytes = 128 << 10});
  if (!opened) return std::puts(last_error_text(opened.err.cls)), 1;
  net::Endpoint& endpoint = *opened.value;
  net::Address there = endpoint.address();
  if (there.size() < sizeof(sockaddr_in)) return std::puts("no address of IP"), 77;
  reinterpret_cast<sockaddr_in*>(there.data())->sin_port =
      htons(static_cast<std::uint16_t>(std::atoi(argv[2])));
  const Result<net::Peer> peer = endpoint.add_peer(there);
  if (!peer) return std::puts(last_error_text(peer.err.cls)), 1;
  std::mt19937 random(static_cast<unsigned>(std::atoi(argv[3])));
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
  Deaf deaf;
  int said = 0;
  for (; std::chrono::steady_clock::now() < end && (said < 300 || !endpoint.is_idle());) {
    if (std::byte* room = said < 300 ? endpoint.reserve() : nullptr) {
      const Result<bool> sent =
          endpoint.commit(room, say(room, endpoint.send_bytes(), said, random), peer.value);
      if (!sent || !sent.value) endpoint.discard(room);
      if (sent && sent.value) ++said;
    }
    if (!endpoint.progress(deaf)) break;
  }
  std::printf("%d\n", said);
  // Whoever was offended may have closed the connection: nothing is waited for.
  std::fflush(stdout);
  std::_Exit(0);
}
