// SPDX-License-Identifier: Apache-2.0
//
// MPI_Comm_spawn and its siblings (MPI-5.0 §11.8). The root gives the launcher an order
// (memory/spawning.h) and tells the others what came of it. Numbers of the new MPI_COMM_WORLD and
// of the way between both are the root's to give. The new ranks find all of that by their entries,
// so nobody waits until they have come to MPI_Init: their mailboxes are there.
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "memory/spawning.h"
#include "object/group.h"
#include "object/info.h"
#include "object/store.h"
#include "world/attendant.h"
#include "world/comm_agree.h"
#include "world/comms.h"
#include "world/connected.h"
#include "world/rank.h"

namespace weft::world {
namespace {

using memory::Order;

constexpr int most_ranks = 65536;  // of a job

/// What the root tells the others.
struct Answer {
  std::int32_t error = MPI_SUCCESS;
  std::int32_t first = 0, ranks = 0;
  std::int32_t codes = 0;  // for the caller's array
  std::uint64_t link = 0;
  char why[memory::message_bytes] = "";
};

/// Of the largest number up to `most` that the info key `soft` allows: numbers and ranges
/// first:last or first:last:stride, separated by commas.
Result<int> soft_number(const std::string& soft, int most) {
  int best = 0;
  for (std::size_t at = 0; at <= soft.size();) {
    const std::size_t end = std::min(soft.find(',', at), soft.size());
    int n[3] = {0, 0, 1};
    char behind = 0;
    const std::string range = soft.substr(at, end - at);
    const int got = std::sscanf(range.c_str(), " %d : %d : %d %c", &n[0], &n[1], &n[2], &behind);
    if (got < 1 || got > 3 || n[2] == 0 || n[0] < 0)
      return fail(MPI_ERR_INFO_VALUE,
                  "info key soft is \"%s\"; expected numbers and ranges a:b or a:b:c, separated by "
                  "commas",
                  soft.c_str());
    if (got == 1) n[1] = n[0];
    for (std::int64_t i = n[0]; n[2] > 0 ? i <= std::min(n[1], most) : i >= n[1]; i += n[2])
      if (i <= most) best = std::max(best, static_cast<int>(i));
    at = end + 1;
  }
  return best;
}

Err check_mode(const std::string& mode) {
  if (mode.empty() || mode == "process" || mode == "thread" || mode == "auto") return ok;
  return fail(MPI_ERR_INFO_VALUE, "info key weft_ranks is \"%s\"; expected process, thread or auto",
              mode.c_str());
}

Result<memory::Command> command_of(const Program& program) {
  memory::Command out;
  if (*program.command == 0)
    return fail(MPI_ERR_ARG, "the command is empty; expected the name of a program");
  out.ranks = program.maxprocs;
  out.argv.emplace_back(program.command);
  for (char** word = program.argv; word != MPI_ARGV_NULL && *word != nullptr; ++word)
    out.argv.emplace_back(*word);
  const auto value = [&](const char* key) {
    const std::string* found = object::info_find(program.info, key);
    return found != nullptr ? *found : std::string();
  };
  out.directory = value("wdir");
  out.path = value("path");
  out.mode = value("weft_ranks");
  out.hosts = value("host");
  WEFT_TRY(check_mode(out.mode));
  if (const std::string soft = value("soft"); !soft.empty()) {
    const Result<int> ranks = soft_number(soft, program.maxprocs);
    if (!ranks) return ranks.err;
    out.ranks = ranks.value;
  }
  return out;
}

Err check_job(Comm& comm) {
  Rank& rank = *comm.owner;
  if (comm.spans_jobs())
    return fail(MPI_ERR_UNSUPPORTED_OPERATION,
                "comm has processes of another job, which cannot spawn together with those of this "
                "one; spawn over a communicator of one job, then MPI_Intercomm_create");
  const sync::Away away(comm.engine->lock);  // one context's lock at a time
  const pt2pt::Inside inside(rank.engine);
  if (const memory::Job& job = *rank.process->job; job.places() == job.size())
    return fail(MPI_ERR_SPAWN,
                "this job has no places for more ranks; set WEFT_SPAWN_PLACES=NUMBER, or a larger "
                "limit of address space, where it is started");
  return call_launcher(rank, Meanwhile::progress);
}

/// The root: give the order and await what came of it.
Err order(Comm& comm, const std::vector<memory::Command>& commands, Answer& answer) {
  pt2pt::Engine& e = *comm.engine;
  memory::Job& job = *e.job;
  // The new ranks have one communication context for what they have not agreed about.
  const std::uint64_t world = take_contexts(e, 2, {}, true) & ~in_contexts;
  answer.link = world + contexts_per_comm;
  const Result<std::uint64_t> at = memory::give_order(
      job, {world, world, answer.link, comm.owner->world_rank, comm.group->members, commands});
  if (!at) return at.err;
  Order& given = memory::order_at(job, at.value);
  // acquire: the answer; pairs with the launcher's
  const auto is_answered = [&] {
    return given.state.load(std::memory_order_acquire) != Order::State::given;
  };
  look_until(e, [&] { return is_answered() || launcher_has_ended(job); });
  if (!is_answered()) return fail(MPI_ERR_SPAWN, "the mpiexec that this job has started has ended");
  answer.first = given.first;
  answer.ranks = given.ranks;
  const bool is_refused = given.state.load(std::memory_order_acquire) == Order::State::refused;
  const Err e_refused = is_refused ? fail(MPI_ERR_SPAWN, "%s", given.why) : ok;
  memory::leave_order(job, at.value);
  return e_refused;
}

/// The root. `codes`: one for each process that was asked for.
Err ask(Comm& comm, std::span<const Program> programs, Answer& answer, std::vector<int>& codes) {
  std::vector<memory::Command> commands;
  std::int64_t sum = 0;
  for (const Program& program : programs) {
    sum += program.maxprocs;
    if (program.maxprocs < 1 || sum > most_ranks)
      return fail(MPI_ERR_ARG, "maxprocs is %d; expected at least 1, and at most %d in all",
                  program.maxprocs, most_ranks);
  }
  codes.assign(static_cast<std::size_t>(sum), MPI_ERR_SPAWN);
  std::int64_t behind = 0;
  std::vector<int> done = codes;
  for (const Program& program : programs) {
    Result<memory::Command> command = command_of(program);
    if (!command) return command.err;
    std::fill_n(done.begin() + behind, command.value.ranks, MPI_SUCCESS);
    behind += program.maxprocs;
    if (command.value.ranks > 0) commands.push_back(std::move(command.value));
  }
  if (commands.empty())
    return fail(MPI_ERR_SPAWN, "info key soft allows no number of processes but 0");
  WEFT_TRY(check_job(comm));
  WEFT_TRY(order(comm, commands, answer));
  codes = done;
  return ok;
}

}  // namespace

Err comm_spawn(Comm& comm, std::span<const Program> programs, int root, MPI_Comm* out,
               int* errcodes) {
  *out = MPI_COMM_NULL;
  const int tag = construction_tag(comm);
  View view(comm, Among::all, comm.group->members);
  Answer answer;
  std::vector<int> codes;
  if (view.rank() == root) {
    const Err e = ask(comm, programs, answer, codes);
    answer.error = e.cls;
    answer.codes = static_cast<std::int32_t>(codes.size());
    if (e) std::snprintf(answer.why, sizeof answer.why, "%s", last_error_text(e.cls));
  }
  WEFT_TRY(view.bcast(&answer, sizeof answer, tag, root));
  codes.resize(static_cast<std::size_t>(answer.codes));
  if (answer.codes > 0) WEFT_TRY(view.bcast(codes.data(), codes.size() * sizeof(int), tag, root));
  if (errcodes != MPI_ERRCODES_IGNORE) std::copy(codes.begin(), codes.end(), errcodes);
  if (answer.error != MPI_SUCCESS) return fail(answer.error, "%s", answer.why);
  Members children(static_cast<std::size_t>(answer.ranks));
  for (std::int32_t i = 0; i < answer.ranks; ++i)
    children[static_cast<std::size_t>(i)] = answer.first + i;
  meet_members(comm, children);
  Comm* made = skeleton(comm);
  complete(*made, comm.group->members, std::move(children), answer.link);
  *out = object::handle_of(*made);
  return ok;
}

Err comm_spawn_multiple(Comm& comm, const Programs& all, int root, MPI_Comm* out, int* errcodes) {
  std::vector<Program> programs;
  if (comm.rank == root)
    for (int i = 0; i < all.count; ++i)
      programs.push_back({all.commands[i], all.argvs != MPI_ARGVS_NULL ? all.argvs[i] : nullptr,
                          all.maxprocs[i], comm.store->info(all.infos[i])});
  return comm_spawn(comm, programs, root, out, errcodes);
}

Err comm_get_parent(Rank& rank, MPI_Comm* out) {
  *out = rank.parent != nullptr ? object::handle_of(*rank.parent) : MPI_COMM_NULL;
  return ok;
}

}  // namespace weft::world
