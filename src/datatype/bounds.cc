// SPDX-License-Identifier: Apache-2.0
//
// Sizes and bounds of a type from its description (MPI-5.0 §5.1, §5.1.6-§5.1.8). The bounds of a
// type that was resized somewhere inside are those of its markers; otherwise they are those of its
// data, the upper one rounded up so that the extent is a multiple of the largest alignment. Padding
// that an old type has at its end stays part of it, also where the new type puts it at an odd
// place: §5.1.6 read to the letter would drop it there, but every library keeps it, and who
// rebuilds a type from its contents counts on old types that fit in.
#include "datatype/construction.h"

namespace weft::datatype {
namespace {

using std::int64_t;

struct Bounds {
  int64_t size = 0, elements = 0;
  int64_t true_lb = 0, true_ub = 0;  // of the data, if size > 0
  int64_t lb = 0, ub = 0;            // of the markers, or of the data and its types' padding
  bool marked_lb = false, marked_ub = false;
  std::int32_t align = 1;
  Basic basic = Basic::none;
  bool mixed = false;  // data of several basic types, or of one without a Basic
  bool overflow = false;
};

void add(Bounds& b, int64_t& to, int64_t what) {
  b.overflow |= __builtin_add_overflow(to, what, &to);
}
void subtract(Bounds& b, int64_t& from, int64_t what) {
  b.overflow |= __builtin_sub_overflow(from, what, &from);
}
void multiply(Bounds& b, int64_t& to, int64_t by) {
  b.overflow |= __builtin_mul_overflow(to, by, &to);
}

Bounds of_type(const Type& t) {
  Bounds b;
  b.size = t.size;
  b.elements = t.elements;
  b.true_lb = t.true_lb;
  b.true_ub = t.true_lb + t.true_extent;
  b.marked_lb = t.marked_lb;
  b.marked_ub = t.marked_ub;
  b.lb = t.lb;
  b.ub = t.ub();
  b.align = t.align;
  b.basic = t.basic;
  b.mixed = t.size > 0 && t.basic == Basic::none;
  return b;
}

/// The child's bounds, `count` times from disp on.
Bounds repeated(Bounds b, const Entry& e) {
  if (e.count == 0) return {};
  multiply(b, b.size, e.count);
  multiply(b, b.elements, e.count);
  int64_t span = e.count - 1;
  multiply(b, span, e.stride);
  add(b, b.true_lb, e.disp);
  add(b, b.true_ub, e.disp);
  if (b.marked_lb) add(b, b.lb, e.disp);
  add(b, b.ub, e.disp);
  add(b, span < 0 ? b.true_lb : b.true_ub, span);
  if (b.marked_lb && span < 0) add(b, b.lb, span);
  if (span > 0) add(b, b.ub, span);
  return b;
}

void merge(Bounds& all, const Bounds& b) {
  all.overflow |= b.overflow;
  if (b.size > 0) {
    all.true_lb = all.size > 0 && all.true_lb < b.true_lb ? all.true_lb : b.true_lb;
    all.true_ub = all.size > 0 && all.true_ub > b.true_ub ? all.true_ub : b.true_ub;
    all.mixed |= b.mixed || (all.size > 0 && all.basic != b.basic);
    all.basic = b.basic;
    all.align = all.align > b.align ? all.align : b.align;
  }
  if (b.marked_lb) {
    all.lb = all.marked_lb && all.lb < b.lb ? all.lb : b.lb;
    all.marked_lb = true;
  }
  // A marker outranks data; among equals the highest counts.
  const int had = all.marked_ub ? 2 : all.size > 0, has = b.marked_ub ? 2 : b.size > 0;
  if (has > had || (has == had && has > 0 && b.ub > all.ub)) all.ub = b.ub;
  all.marked_ub |= b.marked_ub;
  add(all, all.size, b.size);
  add(all, all.elements, b.elements);
}

Bounds of_term(const Term& term) {
  if (term.type != nullptr) return of_type(*term.type);
  Bounds all;
  const Term* last = nullptr;
  Bounds child;
  for (int64_t i = 0; i < term.n; ++i) {
    const Entry& e = term.entries[i];
    if (e.child != last) child = of_term(*e.child);
    last = e.child;
    merge(all, repeated(child, e));
  }
  return all;
}

}  // namespace

Err compute_bounds(Type& type) {
  Bounds b = of_term(type.construction->term);
  type.size = b.size;
  type.elements = b.elements;
  type.align = b.align;
  type.basic = b.mixed ? Basic::none : b.basic;
  if (b.size > 0) {
    type.true_lb = b.true_lb;
    type.true_extent = b.true_ub;
    subtract(b, type.true_extent, b.true_lb);
  }
  if (!type.marked_lb) {
    type.marked_lb = b.marked_lb;
    type.lb = b.marked_lb ? b.lb : type.true_lb;
  }
  if (!type.marked_ub) {
    type.marked_ub = b.marked_ub;
    int64_t extent = b.ub;
    subtract(b, extent, type.lb);
    if (!b.marked_ub && b.size > 0) {
      const int64_t over = extent % b.align;
      if (over != 0) add(b, extent, b.align - over);
    }
    type.extent = extent;
  }
  if (!b.overflow) return ok;
  return fail(MPI_ERR_COUNT,
              "the new type's size or bounds do not fit in 64 bits: counts, block "
              "lengths or displacements are too large");
}

}  // namespace weft::datatype
