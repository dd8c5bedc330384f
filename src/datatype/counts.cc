// SPDX-License-Identifier: Apache-2.0
//
// From bytes to elements and back (MPI-5.0 §3.2.5, §5.1.11): whole elements by division, the rest
// of a partial one by walking its description.
#include <algorithm>
#include <climits>

#include "datatype/construction.h"

namespace weft::datatype {
namespace {

using std::int64_t;

struct Amount {
  int64_t bytes = 0, elements = 0;
};

Amount measure(const Term& term) {
  if (term.type != nullptr) return {term.type->size, term.type->elements};
  Amount all;
  for (int64_t i = 0; i < term.n; ++i) {
    const Amount one = measure(*term.entries[i].child);
    all.bytes += term.entries[i].count * one.bytes;
    all.elements += term.entries[i].count * one.elements;
  }
  return all;
}

/// Takes from `budget` (bytes or elements) what the beginning of a type consumes of it, and adds up
/// what that is in the other unit. What is left of the budget at the end fits no whole basic
/// element.
class Taker {
 public:
  Taker(bool in_bytes, int64_t budget) : in_bytes_(in_bytes), left(budget) {}

  /// True: all of `term` was taken.
  bool take(const Term& term) {
    if (term.type != nullptr) return take_type(*term.type);
    for (int64_t i = 0; i < term.n; ++i) {
      const Entry& e = term.entries[i];
      const Amount one = measure(*e.child);
      const int64_t cost = in_bytes_ ? one.bytes : one.elements;
      if (cost == 0) continue;
      const int64_t whole = std::min(e.count, left / cost);
      spend(one, whole);
      if (whole < e.count) {
        take(*e.child);
        return false;
      }
    }
    return true;
  }

  bool take_type(const Type& type) {
    if (spend({type.size, type.elements}, 1)) return true;
    if (type.construction != nullptr) return take(type.construction->term);
    if (const PairParts pair = pair_parts(type); pair.value != nullptr) take_type(*pair.value);
    return false;
  }

 private:
  bool spend(const Amount& one, int64_t times) {
    const int64_t cost = times * (in_bytes_ ? one.bytes : one.elements);
    if (cost > left) return false;
    left -= cost;
    other += times * (in_bytes_ ? one.elements : one.bytes);
    return true;
  }

  bool in_bytes_;

 public:
  int64_t left;
  int64_t other = 0;
};

}  // namespace

int as_int(int64_t value) {
  return value > INT_MAX || value < INT_MIN ? MPI_UNDEFINED : static_cast<int>(value);
}

int64_t count_of(const Type& type, int64_t bytes) {
  if (type.size == 0) return bytes == 0 ? 0 : int64_t{MPI_UNDEFINED};
  return bytes % type.size == 0 ? bytes / type.size : int64_t{MPI_UNDEFINED};
}

int64_t elements_of(const Type& type, int64_t bytes) {
  if (type.size == 0) return bytes == 0 ? 0 : int64_t{MPI_UNDEFINED};
  const int64_t whole = bytes / type.size;
  Taker taker(true, bytes - whole * type.size);
  if (taker.left > 0) taker.take_type(type);
  return taker.left == 0 ? whole * type.elements + taker.other : int64_t{MPI_UNDEFINED};
}

int64_t bytes_of_elements(const Type& type, int64_t elements) {
  if (type.elements == 0) return 0;
  const int64_t whole = elements / type.elements;
  Taker taker(false, elements - whole * type.elements);
  if (taker.left > 0) taker.take_type(type);
  return whole * type.size + taker.other;
}

}  // namespace weft::datatype
