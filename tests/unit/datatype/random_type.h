// SPDX-License-Identifier: Apache-2.0
//
// Random nested types together with a naive model of them: pieces (displacement, bytes) in packed
// order and bound markers, made directly from the definitions in MPI-5.0 §5.1 by plain loops.
#pragma once

#include <mpi.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

#include "datatype/api.h"

namespace weft::datatype::test {

inline void expect_ok(Err e) {
  if (e) throw std::runtime_error(last_error_text(e.cls));
}

struct Piece {
  std::int64_t disp, bytes;
};

/// A type map: what §5.1 defines a type to be.
struct Map {
  std::vector<Piece> pieces;           // basic elements in packed order
  std::vector<std::int64_t> lbs, ubs;  // markers
  std::vector<std::int64_t> ends;      // of the old types that are not empty, with their padding
  std::int64_t align = 1;

  /// One copy of `of` at disp.
  void place(const Map& of, std::int64_t disp) {
    for (const Piece& p : of.pieces) pieces.push_back({disp + p.disp, p.bytes});
    for (const std::int64_t m : of.lbs) lbs.push_back(disp + m);
    for (const std::int64_t m : of.ubs) ubs.push_back(disp + m);
    if (of.pieces.empty()) return;
    ends.push_back(disp + of.ub());
    align = std::max(align, of.align);
  }
  void place(const Map& of, std::int64_t disp, std::int64_t n, std::int64_t stride) {
    for (std::int64_t i = 0; i < n; ++i) place(of, disp + i * stride);
  }

  /// Two entries share a byte: legal to send from, not to receive into.
  bool overlaps() const {
    std::vector<Piece> sorted = pieces;
    std::sort(sorted.begin(), sorted.end(),
              [](const Piece& a, const Piece& b) { return a.disp < b.disp; });
    for (std::size_t i = 1; i < sorted.size(); ++i)
      if (sorted[i].disp < sorted[i - 1].disp + sorted[i - 1].bytes) return true;
    return false;
  }
  std::int64_t size() const {
    std::int64_t sum = 0;
    for (const Piece& p : pieces) sum += p.bytes;
    return sum;
  }
  std::int64_t true_lb() const {
    std::int64_t low = pieces.empty() ? 0 : pieces[0].disp;
    for (const Piece& p : pieces) low = std::min(low, p.disp);
    return low;
  }
  std::int64_t true_ub() const {
    std::int64_t high = pieces.empty() ? 0 : pieces[0].disp + pieces[0].bytes;
    for (const Piece& p : pieces) high = std::max(high, p.disp + p.bytes);
    return high;
  }
  std::int64_t lb() const {
    return lbs.empty() ? true_lb() : *std::min_element(lbs.begin(), lbs.end());
  }
  std::int64_t ub() const {
    if (!ubs.empty()) return *std::max_element(ubs.begin(), ubs.end());
    std::int64_t ub = true_ub();
    for (const std::int64_t end : ends) ub = std::max(ub, end);
    while ((ub - lb()) % align != 0) ++ub;
    return ub;
  }
};

/// A type and what it must mean.
struct Modelled {
  const Type* type;
  Map map;
};

class RandomTypes {
 public:
  RandomTypes(Context& context, unsigned seed) : context_(context), random_(seed) {}

  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  /// A type of at most `depth` levels; everything made on the way is freed, as a user would.
  Modelled make(int depth) {
    if (depth == 0) return basic();
    Modelled old = make(depth - 1);
    Modelled made{nullptr, {}};
    switch (pick(0, 6)) {
      case 0:
      case 1:
        made = make_regular(old);
        break;
      case 2:
      case 3:
        made = make_indexed(old);
        break;
      case 4:
        made = make_struct(old, depth);
        break;
      case 5:
        made = make_array(old);
        break;
      default:
        made = make_other(old);
        break;
    }
    give_up(old);
    return made;
  }

  void give_up(const Modelled& m) {
    if (!m.type->predefined) expect_ok(free(*m.type));
  }

 private:
  Modelled basic() {
    static const std::uintptr_t handles[] = {0x243, 0x208, 0x209, 0x214, 0x220, 0x22c, 0x229};
    const Type* t = predefined(handles[pick(0, 6)]);
    Map map;
    if (t->basic == Basic::pair_short_int)
      map.pieces = {{0, 2}, {4, 4}};
    else if (t->basic == Basic::pair_double_int)
      map.pieces = {{0, 8}, {8, 4}};
    else
      map.pieces = {{0, t->size}};
    map.align = t->align;
    return {t, map};
  }

  std::int64_t pick_count() { return pick(0, 9) == 0 ? 0 : pick(1, 5); }

  Modelled make_regular(const Modelled& old) {
    Type* out = nullptr;
    Map map;
    const std::int64_t ext = old.type->extent, n = pick_count(), length = pick_count();
    switch (pick(0, 2)) {
      case 0:
        expect_ok(create_contiguous(context_, n, *old.type, &out));
        map.place(old.map, 0, n, ext);
        break;
      case 1: {
        const std::int64_t stride = pick(-3, 6);
        expect_ok(create_vector(context_, n, length, stride, *old.type, &out));
        for (std::int64_t i = 0; i < n; ++i) map.place(old.map, i * stride * ext, length, ext);
        break;
      }
      default: {
        const std::int64_t stride = pick(-100, 300);
        expect_ok(create_hvector(context_, n, length, stride, *old.type, &out));
        for (std::int64_t i = 0; i < n; ++i) map.place(old.map, i * stride, length, ext);
      }
    }
    return {out, map};
  }

