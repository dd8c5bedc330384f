// SPDX-License-Identifier: Apache-2.0
//
// Making, opening and laying out the job's memory file. The heap is a set of free lists of powers
// of two behind a bump pointer, under one spin lock in the header: it serves communicator
// construction and windows, never a message.
#include "memory/job.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <iterator>
#include <new>

#include "base/assert.h"
#include "base/clock.h"
#include "base/limits.h"
#include "memory/guests.h"

namespace weft::memory {
namespace {

constexpr std::size_t round_up(std::size_t n) {
  return (n + page - 1) / page * page;
}

// heap_state[0]: bytes handed out by the bump pointer; heap_state[k]: offset of the first free
// block of 2^(k+11) bytes, 0 for none. A free block starts with the offset of the next.
// heap_state[chains + i]: first of the shared blocks whose names hash to i. One that did not fit is
// a head alone, until all its users have been told; heap_state[refusing]: 1 once not even that fit,
// then whatever does not exist yet is refused.
constexpr int refusing = 47, chains = 48, chain_count = 16;

std::size_t chain_of(const BlockName& name) {
  return chains + (name.communicator / 4 + name.block) % chain_count;
}

/// In front of a shared block.
struct alignas(64) SharedHead {
  std::uint64_t next;
  BlockName name;
  std::uint64_t bytes;
  std::int32_t users;  // that have not left, or not been refused
};

int size_class(std::size_t bytes) {
  const std::size_t size = std::bit_ceil(bytes < page ? page : bytes);
  return std::countr_zero(size) - 11;
}

/// Past the limit the kernel would not just refuse, but kill by SIGXFSZ.
bool resize(int fd, std::size_t bytes) {
  rlimit limit{};
  const bool fits = getrlimit(RLIMIT_FSIZE, &limit) != 0 || bytes <= limit.rlim_cur;
  if (!fits) errno = EFBIG;
  return fits && ftruncate(fd, static_cast<off_t>(bytes)) == 0;
}

}  // namespace

JobGuard::JobGuard(std::atomic<std::uint32_t>& word) : word_(word) {
  // acquire: pairs with the release in ~JobGuard
  while (word_.exchange(1, std::memory_order_acquire) != 0) sched_yield();
}

JobLayout job_layout(const JobHeader& h) {
  JobLayout at{};
  const std::size_t own = h.places - h.guests;
  at.entries = round_up(sizeof(JobHeader));
  at.hierarchy = at.entries + h.places * sizeof(RankEntry);
  at.nodes = at.hierarchy + topo::HierarchyTable::bytes(h.places);
  at.messages = round_up(at.nodes + h.places * sizeof(std::int32_t));
  at.guests = round_up(at.messages + h.places * sizeof(Job::Message));
  at.findings = round_up(at.guests + h.guests * sizeof(GuestRecord));
  at.waits = at.findings + findings_bytes;
  at.areas = at.waits + own * rank_waits_bytes;
  at.heap = round_up(at.areas + own * h.contexts * h.area_bytes);
  at.total = at.heap + h.heap_bytes;
  return at;
}

namespace {

/// Less where the address space is limited (ulimit -v).
std::size_t heap_size(int nranks) {
  const std::size_t wanted = std::min(most_heap, static_cast<std::size_t>(nranks) * heap_per_rank);
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  return std::min(wanted, static_cast<std::size_t>(limit.rlim_cur) / 8 / page * page);
}

/// Address space only, like the heap.
std::uint32_t spare_places(const JobHeader& h, const Params& params) {
  const std::int64_t said = params.integer(P::spawn_places);
  const auto free = static_cast<std::int64_t>(h.universe) - static_cast<std::int64_t>(h.nranks);
  const auto wanted = static_cast<std::uint64_t>(
      said >= 0 ? said : std::clamp(free, fewest_spare_places, most_spare_places));
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return static_cast<std::uint32_t>(wanted);
  const std::uint64_t each = rank_waits_bytes + std::uint64_t{h.contexts} * h.area_bytes;
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, limit.rlim_cur / 8 / each));
}

}  // namespace

