// SPDX-License-Identifier: Apache-2.0
// C++: constructors and destructors of globals, inline and template statics, exceptions, RTTI,
// iostream, thread_local, std::thread; each rank with its own libstdc++.
#include <cstdio>
#include <iomanip>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <typeinfo>
#include <vector>

#include "standin.h"

struct Global {
  std::string text = "made by " + std::to_string(t_rank());
  ~Global() { fprintf(stderr, "global of rank %d ends: %s\n", t_rank(), text.c_str()); }
} global;

template <class T>
struct Holder {
  static inline std::vector<T> items;
  static int count;
};
template <class T>
int Holder<T>::count = 1;

inline std::map<int, int>& table() {
  static std::map<int, int> t;
  return t;
}

struct Base {
  virtual ~Base() {}
};
struct Derived : Base {};
struct Trouble : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Local {
  int value = 100 + t_rank();
  ~Local() { fprintf(stderr, "thread_local of rank %d ends: %d\n", t_rank(), value); }
};
thread_local Local local;
thread_local int number = 9;

static bool exceptions(int r) {
  for (int i = 0; i < 200; i++) {
    try {
      if (i % 2) throw Trouble("x" + std::to_string(r));
      throw r;
    } catch (std::runtime_error& e) {
      if (e.what() != "x" + std::to_string(r)) return false;
    } catch (int x) {
      if (x != r) return false;
    }
  }
  try {
    std::vector<int>().at(5);  // thrown inside libstdc++
  } catch (std::out_of_range&) {
    return true;
  }
  return false;
}

int main() {
  const int r = t_rank();
  bool good = global.text == "made by " + std::to_string(r);
  for (int i = 0; i <= r; i++) Holder<int>::items.push_back(i);
  Holder<int>::count += r;
  table()[r] = 1;
  t_barrier();
  good &= Holder<int>::items.size() == static_cast<std::size_t>(r) + 1;
  good &= Holder<int>::count == 1 + r && table().size() == 1;
  good &= exceptions(r);
  Base* b = new Derived;
  good &= dynamic_cast<Derived*>(b) && typeid(*b) == typeid(Derived);

  good &= local.value == 100 + r;
  number += r;
  int seen = 0, fresh = 0;
  std::thread([&] {
    seen = local.value;
    fresh = number;
  }).join();
  good &= seen == 100 + r && fresh == 9 && number == 9 + r;

  std::cout << std::hex << std::setw(4) << 255 << std::dec << std::setprecision(3) << ' ' << 3.14159
            << " rank " << r << std::endl;
  std::ostringstream s;
  s << 1.5 << global.text;
  good &= s.str() == "1.5made by " + std::to_string(r);
  good &= (std::cout.flags() & std::ios::hex) == 0;
  return t_report("cxx", good);
}