  Modelled make_indexed(const Modelled& old) {
    Type* out = nullptr;
    Map map;
    const std::int64_t ext = old.type->extent, n = pick(0, 12), length = pick_count();
    std::vector<int> lengths, disps;
    std::vector<MPI_Aint> bytes;
    for (std::int64_t i = 0; i < n; ++i) {
      lengths.push_back(static_cast<int>(pick(0, 3)));
      disps.push_back(static_cast<int>(i * pick(4, 6) - pick(0, 2)));
      bytes.push_back(i * 400 + pick(-8, 8));
    }
    const int which = static_cast<int>(pick(0, 3));
    if (which == 0)
      expect_ok(create_indexed(context_, n, lengths.data(), disps.data(), *old.type, &out));
    else if (which == 1)
      expect_ok(create_hindexed(context_, n, lengths.data(), bytes.data(), *old.type, &out));
    else if (which == 2)
      expect_ok(create_indexed_block(context_, n, length, disps.data(), *old.type, &out));
    else
      expect_ok(create_hindexed_block(context_, n, length, bytes.data(), *old.type, &out));
    for (std::size_t i = 0; i < lengths.size(); ++i)
      map.place(old.map, which % 2 == 0 ? disps[i] * ext : bytes[i],
                which < 2 ? lengths[i] : length, ext);
    return {out, map};
  }

  Modelled make_struct(const Modelled& first, int depth) {
    std::vector<Modelled> parts = {first};
    for (std::int64_t n = pick(0, 3); n > 0; --n)
      parts.push_back(pick(0, 1) ? first : make(static_cast<int>(pick(0, depth - 1))));
    std::vector<int> lengths;
    std::vector<MPI_Aint> disps;
    std::vector<MPI_Datatype> types;
    Map map;
    std::int64_t at = 0;
    for (const Modelled& m : parts) {
      lengths.push_back(static_cast<int>(pick(0, 3)));
      disps.push_back(at + pick(0, 16));
      types.push_back(handle(*m.type));
      map.place(m.map, disps.back(), lengths.back(), m.type->extent);
      at = disps.back() + lengths.back() * m.type->extent;
    }
    Type* out = nullptr;
    expect_ok(create_struct(context_, static_cast<std::int64_t>(parts.size()), lengths.data(),
                            disps.data(), types.data(), &out));
    for (std::size_t i = 1; i < parts.size(); ++i)
      if (parts[i].type != first.type) give_up(parts[i]);
    return {out, map};
  }

  /// Subarray or distributed array of up to 3 dimensions: every element of the whole array is
  /// visited in storage order and placed if the definition says that it belongs.
  Modelled make_array(const Modelled& old) {
    const int nd = static_cast<int>(pick(1, 3));
    const int order = pick(0, 1) ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    int sizes[3], sub[3], start[3], dist[3], arg[3], procs[3], coord[3];
    int size = 1, rank = 0;
    for (int i = 0; i < nd; ++i) {
      sizes[i] = static_cast<int>(pick(1, 5));
      sub[i] = static_cast<int>(pick(1, sizes[i]));
      start[i] = static_cast<int>(pick(0, sizes[i] - sub[i]));
      procs[i] = static_cast<int>(pick(1, 3));
      coord[i] = static_cast<int>(pick(0, procs[i] - 1));
      const int kind = static_cast<int>(pick(0, 2));
      dist[i] = kind == 0 ? MPI_DISTRIBUTE_BLOCK : MPI_DISTRIBUTE_CYCLIC;
      arg[i] = pick(0, 1) ? MPI_DISTRIBUTE_DFLT_DARG : static_cast<int>(pick(1, 3));
      if (kind == 0 && arg[i] * procs[i] < sizes[i]) arg[i] = MPI_DISTRIBUTE_DFLT_DARG;
      if (procs[i] == 1 && kind == 2) dist[i] = MPI_DISTRIBUTE_NONE;
      size *= procs[i];
      rank = rank * procs[i] + coord[i];
    }
    const bool box = pick(0, 1) == 0;
    Type* out = nullptr;
    if (box)
      expect_ok(create_subarray(context_, nd, {sizes, sub, start}, order, *old.type, &out));
    else
      expect_ok(create_darray(context_, {size, rank, nd, sizes, dist, arg, procs, order}, *old.type,
                              &out));
    const auto mine = [&](int i, int x) {
      if (box) return x >= start[i] && x < start[i] + sub[i];
      if (dist[i] == MPI_DISTRIBUTE_NONE) return true;
      int block = arg[i];
      if (block == MPI_DISTRIBUTE_DFLT_DARG)
        block = dist[i] == MPI_DISTRIBUTE_CYCLIC ? 1 : (sizes[i] + procs[i] - 1) / procs[i];
      return x / block % procs[i] == coord[i];
    };
    Map map;
    int all = 1;
    for (int i = 0; i < nd; ++i) all *= sizes[i];
    for (int at = 0; at < all; ++at) {
      bool in = true;
      for (int n = 0, rest = at; n < nd; ++n) {
        const int i = order == MPI_ORDER_C ? nd - 1 - n : n;
        in = in && mine(i, rest % sizes[i]);
        rest /= sizes[i];
      }
      if (in) map.place(old.map, at * old.type->extent);
    }
    map.lbs = {0};
    map.ubs = {all * old.type->extent};
    return {out, map};
  }

  Modelled make_other(const Modelled& old) {
    Type* out = nullptr;
    if (pick(0, 1)) {
      expect_ok(create_dup(context_, *old.type, &out));
      return {out, old.map};
    }
    const std::int64_t lb = pick(-20, 20), extent = pick(0, 400);
    expect_ok(create_resized(context_, *old.type, lb, extent, &out));
    Map map = old.map;
    map.lbs = {lb};
    map.ubs = {lb + extent};
    return {out, map};
  }

  Context& context_;
  std::mt19937 random_;
};

}  // namespace weft::datatype::test