/// The extents cost nothing until they are touched; where files may not be that long there are
/// none.
bool Job::size_file(int fd, std::size_t layout_bytes) {
  return resize(fd, layout_bytes + extent_start(extent_count)) || resize(fd, layout_bytes);
}

HashKey identity_of(const HashKey& secret) {
  const auto half = [&](std::string_view name) {
    return keyed_hash(secret, std::as_bytes(std::span(name)));
  };
  return {{half("identity 0"), half("identity 1")}};
}

Result<Job*> Job::create(int nranks, int cpus, const Params& params,
                         const std::vector<std::int32_t>& node_of, int universe) {
  JobHeader h{};
  h.magic = JobHeader::magic_value;
  h.nranks = static_cast<std::uint32_t>(nranks);
  h.cpus.store(static_cast<std::uint32_t>(cpus), std::memory_order_relaxed);
  h.universe = static_cast<std::uint32_t>(universe > 0 ? universe : cpus);
  h.nodes = 1;
  if (!node_of.empty())
    h.nodes = static_cast<std::uint32_t>(*std::max_element(node_of.begin(), node_of.end()) + 1);
  // No secret: where the system has no random numbers, what differs between jobs will do.
  const Result<HashKey> identity = random_key();
  h.identity =
      identity
          ? identity.value
          : HashKey{{static_cast<std::uint64_t>(now_ns()), static_cast<std::uint64_t>(getpid())}};
  const Result<HashKey> secret = random_key();
  if (secret) h.secret = secret.value;
  if (!secret && h.nodes > 1) return secret.err;
  h.sharing = h.nranks;
  h.ring_cells = static_cast<std::uint32_t>(
      std::bit_ceil(static_cast<std::uint64_t>(params.integer(P::shm_ring_cells))));
  h.ring_bytes = static_cast<std::uint32_t>(
      std::bit_ceil(static_cast<std::uint64_t>(params.integer(P::shm_ring_bytes))));
  h.contexts = static_cast<std::uint32_t>(
      std::bit_ceil(static_cast<std::uint64_t>(params.integer(P::pt2pt_contexts))));
  h.area_bytes = round_up(area_control_bytes + std::size_t{h.ring_cells} * 64 + h.ring_bytes);
  h.guests = static_cast<std::uint32_t>(params.integer(P::spawn_guests));
  h.places = h.nranks + spare_places(h, params) + h.guests;
  h.used = h.nranks;
  h.heap_bytes = heap_size(nranks);
  const int fd = memfd_create("weft-job", MFD_CLOEXEC);
  if (fd < 0)
    return fail(MPI_ERR_NO_MEM, "memfd_create for the job's shared memory failed: %s%s",
                std::strerror(errno), limit_behind(errno).c_str());
  const std::size_t total = job_layout(h).total;
  if (!size_file(fd, total)) {
    const Err e = fail(MPI_ERR_NO_MEM, "cannot size the job's shared memory to %zu bytes: %s%s",
                       total, std::strerror(errno), limit_behind(errno).c_str());
    close(fd);
    return e;
  }
  if (pwrite(fd, &h, sizeof h, 0) != static_cast<ssize_t>(sizeof h)) {
    const Err e =
        fail(MPI_ERR_NO_MEM, "cannot write the job's shared memory: %s", std::strerror(errno));
    close(fd);
    return e;
  }
  const Result<Job*> made = open(fd);
  if (made && !node_of.empty())
    std::memcpy(made.value->at(job_layout(h).nodes), node_of.data(),
                node_of.size() * sizeof node_of[0]);
  return made;
}

