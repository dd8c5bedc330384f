// SPDX-License-Identifier: Apache-2.0
//
// Argument checks: each wrong argument gets its class and a sentence that says what was passed,
// what was expected and what to try; right ones pass.
#include "abi/check.h"

#include <gtest/gtest.h>

#include <climits>
#include <string>

#include "abi/convert.h"
#include "base/pool.h"
#include "datatype/type.h"

namespace weft::abi {
namespace {

struct CheckTest : testing::Test {
  Pool<object::Group, Kind::group> groups;
  Pool<object::Comm, Kind::comm> comms;
  Pool<object::Request, Kind::request> requests;
  object::Group* four = groups.create();
  object::Comm* comm = comms.create();
  const datatype::Type* int_type = type_of(MPI_INT);

  CheckTest() {
    four->members = {0, 1, 2, 3};
    comm->group = four;
    comm->name = "MPI_COMM_WORLD";
  }
  ~CheckTest() override {
    comms.destroy(comm);
    groups.destroy(four);
  }
  static const datatype::Type* type_of(MPI_Datatype handle) {
    return datatype::from_handle(handle);
  }
};

void expect_error(Err e, int cls, const std::string& sentence) {
  EXPECT_EQ(e.cls, cls);
  const char* text = last_error_text(e.cls);
  ASSERT_NE(text, nullptr);
  EXPECT_NE(std::string(text).find(sentence), std::string::npos) << text;
}

TEST_F(CheckTest, NullHandlesAreNamed) {
  expect_error(check::comm(nullptr, MPI_COMM_NULL, "comm"), MPI_ERR_COMM,
               "comm is MPI_COMM_NULL; expected a communicator");
  expect_error(check::type(nullptr, MPI_DATATYPE_NULL, "datatype"), MPI_ERR_TYPE,
               "datatype is MPI_DATATYPE_NULL; expected a datatype");
  expect_error(check::op(nullptr, MPI_OP_NULL, "op"), MPI_ERR_OP, "op is MPI_OP_NULL");
  expect_error(check::group(nullptr, MPI_GROUP_NULL, "group"), MPI_ERR_GROUP, "MPI_GROUP_NULL");
}

TEST_F(CheckTest, AHandleOfAnotherKindIsNamed) {
  expect_error(check::comm(nullptr, reinterpret_cast<MPI_Comm>(MPI_INT), "comm"), MPI_ERR_COMM,
               "comm is MPI_INT; expected a communicator");
  expect_error(check::comm(nullptr, reinterpret_cast<MPI_Comm>(four), "comm"), MPI_ERR_COMM,
               "comm is a group; expected a communicator");
}

TEST_F(CheckTest, AFreedHandleIsNamed) {
  object::Comm* gone = comms.create();
  comms.destroy(gone);
  expect_error(check::comm(nullptr, reinterpret_cast<MPI_Comm>(gone), "comm"), MPI_ERR_COMM,
               "an object that was freed");
}

TEST_F(CheckTest, AForeignHandleIsNamed) {
  int local = 0;
  expect_error(check::comm(nullptr, reinterpret_cast<MPI_Comm>(&local), "comm"), MPI_ERR_COMM,
               "which is no handle of this process");
  expect_error(check::comm(nullptr, reinterpret_cast<MPI_Comm>(comm), "comm"), MPI_ERR_COMM,
               "a communicator that was freed, or of another rank");
}

TEST_F(CheckTest, Ranks) {
  EXPECT_FALSE(check::dest(3, *comm, "dest"));
  EXPECT_FALSE(check::dest(MPI_PROC_NULL, *comm, "dest"));
  EXPECT_FALSE(check::source(MPI_ANY_SOURCE, *comm, "source"));
  expect_error(check::dest(4, *comm, "dest"), MPI_ERR_RANK,
               "dest is 4, but MPI_COMM_WORLD has ranks 0 to 3; pass one of them or MPI_PROC_NULL");
  expect_error(check::dest(MPI_ANY_SOURCE, *comm, "dest"), MPI_ERR_RANK, "dest is -1");
  expect_error(check::source(17, *comm, "source"), MPI_ERR_RANK, "MPI_ANY_SOURCE or MPI_PROC_NULL");
  expect_error(check::root(-1, *comm, "root"), MPI_ERR_ROOT, "root is -1");
  expect_error(check::root(MPI_ROOT, *comm, "root"), MPI_ERR_ROOT, "root is -4");
}

TEST_F(CheckTest, RootsOfIntercommunicators) {
  object::Group* two = groups.create();
  two->members = {4, 5};
  comm->remote = two;
  EXPECT_FALSE(check::root(1, *comm, "root"));
  EXPECT_FALSE(check::root(MPI_ROOT, *comm, "root"));
  EXPECT_FALSE(check::root(MPI_PROC_NULL, *comm, "root"));
  expect_error(check::root(2, *comm, "root"), MPI_ERR_ROOT, "remote group has ranks 0 to 1");
  comm->remote = nullptr;
  groups.destroy(two);
}

TEST_F(CheckTest, Tags) {
  EXPECT_FALSE(check::tag(INT_MAX, "tag"));
  EXPECT_FALSE(check::recv_tag(MPI_ANY_TAG, *comm, "tag"));
  expect_error(check::tag(-5, "sendtag"), MPI_ERR_TAG, "sendtag is -5; expected 0 to 2147483647");
  expect_error(check::tag(MPI_ANY_TAG, "tag"), MPI_ERR_TAG, "MPI_ANY_TAG is for receives");
  expect_error(check::recv_tag(-1, *comm, "tag"), MPI_ERR_TAG, "tag is -1");
  comm->by_tag = true;
  EXPECT_FALSE(check::recv_tag(0, *comm, "tag"));
  expect_error(check::recv_tag(MPI_ANY_TAG, *comm, "tag"), MPI_ERR_TAG, "mpi_assert_no_any_tag");
  comm->by_tag = false;
}

TEST_F(CheckTest, Buffers) {
  int data = 0;
  const char* names = "buf, count, datatype";
  EXPECT_FALSE(check::buffer(&data, 1, int_type, MPI_INT, names));
  EXPECT_FALSE(check::buffer(nullptr, 0, int_type, MPI_INT, names));
  expect_error(check::buffer(&data, -3, int_type, MPI_INT, names), MPI_ERR_COUNT, "count is -3");
  expect_error(check::buffer(&data, -2147483648LL, int_type, MPI_INT, names), MPI_ERR_COUNT,
               "the _c form of the call takes MPI_Count");
  expect_error(check::buffer(nullptr, 7, int_type, MPI_INT, names), MPI_ERR_BUFFER,
               "buf is a null pointer");
  expect_error(check::buffer(&data, 1, nullptr, MPI_DATATYPE_NULL, names), MPI_ERR_TYPE,
               "datatype is MPI_DATATYPE_NULL");
  datatype::Type raw = *int_type;
  raw.committed = false;
  expect_error(check::buffer(&data, 1, &raw, MPI_INT, names), MPI_ERR_TYPE,
               "datatype is not committed; call MPI_Type_commit");
}

TEST_F(CheckTest, MpiBottomWithAbsoluteAddresses) {
  const char* names = "buf, count, datatype";
  datatype::Type absolute = *int_type;
  absolute.true_lb = 0x7f0000001000;
  EXPECT_FALSE(check::buffer(MPI_BOTTOM, 1, &absolute, MPI_INT, names));
  expect_error(check::buffer(MPI_IN_PLACE, 1, &absolute, MPI_INT, names), MPI_ERR_BUFFER,
               "buf is MPI_IN_PLACE, but count is 1");
}

TEST_F(CheckTest, ConstantsAreNoBuffers) {
  const char* names = "buf, count, datatype";
  expect_error(check::buffer(MPI_UNWEIGHTED, 2, int_type, MPI_INT, names), MPI_ERR_BUFFER,
               "buf is MPI_UNWEIGHTED, but count is 2");
  expect_error(check::buffer(MPI_BUFFER_AUTOMATIC, 2, int_type, MPI_INT, names), MPI_ERR_BUFFER,
               "buf is MPI_BUFFER_AUTOMATIC");
  expect_error(check::buffer(MPI_COMM_WORLD, 2, int_type, MPI_INT, names), MPI_ERR_BUFFER,
               "buf is MPI_COMM_WORLD");
  expect_error(check::buffer(reinterpret_cast<void*>(5), 2, int_type, MPI_INT, names),
               MPI_ERR_BUFFER, "buf is 0x5, which is no address");
  // Without data any pointer will do: containers without elements have odd ones.
  EXPECT_FALSE(check::buffer(MPI_IN_PLACE, 0, int_type, MPI_INT, names));
  datatype::Type empty = *int_type;
  empty.size = 0;
  EXPECT_FALSE(check::buffer(reinterpret_cast<void*>(4), 2, &empty, MPI_INT, names));
}

TEST_F(CheckTest, InPlaceIsForIntracommunicatorsAndRoots) {
  object::Group* two = groups.create();
  int data = 0;
  comm->rank = 2;
  EXPECT_TRUE(check::in_place(MPI_IN_PLACE, *comm));
  EXPECT_TRUE(check::in_place(MPI_IN_PLACE, *comm, 2));
  EXPECT_FALSE(check::in_place(MPI_IN_PLACE, *comm, 1));
  EXPECT_FALSE(check::in_place(&data, *comm, 2));
  comm->remote = two;
  EXPECT_FALSE(check::in_place(MPI_IN_PLACE, *comm));
  EXPECT_FALSE(check::in_place(MPI_IN_PLACE, *comm, 2));
  comm->remote = nullptr;
  groups.destroy(two);
}

TEST_F(CheckTest, ConstantsAreNoVariables) {
  MPI_Status status;
  int data = 0;
  expect_error(check::given(nullptr, "flag"), MPI_ERR_ARG, "flag is a null pointer");
  expect_error(check::given(MPI_IN_PLACE, "flag"), MPI_ERR_ARG, "flag is MPI_IN_PLACE");
  expect_error(check::given(nullptr, "flag", MPI_T_ERR_INVALID), MPI_T_ERR_INVALID, "null");
  EXPECT_FALSE(check::given(&data, "flag"));
  EXPECT_FALSE(check::optional(MPI_STATUS_IGNORE, "status"));
  EXPECT_FALSE(check::optional(&status, "status"));
  expect_error(check::optional(MPI_UNWEIGHTED, "status"), MPI_ERR_ARG, "status is MPI_UNWEIGHTED");
  EXPECT_FALSE(check::array(nullptr, 0, "array"));
  expect_error(check::array(MPI_WEIGHTS_EMPTY, 1, "array"), MPI_ERR_ARG, "MPI_WEIGHTS_EMPTY");
  EXPECT_FALSE(check::weights(MPI_UNWEIGHTED, 3, "weights"));
  EXPECT_FALSE(check::weights(MPI_WEIGHTS_EMPTY, 0, "weights"));
  expect_error(check::weights(MPI_WEIGHTS_EMPTY, 1, "weights"), MPI_ERR_ARG, "MPI_WEIGHTS_EMPTY");
  expect_error(check::memory(MPI_IN_PLACE, 1, "outbuf"), MPI_ERR_BUFFER, "outbuf is MPI_IN_PLACE");
}

TEST_F(CheckTest, SomeConstantsAreCallbacks) {
  auto* dup = MPI_COMM_DUP_FN;
  EXPECT_FALSE(check::function(dup, 2, "copy"));
  EXPECT_FALSE(check::function(MPI_COMM_NULL_COPY_FN, 2, "copy"));
  expect_error(check::function(dup, 1, "remove"), MPI_ERR_ARG, "remove is ");
  expect_error(check::function(MPI_COMM_NULL_COPY_FN, 0, "handler"), MPI_ERR_ARG, "null");
}

TEST_F(CheckTest, BlocksOfVCollectives) {
  int data[4] = {};
  const int good[] = {1, 0, 2, 1}, bad[] = {1, 0, -2, 1}, empty[] = {0, 0, 0, 0};
  const char* names = "recvbuf, recvcounts, recvtype";
  EXPECT_FALSE(check::buffers(data, counts(good), int_type, MPI_INT, 4, names));
  EXPECT_FALSE(check::buffers(nullptr, counts(empty), int_type, MPI_INT, 4, names));
  expect_error(check::buffers(data, counts(bad), int_type, MPI_INT, 4, names), MPI_ERR_COUNT,
               "recvcounts[2] is -2");
  expect_error(check::buffers(nullptr, counts(good), int_type, MPI_INT, 4, names), MPI_ERR_BUFFER,
               "its counts add up to 4 elements");
  expect_error(
      check::buffers(data, counts(static_cast<const int*>(nullptr)), int_type, MPI_INT, 4, names),
      MPI_ERR_ARG, "recvcounts is a null pointer");
  const MPI_Count wide[] = {1, 0, 2, 1};
  EXPECT_FALSE(check::buffers(data, counts(wide), int_type, MPI_INT, 4, names));
}

TEST_F(CheckTest, BlocksOfWCollectives) {
  int data[4] = {};
  const int n[] = {1, 1}, here[] = {0, 8};
  const MPI_Count addresses[] = {4096, 8192};
  const MPI_Datatype good[] = {MPI_INT, MPI_DOUBLE}, bad[] = {MPI_INT, MPI_DATATYPE_NULL};
  const char* names = "sendbuf, sendcounts, sendtypes";
  EXPECT_FALSE(check::buffers(data, counts(n), counts(here), good, 2, names));
  // MPI_BOTTOM, with addresses as displacements; and a null pointer.
  EXPECT_FALSE(check::buffers(nullptr, counts(n), counts(addresses), good, 2, names));
  expect_error(check::buffers(nullptr, counts(n), counts(here), good, 2, names), MPI_ERR_BUFFER,
               "null");
  expect_error(check::buffers(data, counts(n), counts(here), bad, 2, names), MPI_ERR_TYPE,
               "sendtypes[1] is MPI_DATATYPE_NULL");
}

TEST_F(CheckTest, Requests) {
  object::Request* live = requests.create();
  MPI_Request array[] = {MPI_REQUEST_NULL, reinterpret_cast<MPI_Request>(live), MPI_REQUEST_NULL};
  EXPECT_FALSE(check::requests(array, 3, "array_of_requests"));
  EXPECT_FALSE(check::requests(nullptr, 0, "array_of_requests"));
  requests.destroy(live);
  expect_error(check::requests(array, 3, "array_of_requests"), MPI_ERR_REQUEST,
               "array_of_requests[1] is an object that was freed");
  expect_error(check::requests(nullptr, 3, "array_of_requests"), MPI_ERR_ARG, "null pointer");
  expect_error(check::request_given(array[0], "request"), MPI_ERR_REQUEST,
               "request is MPI_REQUEST_NULL; expected a request");
}

TEST_F(CheckTest, Operations) {
  object::Op band, user;
  band.operation = datatype::Operation::band;
  user.operation = datatype::Operation::user;
  EXPECT_FALSE(check::op_defined(&band, int_type));
  EXPECT_FALSE(check::op_defined(&user, type_of(MPI_DOUBLE)));
  expect_error(check::op_defined(&band, type_of(MPI_DOUBLE)), MPI_ERR_OP,
               "MPI_BAND is not defined for MPI_DOUBLE");
  datatype::Type derived = *int_type;
  derived.predefined = false;
  expect_error(check::op_defined(&band, &derived), MPI_ERR_OP, "MPI_Op_create");
}

TEST_F(CheckTest, Aliases) {
  int data = 0, other = 0;
  EXPECT_FALSE(check::not_aliased(&data, &other, 1, int_type));
  EXPECT_FALSE(check::not_aliased(&data, &data, 0, int_type));
  expect_error(check::not_aliased(&data, &data, 1, int_type), MPI_ERR_BUFFER, "MPI_IN_PLACE");
}

}  // namespace
}  // namespace weft::abi
