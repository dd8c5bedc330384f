// SPDX-License-Identifier: Apache-2.0
// What C++ has once per process, each rank must have once: streams, globals with constructors and
// destructors, exceptions, thread_local objects, once flags, locales. Prints one line per rank.
#include <mpi.h>

#include <exception>
#include <iostream>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

int built = 0, ended_threads = 0;

struct Global {
  std::string text{"a global string that is too long for its own object"};
  Global() { built++; }
  ~Global() { std::cout << "global ends, threads " << ended_threads << '\n'; }
} global;

struct PerThread {
  std::vector<int> values = std::vector<int>(10, 3);
  ~PerThread() { ended_threads += values[0] == 4; }
};
thread_local PerThread per_thread;

struct Base {
  virtual ~Base() = default;
};
struct Derived : Base {};

int thrown_and_caught(int rank) {
  std::exception_ptr kept;
  try {
    try {
      throw std::out_of_range(std::to_string(rank));
    } catch (...) {
      kept = std::current_exception();
      throw;
    }
  } catch (const std::logic_error& e) {
    if (e.what() != std::to_string(rank)) return 0;
  }
  try {
    std::rethrow_exception(kept);
  } catch (const std::out_of_range&) {
  }
  try {
    (void)std::vector<int>(3).at(7);  // thrown inside the library
  } catch (const std::exception&) {
    return std::uncaught_exceptions() == 0;
  }
  return 0;
}

std::once_flag once;

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank, calls = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 2; i++) std::call_once(once, [&] { calls++; });
  std::thread([] { per_thread.values[0] = 4; }).join();
  Derived derived;
  Base* base = &derived;
  std::ostringstream text;
  text << "rank " << rank << ' ' << 1.5 << ' ' << std::boolalpha
       << (dynamic_cast<Derived*>(base) == base);
  std::string word;
  std::istringstream(text.str()) >> word;
  const bool good = built == 1 && calls == 1 && thrown_and_caught(rank) &&
                    per_thread.values[0] == 3 && global.text.size() > 40 && word == "rank";
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  std::cout << text.str() << (good ? " good" : " bad") << std::endl;
  return good ? 0 : 1;
}