Result<Job*> Job::open(int fd) {
  JobHeader h{};
  if (pread(fd, &h, sizeof h, 0) != static_cast<ssize_t>(sizeof h) ||
      h.magic != JobHeader::magic_value)
    return fail(MPI_ERR_INTERN,
                "descriptor %d is no job of this version of weft; start the program "
                "with weft's own mpiexec",
                fd);
  const std::size_t total = job_layout(h).total;
  void* base = mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
  if (base == MAP_FAILED)
    return fail(MPI_ERR_NO_MEM, "cannot map %zu bytes of shared memory: %s%s", total,
                std::strerror(errno), limit_behind(errno).c_str());
  return new Job(base, total, fd);
}

Job::~Job() {
  munmap(base_, bytes_);
  for (int k = 0; k < extent_count; ++k)
    if (std::byte* mapped = extents_[k]) munmap(mapped, extent_bytes(k));
  close(fd_);
}

std::byte* Job::extent(int k) {
  // acquire: pairs with the exchange of the thread that mapped it
  if (std::byte* mapped = extents_[k].load(std::memory_order_acquire)) return mapped;
  struct stat file {};
  const std::uint64_t end = bytes_ + extent_start(k + 1);
  JobHeader h{};
  // The program may have closed all descriptors, and opened others.
  if (pread(fd_, &h, sizeof h.magic, 0) != sizeof h.magic || h.magic != JobHeader::magic_value ||
      fstat(fd_, &file) != 0)
    return errno = EBADF, nullptr;
  if (static_cast<std::uint64_t>(file.st_size) < end) return errno = EFBIG, nullptr;
  void* mapped = mmap(nullptr, extent_bytes(k), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
                      fd_, static_cast<off_t>(bytes_ + extent_start(k)));
  if (mapped == MAP_FAILED) return nullptr;
  std::byte* none = nullptr;
  if (extents_[k].compare_exchange_strong(none, static_cast<std::byte*>(mapped),
                                          std::memory_order_acq_rel))
    return static_cast<std::byte*>(mapped);
  munmap(mapped, extent_bytes(k));  // another thread was first
  return none;
}

std::byte* Job::in_extent(std::uint64_t offset) {
  const std::uint64_t behind = offset - bytes_;
  const int k = std::bit_width(behind / first_extent + 1) - 1;
  std::byte* mapped = extent(k);
  if (mapped == nullptr) out_of_memory("the job's shared memory", extent_bytes(k));
  return mapped + (behind - extent_start(k));
}

std::uint64_t Job::extend(std::size_t bytes, std::size_t align) {
  constexpr std::uint64_t line = 64;
  const std::uint64_t size = (bytes + line - 1) / line * line;
  const auto aligned = [align](std::uint64_t at) { return (at + align - 1) & ~(align - 1); };
  // relaxed: only who has which part is at stake
  std::atomic<std::uint64_t>& extended = header().extended;
  std::uint64_t used = extended.load(std::memory_order_relaxed), start = 0;
  int k = 0;
  do {
    start = aligned(used);
    for (k = std::bit_width(start / first_extent + 1) - 1; start + size > extent_start(k + 1); ++k)
      start = extent_start(k + 1);
    if (k >= extent_count) return errno = ENOMEM, 0;
  } while (!extended.compare_exchange_weak(used, start + size, std::memory_order_relaxed));
  return extent(k) != nullptr ? bytes_ + start : 0;
}

GuestRecord& Job::guest(int rank) {
  return reinterpret_cast<GuestRecord*>(at(job_layout(header()).guests))[rank - places()];
}

bool Job::has_guest(const std::vector<std::int32_t>& ranks) const {
  return has_guests() && std::any_of(ranks.begin(), ranks.end(),
                                     [this](std::int32_t rank) { return is_guest(rank); });
}

RankEntry& Job::entry(int world_rank) {
  return reinterpret_cast<RankEntry*>(at(job_layout(header()).entries))[world_rank];
}

Job::Message& Job::message(int world_rank) {
  return reinterpret_cast<Message*>(at(job_layout(header()).messages))[world_rank];
}

World Job::world_of(int rank) {
  const World& spawned = entry(rank).world;
  return spawned.size > 0 ? spawned : World{0, size()};
}

