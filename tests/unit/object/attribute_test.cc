// SPDX-License-Identifier: Apache-2.0
// Attributes (MPI-5.0 §7.7): callbacks and their order, the constants DUP_FN and NULL_*_FN, errors
// from callbacks, keyvals that outlive their handle.
#include "object/attribute.h"

#include <gtest/gtest.h>

#include <string>

#include "object/store.h"

namespace weft::object {
namespace {

constexpr std::uintptr_t dup_fn = 1;  // value of MPI_COMM_DUP_FN

/// What the callbacks saw and what they shall return.
struct Script {
  std::string log;
  int copy_result = MPI_SUCCESS;
  int delete_result = MPI_SUCCESS;
  int flag = 1;
};

int copy(void*, int, void* extra, void* value, void* out, int* flag) {
  auto* script = static_cast<Script*>(extra);
  script->log += "c" + std::to_string(reinterpret_cast<std::uintptr_t>(value));
  *static_cast<void**>(out) = static_cast<char*>(value) + 100;
  *flag = script->flag;
  return script->copy_result;
}
int remove(void*, int, void* value, void* extra) {
  auto* script = static_cast<Script*>(extra);
  script->log += "d" + std::to_string(reinterpret_cast<std::uintptr_t>(value));
  return script->delete_result;
}

class AttributesTest : public testing::Test {
 protected:
  int keyval(void* copy_fn, void* delete_fn, Target target = Target::comm) {
    int made = 0;
    EXPECT_FALSE(create_keyval(store, target, copy_fn, delete_fn, &made, &script));
    EXPECT_NE(made, MPI_KEYVAL_INVALID);
    return made;
  }
  int logged() { return keyval(reinterpret_cast<void*>(copy), reinterpret_cast<void*>(remove)); }
  Err set(const Holder& h, int key, std::uintptr_t value) {
    return set_attribute(store, h, key, reinterpret_cast<void*>(value));
  }
  /// The value, or -1 if there is none.
  long get(const Holder& h, int key) {
    void* value = nullptr;
    int flag = 0;
    EXPECT_FALSE(get_attribute(store, h, key, &value, &flag));
    return flag ? static_cast<long>(reinterpret_cast<std::uintptr_t>(value)) : -1;
  }

