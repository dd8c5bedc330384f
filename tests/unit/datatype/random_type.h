// SPDX-License-Identifier: Apache-2.0
//
// Random nested types together with a naive model of them: the list of (displacement, bytes) pieces
// in packed order, made directly from the constructors' definitions in MPI-5.0 §5.1.2.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <random>
#include <stdexcept>
#include <vector>

#include "datatype/api.h"

namespace weft::datatype::test {

struct Piece {
  std::int64_t disp, bytes;
};

/// A type and what it must mean.
struct Modelled {
  const Type* type;
  std::vector<Piece> map;  // packed order
};

/// `n` copies of `of`, `stride` apart, from disp on.
inline void append(std::vector<Piece>& to, const std::vector<Piece>& of, std::int64_t disp,
                   std::int64_t n, std::int64_t stride) {
  for (std::int64_t i = 0; i < n; ++i)
    for (const Piece& p : of) to.push_back({disp + i * stride + p.disp, p.bytes});
}

class RandomTypes {
 public:
  RandomTypes(Context& context, unsigned seed) : context_(context), random_(seed) {}

  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  Modelled basic() {
    static const std::uintptr_t handles[] = {0x243, 0x208, 0x209, 0x214, 0x220, 0x22c, 0x229};
    const Type* t = predefined(handles[pick(0, 6)]);
    if (t->basic == Basic::pair_short_int) return {t, {{0, 2}, {4, 4}}};
    return {t, {{0, t->size}}};
  }

  /// A type of at most `depth` levels; everything made on the way is freed, as a user would.
  Modelled make(int depth) {
    if (depth == 0) return basic();
    Modelled old = make(depth - 1);
    Type* out = nullptr;
    std::vector<Piece> map;
    const std::int64_t ext = old.type->extent;
    const std::int64_t n = pick(0, 9) == 0 ? 0 : pick(1, 5), length = pick(0, 9) == 0 ? 0 : pick(1, 4);
    std::vector<int> lengths, disps;
    std::vector<MPI_Aint> bytes;
    for (std::int64_t i = 0; i < n; ++i) {
      lengths.push_back(static_cast<int>(pick(0, 3)));
      disps.push_back(static_cast<int>(i * pick(4, 6) - pick(0, 2)));
      bytes.push_back(i * 400 + pick(-8, 8));
    }
    switch (pick(0, 9)) {
      case 0:
        expect(create_contiguous(context_, n, *old.type, &out));
        append(map, old.map, 0, n, ext);
        break;
      case 1: {
        const std::int64_t stride = pick(-3, 6);
        expect(create_vector(context_, n, length, stride, *old.type, &out));
        for (std::int64_t i = 0; i < n; ++i) append(map, old.map, i * stride * ext, length, ext);
        break;
      }
      case 2: {
        const std::int64_t stride = pick(-100, 300);
        expect(create_hvector(context_, n, length, stride, *old.type, &out));
        for (std::int64_t i = 0; i < n; ++i) append(map, old.map, i * stride, length, ext);
        break;
      }
      case 3:
        expect(create_indexed(context_, n, lengths.data(), disps.data(), *old.type, &out));
        for (std::size_t i = 0; i < lengths.size(); ++i)
          append(map, old.map, disps[i] * ext, lengths[i], ext);
        break;
      case 4:
        expect(create_hindexed(context_, n, lengths.data(), bytes.data(), *old.type, &out));
        for (std::size_t i = 0; i < lengths.size(); ++i)
          append(map, old.map, bytes[i], lengths[i], ext);
        break;
      case 5:
        expect(create_indexed_block(context_, n, length, disps.data(), *old.type, &out));
        for (const int d : disps) append(map, old.map, d * ext, length, ext);
        break;
      case 6:
        expect(create_hindexed_block(context_, n, length, bytes.data(), *old.type, &out));
        for (const MPI_Aint d : bytes) append(map, old.map, d, length, ext);
        break;
      case 7:
        return make_struct(old, depth);
      case 8:
        expect(create_resized(context_, *old.type, pick(-20, 20), pick(0, 400), &out));
        map = old.map;
        break;
      default:
        return make_array(old);
    }
    give_up(old);
    return {out, map};
  }

  void give_up(const Modelled& m) {
    if (!m.type->predefined) expect(free(*m.type));
  }

 private:
  static void expect(Err e) {
    if (e) throw std::runtime_error(last_error_text(e.cls));
  }

  Modelled make_struct(Modelled first, int depth) {
    std::vector<Modelled> parts = {first};
    for (std::int64_t n = pick(0, 3); n > 0; --n)
      parts.push_back(pick(0, 1) ? first : make(static_cast<int>(pick(0, depth - 1))));
    std::vector<int> lengths;
    std::vector<MPI_Aint> disps;
    std::vector<MPI_Datatype> types;
    std::vector<Piece> map;
    std::int64_t at = 0;
    for (const Modelled& m : parts) {
      lengths.push_back(static_cast<int>(pick(0, 3)));
      disps.push_back(at + pick(0, 16));
      types.push_back(handle(*m.type));
      append(map, m.map, disps.back(), lengths.back(), m.type->extent);
      at = disps.back() + lengths.back() * m.type->extent;
    }
    Type* out = nullptr;
    expect(create_struct(context_, static_cast<std::int64_t>(parts.size()), lengths.data(),
                         disps.data(), types.data(), &out));
    for (std::size_t i = 0; i < parts.size(); ++i)
      if (i == 0 || parts[i].type != first.type) give_up(parts[i]);
    return {out, map};
  }

  Modelled make_array(Modelled old) {
    Type* out = nullptr;
    expect(create_dup(context_, *old.type, &out));
    give_up(old);
    return {out, old.map};
  }

  Context& context_;
  std::mt19937 random_;
};

}  // namespace weft::datatype::test
