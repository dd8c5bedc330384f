// SPDX-License-Identifier: Apache-2.0
// Operations: handles, users' functions and what they see, which operation fits which type.
#include "object/op.h"

#include <gtest/gtest.h>

#include "object/store.h"

namespace weft::object {
namespace {

MPI_Datatype seen_type;
std::int64_t seen_count;

void subtract(void* in, void* inout, int* n, MPI_Datatype* type) {
  seen_type = *type;
  seen_count += *n;
  for (int i = 0; i < *n; ++i)
    static_cast<int*>(inout)[i] = static_cast<int*>(in)[i] - static_cast<int*>(inout)[i];
}
void count_c(void*, void*, MPI_Count* n, MPI_Datatype* type) {
  seen_type = *type;
  seen_count = *n;
}
void only_count(void*, void*, int* n, MPI_Datatype*) {
  seen_count += *n;
}

TEST(Ops, PredefinedHandles) {
  Store store;
  for (const MPI_Op handle :
       {MPI_SUM, MPI_MIN, MPI_MAX, MPI_PROD, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR,
        MPI_LXOR, MPI_MINLOC, MPI_MAXLOC, MPI_REPLACE, MPI_NO_OP}) {
    const Op* op = store.op(handle);
    ASSERT_NE(op, nullptr);
    EXPECT_EQ(handle_of(*op), handle);
    MPI_Op copy = handle;
    EXPECT_EQ(free_op(store, &copy).cls, MPI_ERR_OP);
  }
  EXPECT_TRUE(store.op(MPI_SUM)->commutative);
  for (std::uintptr_t bad : {0x20, 0x25, 0x2b, 0x3e, 0x3f, 0x40, 0x1f, 0})
    EXPECT_EQ(store.op(reinterpret_cast<MPI_Op>(bad)), nullptr) << bad;
}

TEST(Ops, UserFunctionComputesInOpInout) {
  Store store;
  MPI_Op handle;
  ASSERT_FALSE(create_op(store, subtract, 0, &handle));
  const Op& op = *store.op(handle);
  EXPECT_FALSE(op.commutative);
  const int in[] = {10, 20, 30};
  int inout[] = {1, 2, 3};
  seen_count = 0;
  apply(op, *store.type(MPI_INT), in, inout, 3);
  EXPECT_EQ(inout[0], 9);
  EXPECT_EQ(inout[2], 27);
  EXPECT_EQ(seen_type, MPI_INT);
  EXPECT_EQ(seen_count, 3);
  retain(op);
  const MPI_Op copy = handle;
  ASSERT_FALSE(free_op(store, &handle));
  EXPECT_EQ(handle, MPI_OP_NULL);
  EXPECT_EQ(store.op(copy), nullptr);
  EXPECT_EQ(store.ops.live(), 1u) << "a pending operation holds it";
  release(op);
  EXPECT_EQ(store.ops.live(), 0u);
}

TEST(Ops, LongVectorsReachOldFunctionsInPieces) {
  Store store;
  MPI_Op old_form, new_form;
  ASSERT_FALSE(create_op(store, only_count, 1, &old_form));
  ASSERT_FALSE(create_op_c(store, count_c, 1, &new_form));
  const std::int64_t many = (std::int64_t{1} << 32) + 5;
  seen_count = 0;
  apply(*store.op(old_form), *store.type(MPI_BYTE), nullptr, nullptr, many);
  EXPECT_EQ(seen_count, many);
  seen_count = 0;
  apply(*store.op(new_form), *store.type(MPI_BYTE), nullptr, nullptr, many);
  EXPECT_EQ(seen_count, many);
  ASSERT_FALSE(free_op(store, &old_form));
  ASSERT_FALSE(free_op(store, &new_form));
}

TEST(Ops, PredefinedOnesReduce) {
  Store store;
  const double in[] = {1.5, 2.5};
  double inout[] = {2, 4};
  apply(*store.op(MPI_PROD), *store.type(MPI_DOUBLE), in, inout, 2);
  EXPECT_EQ(inout[0], 3);
  EXPECT_EQ(inout[1], 10);
}

TEST(Ops, FitTheirTypes) {
  Store store;
  const auto check = [&](MPI_Op op, MPI_Datatype type) {
    return check_op(*store.op(op), *store.type(type)).cls;
  };
  EXPECT_EQ(check(MPI_SUM, MPI_INT), MPI_SUCCESS);
  EXPECT_EQ(check(MPI_SUM, MPI_C_DOUBLE_COMPLEX), MPI_SUCCESS);
  EXPECT_EQ(check(MPI_MAX, MPI_C_DOUBLE_COMPLEX), MPI_ERR_OP);
  EXPECT_EQ(check(MPI_BAND, MPI_DOUBLE), MPI_ERR_OP);
  EXPECT_EQ(check(MPI_SUM, MPI_BYTE), MPI_ERR_OP);
  EXPECT_EQ(check(MPI_MINLOC, MPI_DOUBLE_INT), MPI_SUCCESS);
  EXPECT_EQ(check(MPI_MINLOC, MPI_DOUBLE), MPI_ERR_OP);
  EXPECT_EQ(check(MPI_REPLACE, MPI_INT), MPI_ERR_OP);
  datatype::Type* derived = nullptr;
  ASSERT_FALSE(datatype::create_contiguous(store.types, 3, *store.type(MPI_INT), &derived));
  EXPECT_EQ(check_op(*store.op(MPI_SUM), *derived).cls, MPI_ERR_OP);
  MPI_Op user;
  ASSERT_FALSE(create_op(store, subtract, 1, &user));
  EXPECT_FALSE(check_op(*store.op(user), *derived));
  ASSERT_FALSE(free_op(store, &user));
  datatype::release(*derived);
}

}  // namespace
}  // namespace weft::object