namespace {

/// Zero again, and no memory any more.
void clear(int fd, std::byte* at, std::uint64_t offset, std::size_t bytes) {
  if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(offset),
                static_cast<off_t>(bytes)) != 0)
    std::memset(at, 0, bytes);
}

}  // namespace

/// Its entry, as if nobody had been there.
void Job::renew(int rank, World world, bool is_first) {
  RankEntry& at = entry(rank);
  const std::uint32_t before = at.incarnation.load(std::memory_order_relaxed);
  const std::uint64_t text_at = at.text_at, text_bytes = at.text_bytes;
  new (&at) RankEntry{};
  at.text_at = text_at;
  at.text_bytes = text_bytes;
  at.world = world;
  at.incarnation.store(is_first ? 0 : before + 1, std::memory_order_relaxed);
}

void Job::occupy_guest(int rank, bool is_first) {
  if (is_first)
    entry(rank).world = {rank, 1};  // its end may be known already
  else
    renew(rank, {rank, 1}, false);
  message(rank)[0] = '\0';
  nodes_of_ranks()[rank] = nodes() + rank - places();
}

void Job::occupy(World world, std::span<const std::int32_t> node_of) {
  for (int r = world.first; r < world.end(); ++r) {
    const bool is_first = r >= used();
    if (!is_first) {
      clear(fd_, waits(r), offset_of(waits(r)), rank_waits_bytes);
      message(r)[0] = '\0';
      for (std::uint32_t c = 0; c < header().contexts; ++c) {
        std::byte* const at = area(r, static_cast<int>(c));
        std::byte lasting[area_lasting_bytes];
        std::memcpy(lasting, at + area_lasting_at, sizeof lasting);
        clear(fd_, at, offset_of(at), header().area_bytes);
        const auto is_zero = [](std::byte b) { return b == std::byte{0}; };
        if (!std::all_of(std::begin(lasting), std::end(lasting), is_zero))
          std::memcpy(at + area_lasting_at, lasting, sizeof lasting);
      }
    }
    renew(r, world, is_first);
    if (!node_of.empty()) nodes_of_ranks()[r] = node_of[static_cast<std::size_t>(r - world.first)];
  }
  // release: the entries; pairs with used()
  if (world.end() > used())
    header().used.store(static_cast<std::uint32_t>(world.end()), std::memory_order_release);
}

std::int32_t* Job::nodes_of_ranks() {
  return reinterpret_cast<std::int32_t*>(at(job_layout(header()).nodes));
}

int Job::node_of(int world_rank) {
  return nodes_of_ranks()[world_rank];
}

void Job::add_cpus(std::span<const int> cpus) {
  const std::uint32_t most = header().cpu_quota > 0 ? header().cpu_quota : UINT32_MAX;
  std::uint64_t words[cpu_words] = {};
  for (const int cpu : cpus)
    if (const auto n = static_cast<std::size_t>(cpu); n / 64 < cpu_words)
      words[n / 64] |= std::uint64_t{1} << (n % 64);
  int more = 0;
  for (std::size_t i = 0; i < cpu_words; ++i) {
    if (words[i] == 0) continue;
    // relaxed, as below: only the sum counts, and what orders it comes later
    const std::uint64_t before =
        header().cpus_added[i].fetch_or(words[i], std::memory_order_relaxed);
    more += std::popcount(words[i] & ~before);
  }
  std::uint32_t known = header().cpus.load(std::memory_order_relaxed), sum = 0;
  do sum = std::min(known + static_cast<std::uint32_t>(more), most);
  while (!header().cpus.compare_exchange_weak(known, sum, std::memory_order_relaxed));
}

bool Job::are_together(int here, const std::vector<std::int32_t>& world_ranks) {
  if (nodes() == 1 && !has_guests()) return true;
  const int node = node_of(here);
  return std::all_of(world_ranks.begin(), world_ranks.end(),
                     [&](std::int32_t rank) { return node_of(rank) == node; });
}

topo::HierarchyTable& Job::hierarchy_table() {
  return *reinterpret_cast<topo::HierarchyTable*>(at(job_layout(header()).hierarchy));
}