  Store store;
  Script script;
  Attributes list, list2;
  Holder a{Target::comm, MPI_COMM_WORLD, &list}, b{Target::comm, MPI_COMM_SELF, &list2};
};

TEST_F(AttributesTest, SetGetReplaceDelete) {
  const int key = logged();
  EXPECT_EQ(get(a, key), -1);
  ASSERT_FALSE(set(a, key, 1));
  EXPECT_EQ(get(a, key), 1);
  ASSERT_FALSE(set(a, key, 2));
  EXPECT_EQ(script.log, "d1") << "the old value was not given to the delete callback";
  EXPECT_EQ(get(a, key), 2);
  ASSERT_FALSE(delete_attribute(store, a, key));
  EXPECT_EQ(script.log, "d1d2");
  EXPECT_EQ(get(a, key), -1);
}

TEST_F(AttributesTest, CopyRunsInOrderAndDeleteInReverse) {
  const int k1 = logged(), k2 = logged();
  ASSERT_FALSE(set(a, k1, 1));
  ASSERT_FALSE(set(a, k2, 2));
  ASSERT_FALSE(copy_attributes(store, a, b));
  EXPECT_EQ(script.log, "c1c2");
  EXPECT_EQ(get(b, k1), 101);
  EXPECT_EQ(get(b, k2), 102);
  script.log.clear();
  ASSERT_FALSE(delete_attributes(store, b));
  EXPECT_EQ(script.log, "d102d101");
}

TEST_F(AttributesTest, ConstantsOfTheAbi) {
  const int dup = keyval(reinterpret_cast<void*>(dup_fn), nullptr);
  const int null = keyval(nullptr, nullptr);
  ASSERT_FALSE(set(a, dup, 7));
  ASSERT_FALSE(set(a, null, 8));
  ASSERT_FALSE(copy_attributes(store, a, b));
  EXPECT_EQ(get(b, dup), 7);
  EXPECT_EQ(get(b, null), -1);
  ASSERT_FALSE(delete_attributes(store, a));
  ASSERT_FALSE(delete_attributes(store, b));
}

TEST_F(AttributesTest, CopyMayDecline) {
  const int key = logged();
  script.flag = 0;
  ASSERT_FALSE(set(a, key, 1));
  ASSERT_FALSE(copy_attributes(store, a, b));
  EXPECT_EQ(get(b, key), -1);
}

TEST_F(AttributesTest, ErrorsOfCallbacksStopTheCall) {
  const int k1 = logged(), k2 = logged();
  ASSERT_FALSE(set(a, k1, 1));
  ASSERT_FALSE(set(a, k2, 2));
  script.copy_result = MPI_ERR_OTHER;
  EXPECT_EQ(copy_attributes(store, a, b).cls, MPI_ERR_OTHER);
  EXPECT_TRUE(list2.entries.empty());
  script.delete_result = MPI_ERR_IO;
  EXPECT_EQ(delete_attribute(store, a, k1).cls, MPI_ERR_IO);
  EXPECT_EQ(get(a, k1), 1) << "a refused deletion must leave the attribute";
  EXPECT_EQ(set(a, k1, 5).cls, MPI_ERR_IO);
  EXPECT_EQ(get(a, k1), 1);
  EXPECT_EQ(delete_attributes(store, a).cls, MPI_ERR_IO);
  script.delete_result = MPI_SUCCESS;
  ASSERT_FALSE(delete_attributes(store, a));
}

TEST_F(AttributesTest, AFreedKeyvalWorksOnForItsAttributes) {
  int key = logged();
  const int number = key;
  ASSERT_FALSE(set(a, key, 1));
  ASSERT_FALSE(free_keyval(store, Target::comm, &key));
  EXPECT_EQ(key, MPI_KEYVAL_INVALID);
  EXPECT_EQ(set(a, number, 2).cls, MPI_ERR_KEYVAL);
  EXPECT_NE(logged(), number) << "its number was given away while in use";
  EXPECT_EQ(get(a, number), 1);
  ASSERT_FALSE(copy_attributes(store, a, b));
  ASSERT_FALSE(delete_attribute(store, a, number));
  ASSERT_FALSE(delete_attributes(store, b));
  EXPECT_EQ(script.log, "c1d1d101");
  EXPECT_EQ(set(a, number, 3).cls, MPI_ERR_KEYVAL);
  EXPECT_EQ(logged(), number) << "the number of an unused keyval is used again";
}

TEST_F(AttributesTest, WrongKeyvalsAreRefused) {
  const int type_key = keyval(nullptr, nullptr, Target::type);
  for (int key :
       {type_key, int{MPI_KEYVAL_INVALID}, 1023, 999999, -1, int{MPI_TAG_UB}, int{MPI_WIN_BASE}}) {
    EXPECT_EQ(set(a, key, 1).cls, MPI_ERR_KEYVAL) << key;
    EXPECT_EQ(delete_attribute(store, a, key).cls, MPI_ERR_KEYVAL) << key;
    EXPECT_EQ(free_keyval(store, Target::comm, &key).cls, MPI_ERR_KEYVAL) << key;
  }
}

struct Reentrant {
  Store* store;
  const Holder* holder;
  int other;
};
int set_another(void*, int, void*, void* extra) {
  auto* r = static_cast<Reentrant*>(extra);
  return set_attribute(*r->store, *r->holder, r->other, &r->other).cls;
}

TEST_F(AttributesTest, CallbacksMayUseAttributes) {
  const int other = keyval(nullptr, nullptr);
  Reentrant reentrant{&store, &a, other};
  int key = 0;
  ASSERT_FALSE(create_keyval(store, Target::comm, nullptr, reinterpret_cast<void*>(set_another),
                             &key, &reentrant));
  ASSERT_FALSE(set(a, key, 1));
  ASSERT_FALSE(delete_attributes(store, a));
  EXPECT_TRUE(list.entries.empty()) << "what the callback set was not deleted too";
}

TEST_F(AttributesTest, DatatypesCarryTheirs) {
  const int key =
      keyval(reinterpret_cast<void*>(copy), reinterpret_cast<void*>(remove), Target::type);
  const datatype::Type& int_type = *store.type(MPI_INT);
  datatype::Type* derived = nullptr;
  ASSERT_FALSE(datatype::create_contiguous(store.types, 3, int_type, &derived));
  ASSERT_FALSE(set(holder(store, int_type), key, 1));
  ASSERT_FALSE(set(holder(store, *derived), key, 2));
  MPI_Datatype copied = MPI_DATATYPE_NULL;
  ASSERT_FALSE(dup_type(store, *derived, &copied));
  EXPECT_EQ(get(holder(store, *store.type(copied)), key), 102);
  script.log.clear();
  script.delete_result = MPI_ERR_OTHER;
  EXPECT_EQ(free_type(store, &copied).cls, MPI_ERR_OTHER);
  EXPECT_NE(copied, MPI_DATATYPE_NULL);
  script.delete_result = MPI_SUCCESS;
  ASSERT_FALSE(free_type(store, &copied));
  EXPECT_EQ(script.log, "d102d102");

  // A type that another one uses dies later, and its attributes with it.
  datatype::Type* outer = nullptr;
  ASSERT_FALSE(datatype::create_contiguous(store.types, 2, *derived, &outer));
  script.log.clear();
  MPI_Datatype handle = datatype::handle(*derived), outer_handle = datatype::handle(*outer);
  ASSERT_FALSE(free_type(store, &handle));
  EXPECT_EQ(script.log, "");
  ASSERT_FALSE(free_type(store, &outer_handle));
  EXPECT_EQ(script.log, "d2");
  EXPECT_EQ(get(holder(store, int_type), key), 1);
  ASSERT_FALSE(delete_attributes(store, holder(store, int_type)));
}

}  // namespace
}  // namespace weft::object
