// SPDX-License-Identifier: Apache-2.0
#include "world/directory.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "base/hash.h"
#include "world/attendant.h"
#include "world/comm_agree.h"
#include "world/rank.h"

namespace weft::world {
namespace {

using memory::Ask;
using Answer = std::optional<std::string>;

constexpr std::uint64_t name_block = ~std::uint64_t{2};  // no communicator has so many

struct Published {
  std::atomic<std::uint32_t> state;  // 0: free, 1: somebody writes, 2: there
  char name[MPI_MAX_PORT_NAME + 8], value[MPI_MAX_PORT_NAME];
};

memory::BlockName block_of(const std::string& name) {
  return {hash_of(std::string_view(name)) & ~std::uint64_t{0x3f}, name_block};
}

/// nullptr: there is none.
Published* find(memory::Job& job, const std::string& name) {
  const std::uint64_t at = job.find_shared_block(block_of(name));
  if (at == 0) return nullptr;
  auto* found = reinterpret_cast<Published*>(job.at(at));
  // acquire: the texts; pairs with add()
  const bool is_it = found->state.load(std::memory_order_acquire) == 2 &&
                     std::strncmp(found->name, name.c_str(), sizeof found->name) == 0;
  return is_it ? found : nullptr;
}

Result<Answer> add(memory::Job& job, const std::string& name, const std::string& value) {
  const std::uint64_t at =
      job.shared_block(block_of(name), sizeof(Published), sizeof(Published), 1);
  if (at == 0) return fail(MPI_ERR_NO_MEM, "no shared memory is left for a name");
  auto& made = *reinterpret_cast<Published*>(job.at(at));
  std::uint32_t none = 0;
  // acquire: after who freed it; only one of several gets it
  if (!made.state.compare_exchange_strong(none, 1, std::memory_order_acquire)) return Answer();
  std::snprintf(made.name, sizeof made.name, "%s", name.c_str());
  std::snprintf(made.value, sizeof made.value, "%s", value.c_str());
  made.state.store(2, std::memory_order_release);  // the texts; pairs with find()
  return Answer(value);
}

Result<Answer> ask_memory(memory::Job& job, Ask what, const std::string& name,
                          const std::string& value) {
  if (what == Ask::add) return add(job, name, value);
  const Published* found = find(job, name);
  if (found == nullptr) return Answer();
  if (what == Ask::find) return Answer(found->value);
  if (value != found->value) return Answer();
  job.leave_shared_block(job.find_shared_block(block_of(name)));
  return Answer(value);
}

template <class Done>
void sleep_until(Done&& done) {
  constexpr useconds_t shortest_us = 20, longest_us = 1000;
  for (useconds_t us = shortest_us; !done(); us = std::min(2 * us, longest_us)) usleep(us);
}

Result<Answer> ask_launcher(Rank& rank, Ask what, const std::string& name,
                            const std::string& value) {
  memory::Job& job = *rank.process->job;
  // acquire: pairs with the launcher, which is ready then
  sleep_until([&] { return job.header().takes_orders.load(std::memory_order_acquire) != 0; });
  const std::uint64_t number = take_contexts(rank.engine, 1, {}, true) & ~in_contexts;
  const Result<std::uint64_t> at = memory::give_question(job, number, what, name, value);
  if (!at) return at.err;
  memory::Order& given = memory::order_at(job, at.value);
  // acquire: the answer; pairs with the launcher's
  const auto state = [&given] { return given.state.load(std::memory_order_acquire); };
  sleep_until([&] { return state() != memory::Order::State::given; });
  Answer out;
  if (state() == memory::Order::State::started) out = given.why;
  memory::leave_order(job, at.value);
  return out;
}

}  // namespace

Result<Answer> ask_directory(Rank& rank, Ask what, const std::string& name,
                             const std::string& value) {
  memory::Job& job = *rank.process->job;
  if (job.nodes() > 1 && rank.process->manager != nullptr)
    WEFT_TRY(call_launcher(rank, Meanwhile::sleep));
  return job.header().apart != 0 ? ask_launcher(rank, what, name, value)
                                 : ask_memory(job, what, name, value);
}

}  // namespace weft::world
