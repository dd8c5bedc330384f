// SPDX-License-Identifier: Apache-2.0
//
// Making and giving up windows. All members tell each other what they pass, so all of them find out
// if one has passed nonsense. What they share is one block of the job's memory; a window that weft
// allocates has its memory there, too, as far as it fits. Else, and where the program gives memory
// of its own, that is private to its process, and ranks of other processes ask the kernel.
#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include "coll/coll.h"
#include "memory/job.h"
#include "memory/peer.h"
#include "object/info.h"
#include "object/store.h"
#include "pt2pt/completion.h"
#include "pt2pt/engine.h"
#include "rma/messages.h"
#include "rma/races.h"

namespace weft::rma {
namespace {

/// What a member passes.
struct Proposal {
  std::int64_t error = 0;  // class
  std::int64_t flavor = 0, size = 0, unit = 1;
  std::uint64_t base = 0;   // of private memory
  std::uint64_t probe = 0;  // an address that can be read in its process
  std::int64_t apart = 0;   // the members' memory need not be contiguous
};

/// To be read by peers, to see whether the kernel permits that.
constexpr std::uint64_t probe_word = 1;

template <class T>
Err gather(const T& mine, std::vector<T>* all, Comm& comm) {
  all->resize(static_cast<std::size_t>(comm.size()));
  return coll::allgather({&mine, sizeof(T), &datatype::byte_type()},
                         {all->data(), sizeof(T), &datatype::byte_type()}, comm);
}

Err check_shape(const Shape& shape, const void* base) {
  if (shape.size < 0)
    return fail(MPI_ERR_SIZE, "size is %lld; expected 0 or more bytes",
                static_cast<long long>(shape.size));
  if (shape.disp_unit <= 0)
    return fail(MPI_ERR_DISP, "disp_unit is %lld; expected at least 1 byte",
                static_cast<long long>(shape.disp_unit));
  if (shape.size > 0 && object::is_constant(base))
    return fail(MPI_ERR_BASE, "base is %p, which is no address, but size is %lld", base,
                static_cast<long long>(shape.size));
  return ok;
}

// --- what a window's block looks like

constexpr std::size_t to_page(std::size_t at) {
  return (at + memory::page - 1) / memory::page * memory::page;
}

/// Words, the two arrays, and (if accesses are compared) the book of each member on this node; then
/// the memory, each member's at its offset.
struct Layout {
  std::size_t words_stride = 0, words_bytes = 0, bytes = 0;
  std::size_t book_at = 0;           // from the member's words on; 0: none
  std::vector<std::size_t> offsets;  // of memory; empty if there is none
  Layout(std::size_t n, bool has_books) {
    constexpr std::size_t line = 64;
    const std::size_t arrays = (n + (n + 1)) * sizeof(std::uint32_t);
    words_stride = sizeof(Words) + (arrays + line - 1) / line * line;
    if (has_books) {
      book_at = words_stride;
      words_stride += (sizeof(Book) + line - 1) / line * line;
    }
    bytes = words_bytes = words_stride * n;
  }
  /// False: more than an address holds.
  bool add_memory(const std::vector<Proposal>& members, const std::vector<int>& here,
                  bool contiguous) {
    constexpr std::size_t most = std::size_t{1} << 46;
    bytes = to_page(bytes);
    for (const int rank : here) {
      const Proposal& p = members[static_cast<std::size_t>(rank)];
      offsets.push_back(bytes);
      if (static_cast<std::size_t>(p.size) > most || bytes > most) return false;
      bytes += static_cast<std::size_t>(p.size);
      if (!contiguous) bytes = to_page(bytes);
    }
    bytes += memory::page;  // the block begins at any line
    return true;
  }
};

// Names of blocks beside those of the communicator's boards, flags and channels. All ranks'
// MPI_COMM_SELF have one context, so its first member's number is in the name, too.
constexpr std::uint64_t window_names = std::uint64_t{1} << 33;
constexpr int member_shift = 40;

Err no_room(std::size_t bytes) {
  return fail(
      MPI_ERR_NO_MEM,
      "the job's memory has no room for the %zu bytes that the members of this window share",
      bytes);
}

struct Making {
  Windows& windows;
  Comm& comm;
  const Shape& shape;
  std::uint64_t number;  // of the window among the communicator's constructions
  std::vector<Proposal> members;
  std::vector<int> here;       // those on this node
  bool is_on_one_node = true;  // all of them

