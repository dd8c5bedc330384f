// SPDX-License-Identifier: Apache-2.0
//
// weft-threads-simulated PROGRAM [name=value ...]: one run of a program of several threads on a
// declared machine, as a line of JSON. weft is set up by its own variables (WEFT_SYNC_LOCK, ...).
// Two ranks as threads of this process, each on its half of the machine's cores, a thread a core.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <string_view>

#include "memory/job.h"
#include "programs.h"
#include "simulation.h"
#include "topo/slices.h"
#include "topo/table.h"
#include "weft/host.h"
#include "world/rank.h"

namespace weft::simulator {
namespace {

constexpr int ranks = 2;

[[noreturn]] void give_up(const std::string& why) {
  std::fprintf(stderr, "weft-threads-simulated: %s\n", why.c_str());
  std::exit(2);
}

struct Options {
  std::string program;
  std::string machine = "pack:4 numa:2 l3:1 core:9 pu:1";
  Work work;
  int window = 64;
};

int number(const std::string& text) {
  char* end = nullptr;
  const long value = std::strtol(text.c_str(), &end, 10);
  if (text.empty() || *end != 0 || value < 0) give_up("'" + text + "' is no number");
  return static_cast<int>(value);
}

Options read_options(int argc, char** argv) {
  if (argc < 2)
    give_up(
        "PROGRAM [machine=SYNTHETIC] [threads=N] [bytes=N] [rounds=N] [window=N]; programs: "
        "latency, rate, sections, handover (threads=core), handover-in-kernel");
  Options out;
  out.program = argv[1];
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    const auto at = word.find('=');
    if (at == word.npos) give_up("'" + word + "' is no name=value");
    const std::string name = word.substr(0, at), value = word.substr(at + 1);
    if (name == "machine")
      out.machine = value;
    else if (name == "threads")
      out.work.threads = number(value);
    else if (name == "bytes")
      out.work.bytes = number(value);
    else if (name == "rounds")
      out.work.rounds = number(value);
    else if (name == "window")
      out.window = number(value);
    else
      give_up("no option is called '" + name + "'");
  }
  return out;
}

/// What mpiexec would have made: a job of two ranks as threads on this machine.
void make_job(const Machine& machine) {
  const auto made = memory::Job::create(ranks, machine.cores(), Params::from_env(false));
  if (made.err) give_up("cannot make the job's memory");
  memory::Job& job = *made.value;
  job.header().watched = 1;  // nobody may look for hangs by the real clock
  static_assert(sizeof(model::Parameters) <= memory::price_bytes);
  std::memcpy(&job.header().prices, &model::built_in(), sizeof(model::Parameters));
  topo::fill_table(machine.topology(), topo::slices(machine.topology(), ranks),
                   job.hierarchy_table());
  for (int r = 0; r < ranks; ++r) job.entry(r).app_size = ranks;
  const std::string text = std::to_string(job.fd()) + ",0," + std::to_string(ranks);
  setenv("WEFT_JOB", text.c_str(), 1);
  for (int r = 0; r < ranks; ++r) {
    weft_host_attach(r);
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &provided);
  }
}

Program make_program(const Options& o, std::vector<int>& order) {
  if (o.program == "latency") return latency(o.work);
  if (o.program == "rate") return stream(o.work, o.window);
  if (o.program == "sections") return critical_sections(o.work, order);
  if (o.program == "handover") return handover(o.work, false);
  if (o.program == "handover-in-kernel") return handover(o.work, true);
  give_up("no program is called '" + o.program + "'");
}

double run(Simulation& s, const Program& program) {
  std::mt19937 chance(1);  // threads do not begin at the same moment
  std::uniform_real_distribution<double> start(0, 1000);
  const int half = s.machine().cores() / ranks;
  for (const Thread& t : program.threads) {
    if (t.core >= half && t.rank > 0) give_up("more threads than half of the cores");
    Fiber& f = s.fibers().add(t.rank, t.rank * half + t.core, start(chance), t.body);
    weft_host_attach(t.rank);
    f.rank_of_library = world::this_thread_rank;
  }
  if (!s.fibers().run()) give_up("deadlock: threads sleep and nobody can wake them");
  double end = 0;
  for (const auto& f : s.fibers().all()) end = std::max(end, f->now_ns);
  return end;
}

void print_counters(int rank, double messages) {
  weft_host_attach(rank);
  const Counters all = world::current_rank()->all_counters();
  std::printf("{");
  const char* separator = "";
  for (const CounterDef& def : counter_table) {
    if (def.elements != 1 || *def.of(all) == 0) continue;
    const double per = def.is_mark() ? 1 : messages;
    std::printf("%s\"%s\": %.6g", separator, def.name, static_cast<double>(*def.of(all)) / per);
    separator = ", ";
  }
  std::printf("}");
}

void print_moves(const Simulation& s, int rank, double messages) {
  constexpr const char* names[phases] = {"outside", "issue", "wait"};
  std::printf("{");
  for (int phase = 0; phase < phases; ++phase) {
    std::printf("%s\"%s\": {", phase > 0 ? ", " : "", names[phase]);
    const char* separator = "";
    for (int l = s.machine().levels() - 1; l >= 0; --l) {
      const auto count =
          s.moves(rank)[static_cast<std::size_t>(phase)][static_cast<std::size_t>(l)];
      if (count == 0) continue;
      std::printf("%s\"%s\": %.6g", separator, s.machine().name(l).c_str(),
                  static_cast<double>(count) / messages);
      separator = ", ";
    }
    std::printf("}");
  }
  std::printf("}");
}

void print_order(const std::vector<int>& order) {
  std::printf(", \"order\": [");
  for (std::size_t i = 0; i < order.size(); ++i) std::printf("%s%d", i > 0 ? ", " : "", order[i]);
  std::printf("]");
}

}  // namespace

int simulate(int argc, char** argv) {
  const Options o = read_options(argc, argv);
  const auto machine = Machine::declare(o.machine);
  if (machine.err) give_up("hwloc does not know the machine '" + o.machine + "'");
  Simulation simulation(machine.value);
  make_job(machine.value);
  std::vector<int> order;
  const Program program = make_program(o, order);
  const double end = run(simulation, program);
  std::printf(
      "{\"program\": \"%s\", \"machine\": \"%s\", \"cores\": %d, \"threads\": %d, "
      "\"bytes\": %d, \"messages\": %.0f, \"ns\": %.6g, \"us\": %.6g",
      o.program.c_str(), o.machine.c_str(), machine.value.cores(), o.work.threads, o.work.bytes,
      program.messages, end, end * program.per_time / program.messages / 1e3);
  for (int r = 0; r < ranks; ++r) {
    std::printf(", \"rank %d\": {\"counters\": ", r);
    print_counters(r, program.messages);
    double in_calls = 0;
    for (const auto& f : simulation.fibers().all()) in_calls += f->rank == r ? f->in_calls_ns : 0;
    std::printf(", \"in_calls_ns\": %.6g, \"lines\": ", in_calls / program.messages);
    print_moves(simulation, r, program.messages);
    std::printf("}");
  }
  if (!order.empty()) print_order(order);
  std::printf("}\n");
  std::fflush(stdout);
  _exit(0);  // the ranks never finalize
}

}  // namespace weft::simulator

int main(int argc, char** argv) {
  return weft::simulator::simulate(argc, argv);
}
