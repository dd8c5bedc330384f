// SPDX-License-Identifier: Apache-2.0
//
// Constructors: bounds that the standard spells out, what is told back by envelope and contents,
// lifetimes, numbers beyond 32 bits, and the errors of wrong arguments.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "datatype/api.h"

namespace weft::datatype::test {
namespace {

using std::int64_t;

const Type& basic(MPI_Datatype h) {
  return *from_handle(h);
}

class Construct : public testing::Test {
 protected:
  /// Freed at the end of the test.
  Type* keep(Type* t) {
    made_.push_back(t);
    return t;
  }
  ~Construct() override {
    for (Type* t : made_) EXPECT_FALSE(free(*t));
    EXPECT_EQ(context.types.live(), 0u);
  }
  Context context;
  Type* t = nullptr;

 private:
  std::vector<Type*> made_;
};

TEST_F(Construct, StructIsPaddedToItsAlignment) {
  const int lengths[] = {1, 1};
  const MPI_Aint disps[] = {0, 8};
  const MPI_Datatype types[] = {MPI_DOUBLE, MPI_CHAR};
  ASSERT_FALSE(create_struct(context, 2, lengths, disps, types, &t));
  keep(t);
  EXPECT_EQ(t->size, 9);
  EXPECT_EQ(t->extent, 16);
  EXPECT_EQ(t->true_extent, 9);
  EXPECT_EQ(t->elements, 2);
  EXPECT_EQ(t->basic, Basic::none);
}

TEST_F(Construct, MarkersOfAComponentSetTheBounds) {
  Type *wide = nullptr, *both = nullptr;
  ASSERT_FALSE(create_resized(context, basic(MPI_INT), -4, 12, &wide));
  keep(wide);
  EXPECT_EQ(wide->lb, -4);
  EXPECT_EQ(wide->extent, 12);
  EXPECT_EQ(wide->true_lb, 0);
  EXPECT_EQ(wide->true_extent, 4);
  const int lengths[] = {1, 1};
  const MPI_Aint disps[] = {100, 0};
  const MPI_Datatype types[] = {handle(*wide), MPI_DOUBLE};
  ASSERT_FALSE(create_struct(context, 2, lengths, disps, types, &both));
  keep(both);
  EXPECT_EQ(both->lb, 96);
  EXPECT_EQ(both->ub(), 108);
  EXPECT_EQ(both->true_lb, 0);
  EXPECT_EQ(both->true_extent, 104);
}

TEST_F(Construct, NegativeStrideReachesBelowZero) {
  ASSERT_FALSE(create_vector(context, 3, 2, -4, basic(MPI_INT), &t));
  keep(t);
  EXPECT_EQ(t->lb, -32);
  EXPECT_EQ(t->extent, 40);
}

TEST_F(Construct, EmptyTypesHaveNoExtent) {
  ASSERT_FALSE(create_contiguous(context, 0, basic(MPI_INT), &t));
  keep(t);
  commit(*t);
  EXPECT_EQ(t->size, 0);
  EXPECT_EQ(t->extent, 0);
  EXPECT_TRUE(t->dense);
  EXPECT_EQ(pack({nullptr, 5, t}, 0, nullptr, 100), 0);
  Type* s = nullptr;
  ASSERT_FALSE(create_struct(context, 0, Numbers{}, Numbers{}, nullptr, &s));
  keep(s);
  EXPECT_EQ(s->extent, 0);
}

TEST_F(Construct, RecognisesDenseTypes) {
  const int sizes[] = {4, 6}, sub[] = {4, 6}, start[] = {0, 0};
  ASSERT_FALSE(create_subarray(context, 2, {sizes, sub, start}, MPI_ORDER_C, basic(MPI_FLOAT), &t));
  keep(t);
  EXPECT_FALSE(t->committed);
  commit(*t);
  EXPECT_TRUE(t->dense);
  EXPECT_EQ(t->basic, Basic::f32);
  Type* v = nullptr;
  ASSERT_FALSE(create_vector(context, 3, 2, 2, *t, &v));
  keep(v);
  commit(*v);
  EXPECT_TRUE(v->dense);
  const int lengths[] = {2, 3, 1}, disps[] = {0, 2, 5};
  Type* i = nullptr;
  ASSERT_FALSE(create_indexed(context, 3, lengths, disps, basic(MPI_INT), &i));
  keep(i);
  commit(*i);
  EXPECT_TRUE(i->dense);
}

TEST_F(Construct, DupIsCommittedIfItsOriginalIs) {
  ASSERT_FALSE(create_vector(context, 2, 1, 2, basic(MPI_INT), &t));
  keep(t);
  Type *a = nullptr, *b = nullptr;
  ASSERT_FALSE(create_dup(context, *t, &a));
  commit(*t);
  ASSERT_FALSE(create_dup(context, *t, &b));
  keep(a);
  keep(b);
  EXPECT_FALSE(a->committed);
  EXPECT_TRUE(b->committed);
  EXPECT_EQ(b->extent, t->extent);
}

TEST_F(Construct, ComponentsLiveAsLongAsTheyAreUsed) {
  Type* inner = nullptr;
  ASSERT_FALSE(create_vector(context, 2, 1, 2, basic(MPI_INT), &inner));
  ASSERT_FALSE(create_contiguous(context, 2, *inner, &t));
  ASSERT_FALSE(free(*inner));
  EXPECT_EQ(context.types.live(), 2u);
  commit(*t);
  retain(*t);  // an operation in flight
  ASSERT_FALSE(free(*t));
  const int in[8] = {1, 2, 3, 4, 5, 6, 7, 8};
  int out[4] = {};
  EXPECT_EQ(pack({in, 1, t}, 0, out, 16), 16);
  EXPECT_EQ(out[3], 6);
  release(*t);
  EXPECT_EQ(context.types.live(), 0u);
}

TEST_F(Construct, LongChainsAreFreedWithoutRecursion) {
  ASSERT_FALSE(create_contiguous(context, 1, basic(MPI_INT), &t));
  for (int i = 0; i < 100000; ++i) {
    Type* next = nullptr;
    ASSERT_FALSE(create_dup(context, *t, &next));
    ASSERT_FALSE(free(*t));
    t = next;
  }
  keep(t);
}

TEST_F(Construct, MillionsOfTypesLeaveNothing) {
  for (int i = 0; i < 200000; ++i) {
    ASSERT_FALSE(create_vector(context, 3, 1, 2, basic(MPI_DOUBLE), &t));
    commit(*t);
    ASSERT_FALSE(free(*t));
  }
  EXPECT_EQ(context.types.live(), 0u);
}

TEST_F(Construct, AttachmentIsHandedBack) {
  static int forgotten;
  forgotten = 0;
  context.forget = [](Type& type) { forgotten += *static_cast<int*>(type.attachment); };
  int value = 7;
  ASSERT_FALSE(create_contiguous(context, 3, basic(MPI_INT), &t));
  t->attachment = &value;
  ASSERT_FALSE(free(*t));
  EXPECT_EQ(forgotten, 7);
}

// Envelope and contents.

struct Told {
  std::vector<int> integers;
  std::vector<MPI_Aint> addresses;
  std::vector<MPI_Count> counts;
  std::vector<MPI_Datatype> types;
};

Told tell(const Type& type) {
  const Envelope e = envelope(type);
  const auto size = [](int64_t n) { return static_cast<std::size_t>(n); };
  Told told{std::vector<int>(size(e.integers)), std::vector<MPI_Aint>(size(e.addresses)),
            std::vector<MPI_Count>(size(e.large_counts)), std::vector<MPI_Datatype>(size(e.types))};
  EXPECT_FALSE(
      contents(type, {e.integers, e.addresses, e.large_counts, e.types, told.integers.data(),
                      told.addresses.data(), told.counts.data(), told.types.data()}));
  for (const MPI_Datatype h : told.types) release(*from_handle(h));  // no effect on predefined ones
  return told;
}

TEST_F(Construct, ContentsOfEachConstructor) {
  using I = std::vector<int>;
  using A = std::vector<MPI_Aint>;
  using D = std::vector<MPI_Datatype>;
  const Type& old = basic(MPI_INT);
  const int lengths[] = {2, 1}, disps[] = {0, 5};
  const MPI_Aint bytes[] = {8, 64};
  const auto check = [&](int combiner, const I& integers, const A& addresses, const D& types) {
    keep(t);
    EXPECT_EQ(envelope(*t).combiner, combiner);
    const Told told = tell(*t);
    EXPECT_EQ(told.integers, integers) << combiner;
    EXPECT_EQ(told.addresses, addresses) << combiner;
    EXPECT_TRUE(told.counts.empty()) << combiner;
    EXPECT_EQ(told.types, types) << combiner;
  };
  ASSERT_FALSE(create_contiguous(context, 3, old, &t));
  check(MPI_COMBINER_CONTIGUOUS, {3}, {}, {MPI_INT});
  ASSERT_FALSE(create_vector(context, 3, 2, -5, old, &t));
  check(MPI_COMBINER_VECTOR, {3, 2, -5}, {}, {MPI_INT});
  ASSERT_FALSE(create_hvector(context, 3, 2, 50, old, &t));
  check(MPI_COMBINER_HVECTOR, {3, 2}, {50}, {MPI_INT});
  ASSERT_FALSE(create_indexed(context, 2, lengths, disps, old, &t));
  check(MPI_COMBINER_INDEXED, {2, 2, 1, 0, 5}, {}, {MPI_INT});
  ASSERT_FALSE(create_hindexed(context, 2, lengths, bytes, old, &t));
  check(MPI_COMBINER_HINDEXED, {2, 2, 1}, {8, 64}, {MPI_INT});
  ASSERT_FALSE(create_indexed_block(context, 2, 3, disps, old, &t));
  check(MPI_COMBINER_INDEXED_BLOCK, {2, 3, 0, 5}, {}, {MPI_INT});
  ASSERT_FALSE(create_hindexed_block(context, 2, 3, bytes, old, &t));
  check(MPI_COMBINER_HINDEXED_BLOCK, {2, 3}, {8, 64}, {MPI_INT});
  const MPI_Datatype types[] = {MPI_CHAR, handle(*t)};
  ASSERT_FALSE(create_struct(context, 2, lengths, bytes, types, &t));
  check(MPI_COMBINER_STRUCT, {2, 2, 1}, {8, 64}, {types[0], types[1]});
  const int sizes[] = {4, 5}, sub[] = {2, 3}, start[] = {1, 2};
  ASSERT_FALSE(create_subarray(context, 2, {sizes, sub, start}, MPI_ORDER_C, old, &t));
  check(MPI_COMBINER_SUBARRAY, {2, 4, 5, 2, 3, 1, 2, MPI_ORDER_C}, {}, {MPI_INT});
  const int dist[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
  const int arg[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[] = {2, 3};
  ASSERT_FALSE(
      create_darray(context, {6, 4, 2, sizes, dist, arg, grid, MPI_ORDER_FORTRAN}, old, &t));
  check(MPI_COMBINER_DARRAY,
        {6, 4, 2, 4, 5, dist[0], dist[1], arg[0], arg[1], 2, 3, MPI_ORDER_FORTRAN}, {}, {MPI_INT});
  ASSERT_FALSE(create_resized(context, old, -3, 40, &t));
  check(MPI_COMBINER_RESIZED, {}, {-3, 40}, {MPI_INT});
  ASSERT_FALSE(create_dup(context, old, &t));
  check(MPI_COMBINER_DUP, {}, {}, {MPI_INT});
}

TEST_F(Construct, ContentsWithLargeCounts) {
  using I = std::vector<int>;
  using C = std::vector<MPI_Count>;
  const Maker large(context, true);
  const Type& old = basic(MPI_INT);
  const int64_t lengths[] = {2, 1}, disps[] = {0, 5}, sizes[] = {4, 5}, sub[] = {2, 3},
                start[] = {1, 2};
  const auto check = [&](const I& integers, const C& counts) {
    keep(t);
    const Told told = tell(*t);
    EXPECT_EQ(told.integers, integers);
    EXPECT_EQ(told.counts, counts);
    EXPECT_TRUE(told.addresses.empty());
    EXPECT_EQ(told.types.size(), 1u);
  };
  ASSERT_FALSE(create_vector(large, 3, 2, int64_t{1} << 33, old, &t));
  check({}, {3, 2, int64_t{1} << 33});
  ASSERT_FALSE(create_hvector(large, 3, 2, 50, old, &t));
  check({}, {3, 2, 50});
  ASSERT_FALSE(create_indexed(large, 2, lengths, disps, old, &t));
  check({}, {2, 2, 1, 0, 5});
  ASSERT_FALSE(create_hindexed_block(large, 2, 3, disps, old, &t));
  check({}, {2, 3, 0, 5});
  ASSERT_FALSE(create_subarray(large, 2, {sizes, sub, start}, MPI_ORDER_C, old, &t));
  check({2, MPI_ORDER_C}, {4, 5, 2, 3, 1, 2});
  const int dist[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
  const int arg[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, grid[] = {2, 3};
  ASSERT_FALSE(create_darray(large, {6, 4, 2, sizes, dist, arg, grid, MPI_ORDER_C}, old, &t));
  check({6, 4, 2, dist[0], dist[1], arg[0], arg[1], 2, 3, MPI_ORDER_C}, {4, 5});
  ASSERT_FALSE(create_resized(large, old, -3, 40, &t));
  check({}, {-3, 40});
  int one = 0;
  MPI_Datatype type;
  EXPECT_EQ(contents(*t, {0, 0, 0, 1, &one, nullptr, nullptr, &type}).cls, MPI_ERR_TYPE);
}

TEST_F(Construct, ContentsNeedRoomAndADerivedType) {
  ASSERT_FALSE(create_contiguous(context, 3, basic(MPI_INT), &t));
  keep(t);
  EXPECT_EQ(contents(*t, {0, 0, 0, 1, nullptr, nullptr, nullptr, nullptr}).cls, MPI_ERR_ARG);
  EXPECT_EQ(contents(basic(MPI_INT), {}).cls, MPI_ERR_TYPE);
  EXPECT_NE(std::strstr(last_error_text(MPI_ERR_TYPE), "MPI_INT"), nullptr);
}

// Large numbers.

TEST_F(Construct, CountsBeyond32Bits) {
  const int64_t big = int64_t{1} << 40;
  ASSERT_FALSE(create_vector({context, true}, big, 2, 3, basic(MPI_DOUBLE), &t));
  keep(t);
  commit(*t);
  EXPECT_EQ(t->size, big * 16);
  EXPECT_EQ(t->extent, (big - 1) * 24 + 16);
  EXPECT_EQ(as_int(t->size), MPI_UNDEFINED);
  EXPECT_EQ(as_int(5), 5);
  // the bytes in the middle are found without walking there
  std::vector<double> memory(6);
  for (int i = 0; i < 6; ++i) memory[static_cast<std::size_t>(i)] = i;
  const char* origin = reinterpret_cast<const char*>(memory.data()) - 24 * (big / 2);
  double out[4] = {};
  EXPECT_EQ(pack({origin, 1, t}, 16 * (big / 2), out, 32), 32);
  EXPECT_EQ(out[0], 0);
  EXPECT_EQ(out[1], 1);
  EXPECT_EQ(out[2], 3);
  EXPECT_EQ(out[3], 4);
}

TEST_F(Construct, OverflowIsAnError) {
  const int64_t big = int64_t{1} << 61;
  EXPECT_EQ(create_contiguous(context, big, basic(MPI_DOUBLE), &t).cls, MPI_ERR_COUNT);
  EXPECT_EQ(create_vector(context, 2, 1, big, basic(MPI_DOUBLE), &t).cls, MPI_ERR_ARG);
  EXPECT_EQ(create_hvector(context, 8, 1, big, basic(MPI_DOUBLE), &t).cls, MPI_ERR_COUNT);
  const int64_t one[] = {1}, far[] = {big};
  EXPECT_EQ(create_indexed(context, 1, one, far, basic(MPI_DOUBLE), &t).cls, MPI_ERR_ARG);
  EXPECT_EQ(create_resized(context, basic(MPI_INT), INT64_MAX, 1, &t).cls, MPI_ERR_ARG);
  const int64_t sizes[] = {big, 64}, sub[] = {1, 1}, start[] = {0, 0};
  EXPECT_EQ(create_subarray(context, 2, {sizes, sub, start}, MPI_ORDER_C, basic(MPI_INT), &t).cls,
            MPI_ERR_ARG);
}

TEST_F(Construct, NothingOfALongBlockIsNothing) {
  ASSERT_FALSE(create_vector({context, true}, 0, INT64_MAX, 1, basic(MPI_INT), &t));
  keep(t);
  commit(*t);
  EXPECT_EQ(t->size, 0);
  EXPECT_EQ(t->extent, 0);
}

TEST_F(Construct, ArraysAreDealtOutAsLongAs64BitsHoldThem) {
  const int64_t size[] = {INT64_MAX - 1};
  const auto deal = [&](int distribution, int argument, int processes, int rank) {
    EXPECT_FALSE(
        create_darray({context, true},
                      {processes, rank, 1, size, &distribution, &argument, &processes, MPI_ORDER_C},
                      basic(MPI_BYTE), &t));
    keep(t);
    commit(*t);
    return t->size;
  };
  const int dflt = MPI_DISTRIBUTE_DFLT_DARG, most = INT_MAX;
  EXPECT_EQ(deal(MPI_DISTRIBUTE_NONE, dflt, 1, 0), size[0]);
  EXPECT_EQ(deal(MPI_DISTRIBUTE_BLOCK, dflt, 2, 1), size[0] / 2);
  EXPECT_EQ(t->true_lb, size[0] / 2);
  // The blocks together are longer than 64 bits hold.
  EXPECT_EQ(deal(MPI_DISTRIBUTE_BLOCK, dflt, 5, 4), size[0] - 4 * (size[0] / 5 + 1));
  EXPECT_EQ(t->true_extent, t->size);
  // Two rounds, and a third block for the first four processes.
  const int64_t round = int64_t{most} * most;
  ASSERT_EQ(size[0], 2 * round + int64_t{4} * most);
  EXPECT_EQ(deal(MPI_DISTRIBUTE_CYCLIC, most, most, 3), int64_t{3} * most);
  EXPECT_EQ(deal(MPI_DISTRIBUTE_CYCLIC, most, most, 4), int64_t{2} * most);
  EXPECT_EQ(deal(MPI_DISTRIBUTE_CYCLIC, most, most, most - 1), int64_t{2} * most);
  EXPECT_EQ(t->true_extent, round + most);
}

// Wrong arguments.

TEST_F(Construct, SaysWhatWasWrong) {
  const int lengths[] = {1, -1}, disps[] = {0, 1};
  const auto text = [](int cls) { return std::string(last_error_text(cls)); };
  const Type& old = basic(MPI_INT);
  EXPECT_EQ(create_contiguous(context, -2, old, &t).cls, MPI_ERR_COUNT);
  EXPECT_EQ(text(MPI_ERR_COUNT), "count is -2; it must be 0 or more");
  EXPECT_EQ(create_vector(context, 2, -1, 1, old, &t).cls, MPI_ERR_COUNT);
  EXPECT_EQ(create_indexed(context, 2, lengths, disps, old, &t).cls, MPI_ERR_ARG);
  EXPECT_EQ(text(MPI_ERR_ARG), "block length 1 is -1; it must be 0 or more");
  EXPECT_EQ(create_indexed(context, 2, Numbers{}, disps, old, &t).cls, MPI_ERR_ARG);
  EXPECT_EQ(create_indexed_block(context, 2, 1, Numbers{}, old, &t).cls, MPI_ERR_ARG);
  EXPECT_EQ(text(MPI_ERR_ARG), "count is 2, but the array of displacements is a null pointer");
  const MPI_Datatype types[] = {MPI_INT, MPI_DATATYPE_NULL};
  const int ones[] = {1, 1};
  const MPI_Aint bytes[] = {0, 4};
  EXPECT_EQ(create_struct(context, 2, ones, bytes, types, &t).cls, MPI_ERR_TYPE);
  const int sizes[] = {4}, sub[] = {3}, start[] = {2}, zero[] = {0};
  EXPECT_EQ(create_subarray(context, 1, {sizes, sub, start}, MPI_ORDER_C, old, &t).cls,
            MPI_ERR_ARG);
  EXPECT_EQ(create_subarray(context, 1, {sizes, sub, zero}, 3, old, &t).cls, MPI_ERR_ARG);
  EXPECT_EQ(create_subarray(context, 1, {sizes, zero, zero}, MPI_ORDER_C, old, &t).cls,
            MPI_ERR_ARG);
  EXPECT_EQ(create_subarray(context, 0, {sizes, sub, zero}, MPI_ORDER_C, old, &t).cls,
            MPI_ERR_DIMS);
  const int block[] = {MPI_DISTRIBUTE_BLOCK}, one[] = {1}, two[] = {2};
  const auto darray = [&](int size, int rank, const int* arg, const int* procs) {
    return create_darray(context, {size, rank, 1, sizes, block, arg, procs, MPI_ORDER_C}, old, &t)
        .cls;
  };
  EXPECT_EQ(darray(2, 0, one, two), MPI_ERR_ARG);   // 2 blocks of 1 do not cover 4
  EXPECT_EQ(darray(3, 0, two, two), MPI_ERR_ARG);   // grid of 2, size 3
  EXPECT_EQ(darray(2, 2, two, two), MPI_ERR_ARG);   // rank out of range
  EXPECT_EQ(darray(2, 0, two, zero), MPI_ERR_ARG);  // no processes
  EXPECT_EQ(free(old).cls, MPI_ERR_TYPE);
  EXPECT_EQ(text(MPI_ERR_TYPE), "MPI_INT is predefined and cannot be freed");
  EXPECT_EQ(context.types.live(), 0u);
}

}  // namespace
}  // namespace weft::datatype::test