  void find_those_here();
  /// Does `yes` hold for all members? They tell each other, if some are on other nodes.
  Err agreed(bool yes, bool* out);
  Proposal& mine() { return members[static_cast<std::size_t>(comm.rank)]; }
};

void Making::find_those_here() {
  pt2pt::Engine& e = *comm.engine;
  for (int rank = 0; rank < comm.size(); ++rank)
    if (e.job->are_together(e.world_rank, {comm.group->members[static_cast<std::size_t>(rank)]}))
      here.push_back(rank);
  is_on_one_node = static_cast<int>(here.size()) == comm.size();
}

Err Making::agreed(bool yes, bool* out) {
  *out = yes;
  if (is_on_one_node) return ok;
  std::vector<std::int32_t> all;
  WEFT_TRY(gather(std::int32_t{yes ? 1 : 0}, &all, comm));
  *out = std::all_of(all.begin(), all.end(), [](std::int32_t one) { return one != 0; });
  return ok;
}

Err agree(Making& m, const Err& wrong, int flavor, void* base) {
  Proposal mine;
  mine.error = wrong.cls;
  mine.flavor = flavor;
  mine.size = m.shape.size;
  mine.unit = m.shape.disp_unit;
  mine.base = reinterpret_cast<std::uint64_t>(base);
  mine.probe = reinterpret_cast<std::uint64_t>(&probe_word);
  mine.apart = object::info_flag(m.shape.info, "alloc_shared_noncontig", false);
  m.number = m.comm.constructions++;
  WEFT_TRY(gather(mine, &m.members, m.comm));
  if (wrong) return wrong;
  for (int rank = 0; rank < m.comm.size(); ++rank) {
    const Proposal& p = m.members[static_cast<std::size_t>(rank)];
    if (p.error != 0)
      return fail(static_cast<int>(p.error),
                  "rank %d of %s passed wrong arguments, so no window was made", rank,
                  m.comm.name.c_str());
    if (p.flavor != flavor)
      return fail(MPI_ERR_OTHER,
                  "rank %d of %s makes a window by another function than this rank; all must call "
                  "the same",
                  rank, m.comm.name.c_str());
  }
  m.find_those_here();
  if (m.is_on_one_node || flavor != MPI_WIN_FLAVOR_SHARED) return ok;
  return fail(MPI_ERR_RMA_SHARED,
              "the ranks of %s are on several nodes, which share no memory: take a communicator "
              "made by MPI_Comm_split_type with MPI_COMM_TYPE_SHARED, or MPI_Win_allocate",
              m.comm.name.c_str());
}

std::uint64_t take_block(Making& m, const Layout& layout, int which) {
  const auto first =
      static_cast<std::uint64_t>(m.comm.group->members[static_cast<std::size_t>(m.here.front())]);
  const std::uint64_t name =
      window_names + 2 * m.number + static_cast<std::uint64_t>(which) + (first << member_shift);
  return m.comm.engine->job->shared_block({m.comm.context, name}, layout.bytes, layout.words_bytes,
                                          static_cast<int>(m.here.size()));
}

/// Can this rank reach the private memory of all members? They tell each other.
Err check_reach(Making& m) {
  pt2pt::Engine& e = *m.comm.engine;
  std::int32_t refused = -1;
  for (const int rank : m.here) {
    const std::int32_t world = m.comm.group->members[static_cast<std::size_t>(rank)];
    if (refused >= 0 || e.hosts(world)) continue;
    const std::int32_t pid = e.job->entry(world).pid.load(std::memory_order_relaxed);
    const auto* probe =
        reinterpret_cast<const void*>(m.members[static_cast<std::size_t>(rank)].probe);
    if (memory::probe_reach(pid, probe) == memory::Reach::none) refused = rank;
  }
  std::vector<std::int32_t> all;
  WEFT_TRY(gather(refused, &all, m.comm));
  for (const std::int32_t other : all)
    if (other >= 0)
      return fail(
          MPI_ERR_RMA_SHARED,
          "the kernel does not let the processes of %s reach each other's memory (rank %d's "
          "was tried): take MPI_Win_allocate, allow ptrace, or run with --ranks=thread",
          m.comm.name.c_str(), other);
  return ok;
}

Target target_of(Making& m, const Layout& layout, std::byte* block, bool in_block,
                 std::size_t index) {
  pt2pt::Engine& e = *m.comm.engine;
  const int rank = m.here[index];
  const auto i = static_cast<std::size_t>(rank);
  const Proposal& p = m.members[i];
  std::byte* words = block + index * layout.words_stride;
  Target t;
  t.rank = rank;
  t.words = reinterpret_cast<Words*>(words);
  t.posted = reinterpret_cast<std::atomic<std::uint32_t>*>(words + sizeof(Words));
  t.waiting = t.posted + m.here.size();
  if (layout.book_at != 0) t.book = reinterpret_cast<Book*>(words + layout.book_at);
  t.world_rank = m.comm.group->members[i];
  t.pid = e.job->entry(t.world_rank).pid.load(std::memory_order_relaxed);
  t.same_process = e.hosts(t.world_rank);
  t.bytes = p.size;
  t.unit = p.unit;
  t.address = p.base;
  t.mailbox = shm::View(*e.job, t.world_rank, e.context);
  if (in_block) {
    // All processes map the job's memory at a page.
    const std::uint64_t at = e.job->offset_of(block);
    t.here = block + (to_page(at) - at) + layout.offsets[index];
    t.address = reinterpret_cast<std::uint64_t>(t.here);
  } else if (t.same_process) {
    t.here = reinterpret_cast<std::byte*>(p.base);
  }
  return t;
}

bool hosts_those_here(const Making& m) {
  const pt2pt::Engine& e = *m.comm.engine;
  return std::all_of(m.here.begin(), m.here.end(), [&](int rank) {
    return e.hosts(m.comm.group->members[static_cast<std::size_t>(rank)]);
  });
}

Window* make(Making& m, const Layout& layout, std::uint64_t block, bool in_block) {
  pt2pt::Engine& e = *m.comm.engine;
  object::Store& store = *m.comm.store;
  Window* win;
  {
    const sync::Guard guard(store.lock);
    win = m.windows.pool.create(m.comm, block);
    m.windows.live.push_back(win);
  }
  object::retain(m.comm);
  for (std::size_t i = 0; i < m.here.size(); ++i)
    win->targets.push_back(target_of(m, layout, e.job->at(block), in_block, i));
  win->my_index =
      static_cast<int>(std::find(m.here.begin(), m.here.end(), m.comm.rank) - m.here.begin());
  for (const Proposal& p : m.members) win->extents.push_back({p.size, p.unit});
  const auto differs = [win](const Extent& e) { return !(e == win->extents[0]); };
  if (std::none_of(win->extents.begin(), win->extents.end(), differs)) {
    win->extents.resize(1);
    win->extents.shrink_to_fit();
  }
  win->direct = in_block || hosts_those_here(m);
  win->errhandler = &store.errors_are_fatal;
  const Target& mine = win->mine();
  win->base = mine.here;
  win->size = mine.bytes;
  win->disp_unit = static_cast<int>(mine.unit);
  win->flavor = static_cast<int>(m.mine().flavor);
  win->no_locks = object::info_flag(m.shape.info, "no_locks", false);
  win->number = m.number;
  win->is_compared = layout.book_at != 0;
  if (win->is_compared) {
    const sync::Guard guard(store.lock);
    if (m.windows.sites == nullptr) m.windows.sites = std::make_shared<Sites>();
    win->sites = m.windows.sites.get();
  }
  win->is_simple =
      m.is_on_one_node && !win->is_compared && e.trace == nullptr && !e.lock.measures();
  if (win->is_simple) win->at_once = win->targets;
  if (m.is_on_one_node) return win;
  win->here = m.here;
  join_exchange(m.windows, *win);
  return win;
}

/// No rank of another node may ask for what is not there yet.
Err finish(Making& m, Window& win) {
  WEFT_TRY(set_hints(win, m.shape.info));
  return m.is_on_one_node ? ok : coll::barrier(m.comm);
}

/// Of memory that is not in the job's.
Err make_private(Making& m, Window** out) {
  if (!m.is_on_one_node || !hosts_those_here(m)) WEFT_TRY(check_reach(m));
  const Layout layout(m.here.size(), are_compared(*m.comm.engine));
  const std::uint64_t block = take_block(m, layout, 1);
  bool have_all = false;
  WEFT_TRY(m.agreed(block != 0, &have_all));
  if (!have_all) {
    if (block != 0) m.comm.engine->job->leave_shared_block(block);
    return no_room(layout.bytes);
  }
  *out = make(m, layout, block, false);
  return finish(m, **out);
}

/// Where a member's memory did not fit into the job's.
Err allocate_private(Making& m, Window** out) {
  const auto bytes = static_cast<std::size_t>(std::max<std::int64_t>(m.shape.size, 1));
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  std::vector<std::uint64_t> bases;
  const std::uint64_t mine = memory == MAP_FAILED ? 0 : reinterpret_cast<std::uint64_t>(memory);
  Err error = gather(mine, &bases, m.comm);
  for (std::size_t i = 0; i < bases.size(); ++i) {
    if (bases[i] == 0 && !error)
      error = fail(MPI_ERR_NO_MEM, "rank %zu of %s has no memory for its part of the window", i,
                   m.comm.name.c_str());
    m.members[i].base = bases[i];
  }
  if (!error) error = make_private(m, out);
  if (error) {
    if (mine != 0) munmap(memory, bytes);
    return error;
  }
  (*out)->own_memory = static_cast<std::byte*>(memory);
  return ok;
}

Err allocate_any(Windows& windows, int flavor, const Shape& shape, Comm& comm, void* baseptr,
                 MPI_Win* out) {
  Making m{windows, comm, shape, 0, {}, {}};
  WEFT_TRY(agree(m, check_shape(shape, &probe_word), flavor, nullptr));
  const bool shared = flavor == MPI_WIN_FLAVOR_SHARED;
  const bool apart = std::all_of(m.members.begin(), m.members.end(),
                                 [](const Proposal& p) { return p.apart != 0; });
  Layout layout(m.here.size(), are_compared(*comm.engine));
  std::uint64_t block =
      layout.add_memory(m.members, m.here, shared && !apart) ? take_block(m, layout, 0) : 0;
  bool have_all = false;
  WEFT_TRY(m.agreed(block != 0, &have_all));
  if (block != 0 && !have_all) comm.engine->job->leave_shared_block(std::exchange(block, 0));
  Window* win = nullptr;
  if (block != 0) {
    win = make(m, layout, block, true);
    WEFT_TRY(finish(m, *win));
  } else if (shared) {
    return no_room(layout.bytes);
  } else {
    WEFT_TRY(allocate_private(m, &win));
  }
  std::memcpy(baseptr, &win->base, sizeof win->base);
  *out = handle_of(*win);
  return ok;
}

/// Give the pages of this rank's memory back to the system: a block that is used again is not
/// returned as a whole.
void drop_pages(const Window& win) {
  if (win.flavor != MPI_WIN_FLAVOR_ALLOCATE && win.flavor != MPI_WIN_FLAVOR_SHARED) return;
  const auto base = reinterpret_cast<std::uintptr_t>(win.base);
  const std::uintptr_t begin = to_page(base);
  const std::uintptr_t end =
      (base + static_cast<std::uintptr_t>(win.size)) / memory::page * memory::page;
  if (win.own_memory == nullptr && end > begin)
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_REMOVE);
}

/// Under the lock of its context.
void destroy(Windows& windows, Window& win) {
  object::Store& store = *win.comm.store;
  Comm& comm = win.comm;
  if (win.exchange != nullptr) leave_exchange(win);
  drop_pages(win);
  comm.engine->job->leave_shared_block(win.block);
  if (win.own_memory != nullptr)
    munmap(win.own_memory, static_cast<std::size_t>(std::max<MPI_Aint>(win.size, 1)));
  object::release(*win.errhandler);
  {
    const sync::Guard guard(store.lock);
    if (win.hints != nullptr) store.infos.destroy(win.hints);
    std::erase(windows.live, &win);
    windows.pool.destroy(&win);
  }
  object::release(comm);
}

}  // namespace

