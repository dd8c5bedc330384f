// SPDX-License-Identifier: Apache-2.0
// Error classes, codes and strings, and error handlers (MPI-5.0 §9.3 to §9.5).
#include "object/errors.h"

#include <gtest/gtest.h>

#include <cstring>

#include "object/store.h"

namespace weft::object {
namespace {

std::string text_of(const ErrorCodes& codes, int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length = -1;
  const Err err = codes.text_of(code, text, &length);
  if (err) return "error " + std::to_string(err.cls);
  EXPECT_EQ(length, static_cast<int>(std::strlen(text)));
  return text;
}

TEST(ErrorText, EveryPredefinedClassHasItsName) {
  for (int cls = MPI_SUCCESS; cls <= MPI_ERR_ABI; ++cls) {
    ASSERT_NE(class_text(cls), nullptr) << cls;
    EXPECT_EQ(std::string(class_text(cls)).rfind("MPI_", 0), 0u) << cls;
  }
  for (int cls = MPI_T_ERR_CANNOT_INIT; cls <= MPI_T_ERR_PVAR_NO_ATOMIC; ++cls)
    EXPECT_NE(class_text(cls), nullptr) << cls;
  EXPECT_EQ(class_text(MPI_ERR_ABI + 1), nullptr);
  EXPECT_EQ(class_text(-1), nullptr);
  EXPECT_NE(std::strstr(class_text(MPI_ERR_TRUNCATE), "MPI_ERR_TRUNCATE"), nullptr);
}

TEST(ErrorCodes, PredefinedOnesAreTheirOwnClass) {
  const ErrorCodes codes;
  int cls = -1;
  ASSERT_FALSE(codes.class_of(MPI_ERR_RANK, &cls));
  EXPECT_EQ(cls, MPI_ERR_RANK);
  EXPECT_EQ(codes.class_of(12345, &cls).cls, MPI_ERR_ARG);
  EXPECT_EQ(codes.last_used(), MPI_ERR_LASTCODE);
}

TEST(ErrorCodes, StringsTellTheCauseOfTheNewestError) {
  const ErrorCodes codes;
  (void)fail(MPI_ERR_TAG, "the tag is %d", -7);
  EXPECT_EQ(text_of(codes, MPI_ERR_TAG), "MPI_ERR_TAG: invalid tag: the tag is -7");
  EXPECT_EQ(text_of(codes, MPI_ERR_RANK), "MPI_ERR_RANK: invalid rank");
  (void)fail(MPI_ERR_TAG, "%s", std::string(2000, 'x').c_str());
  EXPECT_EQ(text_of(codes, MPI_ERR_TAG).size(), MPI_MAX_ERROR_STRING - 1u);
}

TEST(ErrorCodes, UsersAddAndRemove) {
  ErrorCodes codes;
  int cls = 0, code = 0, found = 0;
  ASSERT_FALSE(codes.add_class(&cls));
  EXPECT_GT(cls, MPI_ERR_LASTCODE);
  EXPECT_EQ(codes.last_used(), cls);
  ASSERT_FALSE(codes.add_code(cls, &code));
  EXPECT_EQ(codes.last_used(), code);
  EXPECT_EQ(text_of(codes, code), "");
  ASSERT_FALSE(codes.add_string(code, "out of ink"));
  EXPECT_EQ(text_of(codes, code), "out of ink");
  ASSERT_FALSE(codes.class_of(code, &found));
  EXPECT_EQ(found, cls);

  EXPECT_EQ(codes.remove_class(cls).cls, MPI_ERR_ARG) << "a class with codes was removed";
  EXPECT_EQ(codes.remove_code(code).cls, MPI_ERR_ARG) << "a code with a string was removed";
  EXPECT_EQ(codes.remove_code(cls).cls, MPI_ERR_ARG) << "a class was removed as a code";
  ASSERT_FALSE(codes.remove_string(code));
  EXPECT_EQ(codes.remove_string(code).cls, MPI_ERR_ARG);
  ASSERT_FALSE(codes.remove_code(code));
  EXPECT_EQ(codes.last_used(), cls);
  ASSERT_FALSE(codes.remove_class(cls));
  EXPECT_EQ(codes.last_used(), MPI_ERR_LASTCODE);
  EXPECT_EQ(codes.class_of(cls, &found).cls, MPI_ERR_ARG);
}

TEST(ErrorCodes, OnlyAddedOnesCanBeChanged) {
  ErrorCodes codes;
  int code = 0;
  EXPECT_EQ(codes.add_string(MPI_ERR_RANK, "mine").cls, MPI_ERR_ARG);
  EXPECT_EQ(codes.remove_class(MPI_ERR_RANK).cls, MPI_ERR_ARG);
  EXPECT_EQ(codes.add_code(99999, &code).cls, MPI_ERR_ARG);
  ASSERT_FALSE(codes.add_code(MPI_ERR_IO, &code));
  int nested = 0;
  EXPECT_EQ(codes.add_code(code, &nested).cls, MPI_ERR_ARG) << "a code was taken for a class";
  EXPECT_EQ(codes.add_string(code, std::string(MPI_MAX_ERROR_STRING, 'x').c_str()).cls,
            MPI_ERR_ARG);
}

int calls;
int seen_code;
MPI_Comm seen_handle;
void count_calls(MPI_Comm* comm, int* code, ...) {
  ++calls;
  seen_code = *code;
  seen_handle = *comm;
  *code = 77;
}

TEST(Errhandlers, UserFunctionsGetHandleAndCode) {
  Store store;
  MPI_Errhandler handle;
  ASSERT_FALSE(create_errhandler(store, Errhandler::What::comm_user,
                                 reinterpret_cast<void*>(count_calls), &handle));
  int code = MPI_ERR_TAG;
  calls = 0;
  EXPECT_EQ(invoke_errhandler(*store.errhandler(handle), MPI_COMM_SELF, &code),
            Verdict::return_code);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(seen_code, MPI_ERR_TAG);
  EXPECT_EQ(seen_handle, MPI_COMM_SELF);
  EXPECT_EQ(code, 77);
  ASSERT_FALSE(free_errhandler(store, &handle));
  EXPECT_EQ(store.errhandlers.live(), 0u);
}

TEST(Errhandlers, PredefinedOnesSayWhatToDo) {
  Store store;
  int code = MPI_ERR_TAG;
  const auto verdict = [&](MPI_Errhandler h) {
    return invoke_errhandler(*store.errhandler(h), MPI_COMM_SELF, &code);
  };
  EXPECT_EQ(verdict(MPI_ERRORS_RETURN), Verdict::return_code);
  EXPECT_EQ(verdict(MPI_ERRORS_ARE_FATAL), Verdict::abort_job);
  EXPECT_EQ(verdict(MPI_ERRORS_ABORT), Verdict::abort_comm);
  EXPECT_EQ(code, MPI_ERR_TAG);
  EXPECT_EQ(store.errhandler(MPI_ERRHANDLER_NULL), nullptr);
}

TEST(Errhandlers, LiveAsLongAsTheyAreUsed) {
  Store store;
  MPI_Errhandler handle, again;
  ASSERT_FALSE(create_errhandler(store, Errhandler::What::comm_user,
                                 reinterpret_cast<void*>(count_calls), &handle));
  const MPI_Errhandler copy = handle;
  Errhandler* slot = nullptr;
  ASSERT_FALSE(set_errhandler(&slot, Errhandler::What::comm_user, *store.errhandler(handle)));
  ASSERT_FALSE(free_errhandler(store, &handle));
  EXPECT_EQ(handle, MPI_ERRHANDLER_NULL);
  EXPECT_EQ(store.errhandler(copy), nullptr) << "the user's handle is gone";
  EXPECT_EQ(store.errhandlers.live(), 1u);
  get_errhandler(*slot, &again);
  EXPECT_EQ(again, copy);
  EXPECT_NE(store.errhandler(again), nullptr);
  ASSERT_FALSE(set_errhandler(&slot, Errhandler::What::comm_user, store.errors_return));
  EXPECT_EQ(store.errhandlers.live(), 1u);
  ASSERT_FALSE(free_errhandler(store, &again));
  EXPECT_EQ(store.errhandlers.live(), 0u);
}

TEST(Errhandlers, OfAnotherKindAreRefused) {
  Store store;
  MPI_Errhandler handle;
  ASSERT_FALSE(create_errhandler(store, Errhandler::What::win_user, nullptr, &handle));
  Errhandler* slot = nullptr;
  EXPECT_EQ(set_errhandler(&slot, Errhandler::What::comm_user, *store.errhandler(handle)).cls,
            MPI_ERR_ERRHANDLER);
  EXPECT_EQ(slot, nullptr);
  ASSERT_FALSE(free_errhandler(store, &handle));
}

}  // namespace
}  // namespace weft::object