std::byte* Job::area(int world_rank, int context) {
  const JobHeader& h = header();
  const std::size_t n =
      static_cast<std::size_t>(world_rank) * h.contexts + static_cast<std::size_t>(context);
  return at(job_layout(h).areas + n * h.area_bytes);
}

std::byte* Job::waits(int world_rank) {
  return at(job_layout(header()).waits + static_cast<std::size_t>(world_rank) * rank_waits_bytes);
}

std::span<std::byte> Job::findings() {
  return {at(job_layout(header()).findings), findings_bytes};
}

std::byte* Job::heap() {
  return at(job_layout(header()).heap);
}

std::uint64_t Job::allocate_locked(std::size_t bytes, std::size_t* dirty) {
  const int k = size_class(bytes);
  const std::size_t size = std::size_t{1} << (k + 11);
  JobHeader& h = header();
  std::uint64_t offset = 0;
  *dirty = 0;
  if (h.heap_state[k] != 0) {
    offset = h.heap_state[k];
    std::memcpy(&h.heap_state[k], at(offset), sizeof offset);
    *dirty = size;
  } else if (h.heap_state[0] + size <= h.heap_bytes) {  // never used before: zero
    offset = job_layout(h).heap + h.heap_state[0];
    h.heap_state[0] += size;
  }
  return offset;
}

void Job::free_locked(std::uint64_t offset, std::size_t bytes) {
  std::uint64_t& first = header().heap_state[size_class(bytes)];
  std::memcpy(at(offset), &first, sizeof first);
  first = offset;
}

std::uint64_t Job::shared_block(BlockName name, std::size_t bytes, std::size_t zeroed, int users) {
  JobHeader& h = header();
  JobGuard guard(h.heap_lock);
  std::uint64_t& first = h.heap_state[chain_of(name)];
  if (const std::uint64_t block = find_locked(name); block != 0) {
    const auto& head = *reinterpret_cast<const SharedHead*>(at(block));
    if (head.bytes > sizeof(SharedHead)) return block + sizeof(SharedHead);
    leave_locked(block);
    return 0;
  }
  if (h.heap_state[refusing] != 0) return 0;
  std::size_t dirty = 0, total = bytes + sizeof(SharedHead);
  std::uint64_t made = allocate_locked(total, &dirty);
  const bool fits = made != 0;
  if (!fits) made = allocate_locked(total = sizeof(SharedHead), &dirty);
  if (made == 0) {
    h.heap_state[refusing] = 1;
    return 0;
  }
  std::memset(at(made), 0, std::min(dirty, zeroed + sizeof(SharedHead)));
  *reinterpret_cast<SharedHead*>(at(made)) = {first, name, total, users};
  first = made;
  if (fits) return made + sizeof(SharedHead);
  leave_locked(made);
  return 0;
}

std::uint64_t Job::find_locked(BlockName name) {
  std::uint64_t block = header().heap_state[chain_of(name)];
  while (block != 0 && reinterpret_cast<const SharedHead*>(at(block))->name != name)
    block = reinterpret_cast<const SharedHead*>(at(block))->next;
  return block;
}

std::uint64_t Job::find_shared_block(BlockName name) {
  JobGuard guard(header().heap_lock);
  const std::uint64_t block = find_locked(name);
  return block != 0 ? block + sizeof(SharedHead) : 0;
}

void Job::leave_shared_block(std::uint64_t offset) {
  JobGuard guard(header().heap_lock);
  leave_locked(offset - sizeof(SharedHead));
}

void Job::leave_locked(std::uint64_t block) {
  auto& head = *reinterpret_cast<SharedHead*>(at(block));
  if (--head.users > 0) return;
  std::uint64_t* link = &header().heap_state[chain_of(head.name)];
  while (*link != block) link = &reinterpret_cast<SharedHead*>(at(*link))->next;
  *link = head.next;
  free_locked(block, head.bytes);
}

}  // namespace weft::memory