Err create(Windows& windows, void* base, const Shape& shape, Comm& comm, MPI_Win* out) {
  Making m{windows, comm, shape, 0, {}, {}};
  WEFT_TRY(agree(m, check_shape(shape, base), MPI_WIN_FLAVOR_CREATE, base));
  Window* win = nullptr;
  WEFT_TRY(make_private(m, &win));
  *out = handle_of(*win);
  return ok;
}

Err allocate(Windows& windows, const Shape& shape, Comm& comm, void* baseptr, MPI_Win* out) {
  return allocate_any(windows, MPI_WIN_FLAVOR_ALLOCATE, shape, comm, baseptr, out);
}

Err allocate_shared(Windows& windows, const Shape& shape, Comm& comm, void* baseptr, MPI_Win* out) {
  return allocate_any(windows, MPI_WIN_FLAVOR_SHARED, shape, comm, baseptr, out);
}

Err create_dynamic(Windows& windows, const Info* info, Comm& comm, MPI_Win* out) {
  const Shape shape{.info = info};
  Making m{windows, comm, shape, 0, {}, {}};
  WEFT_TRY(agree(m, ok, MPI_WIN_FLAVOR_DYNAMIC, nullptr));
  Window* win = nullptr;
  WEFT_TRY(make_private(m, &win));
  *out = handle_of(*win);
  return ok;
}

Err free(Windows& windows, Window& win, MPI_Win* handle) {
  if (win.exposed || (win.epoch != Window::Epoch::none && win.epoch != Window::Epoch::fence))
    return fail(MPI_ERR_RMA_SYNC, "an epoch on the window is open: end it first (MPI_Win_%s)",
                win.exposed                            ? "wait"
                : win.epoch == Window::Epoch::started  ? "complete"
                : win.epoch == Window::Epoch::lock_all ? "unlock_all"
                                                       : "unlock");
  {
    const sync::Away away(win.engine().lock);  // the callbacks may call anything
    WEFT_TRY(object::delete_attributes(*win.comm.store, holder(win)));
  }
  if (win.is_compared) WEFT_TRY(check_posts(win, "MPI_Win_free"));
  settle(win);
  barrier(win);
  destroy(windows, win);
  *handle = MPI_WIN_NULL;
  return ok;
}

void free_all(Windows& windows) {
  while (!windows.live.empty()) {
    Window& win = *windows.live.back();
    const pt2pt::Inside inside(win.engine());
    destroy(windows, win);
  }
}

}  // namespace weft::rma
