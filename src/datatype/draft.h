// SPDX-License-Identifier: Apache-2.0
//
// What all constructors share: a Draft collects arguments and description of a new type, finish()
// computes its bounds and makes it a Type, or throws everything away with an error. Private to this
// folder.
#pragma once

#include <new>

#include "datatype/construction.h"

namespace weft::datatype {

using std::int64_t;

/// Bounds that are set instead of computed.
struct Marks {
  int64_t lb = 0, extent = 0;
  bool set = false;
};

/// A type being made; destroyed again unless finish() succeeds.
class Draft {
 public:
  Draft(Maker by, int combiner) : by_(by), c_(new Construction) {
    c_->context = &by.context;
    c_->combiner = combiner;
    c_->large = by.large;
  }
  ~Draft() { delete c_; }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;

  Construction& operator*() { return *c_; }
  Construction* operator->() { return c_; }

  /// The component itself, as a term.
  const Term* component(const Type& type) {
    c_->types.push_back(&type);
    return new (c_->arena.make<Term>(1)) Term{.type = &type};
  }
  const Term* entries(const Entry* list, int64_t n) {
    return new (c_->arena.make<Term>(1)) Term{.n = n, .entries = list};
  }
  /// Nothing for a count of 0: then it does not matter whether 64 bits hold one child's bytes.
  const Term* repeat(const Term* child, int64_t count, int64_t stride, int64_t disp = 0) {
    if (count == 0) return entries(nullptr, 0);
    return entries(new (c_->arena.make<Entry>(1)) Entry{disp, count, stride, child}, 1);
  }

  Err finish(const Term* term, Type** out, const Marks& marks = {}) {
    Type* type = by_.context.types.create();
    c_->term = *term;
    type->construction = c_;
    type->marked_lb = type->marked_ub = marks.set;
    type->lb = marks.lb;
    type->extent = marks.extent;
    if (Err e = compute_bounds(*type)) {
      by_.context.types.destroy(type);
      return e;
    }
    for (const Type* t : c_->types) retain(*t);
    c_ = nullptr;
    *out = type;
    return ok;
  }

 private:
  Maker by_;
  Construction* c_;
};

inline Err check_count(const char* what, int64_t value) {
  if (value >= 0) return ok;
  return fail(MPI_ERR_COUNT, "%s is %lld; it must be 0 or more", what,
              static_cast<long long>(value));
}

inline Err check_array(const char* what, int64_t count, const void* data) {
  WEFT_TRY(check_count("count", count));
  if (count == 0 || data != nullptr) return ok;
  return fail(MPI_ERR_ARG, "count is %lld, but the array of %s is a null pointer",
              static_cast<long long>(count), what);
}

}  // namespace weft::datatype
