// SPDX-License-Identifier: Apache-2.0
// Communicator construction (MPI-5.0 §7.4, §7.6): what comes out, that messages of different
// communicators never meet, and that nothing is left behind.
#include "world/comms.h"
#include "world/comm_agree.h"

#include <algorithm>

#include "coll/coll.h"
#include "object/attribute.h"
#include "object/comm.h"
#include "object/group.h"
#include "object/info.h"
#include "unit/world/ranks.h"

namespace weft::world {
namespace {

using object::handle_of;

const datatype::Type& int_type() {
  return *datatype::predefined(reinterpret_cast<std::uintptr_t>(MPI_INT));
}

/// Sum over a communicator: right only if it connects exactly its members.
int sum(Comm& comm, int mine) {
  int result = -1;
  const object::Op* op = object::predefined_op(MPI_SUM);
  EXPECT_FALSE(coll::allreduce({&mine, &result, 1, &int_type(), op}, comm));
  return result;
}

void free_comm(Rank& rank, MPI_Comm handle) {
  Comm* comm = rank.store.comm(handle);
  ASSERT_NE(comm, nullptr);
  EXPECT_FALSE(comm_free(*comm, &handle));
  EXPECT_EQ(handle, MPI_COMM_NULL);
}

class Comms : public testing::TestWithParam<int> {
 protected:
  template <class Body>
  void run(Body body) {
    run_ranks(GetParam(), [&](Rank& rank) {
      body(rank, *rank.store.comm_world);
      EXPECT_EQ(rank.store.comms.live(), 2u) << "communicators were lost";
      EXPECT_EQ(rank.store.groups.live(), 3u) << "groups were lost";
      EXPECT_EQ(rank.store.requests.live(), 0u);
    });
  }
};
INSTANTIATE_TEST_SUITE_P(Sizes, Comms, testing::Values(1, 2, 3, 4, 7),
                         testing::PrintToStringParamName());

class Intercomms : public Comms {};
INSTANTIATE_TEST_SUITE_P(Sizes, Intercomms, testing::Values(2, 3, 4, 7),
                         testing::PrintToStringParamName());

TEST_P(Comms, Predefined) {
  run([](Rank& rank, Comm& world) {
    EXPECT_EQ(handle_of(world), MPI_COMM_WORLD);
    EXPECT_EQ(world.rank, rank.world_rank);
    EXPECT_EQ(rank.store.comm_self->size(), 1);
    EXPECT_EQ(rank.store.comm(MPI_COMM_NULL), nullptr);
    MPI_Comm handle = MPI_COMM_WORLD;
    EXPECT_EQ(comm_free(world, &handle).cls, MPI_ERR_COMM);
    EXPECT_EQ(handle, MPI_COMM_WORLD);
    int flag = 0, *tag_ub = nullptr;
    EXPECT_FALSE(object::get_comm_attribute(world, MPI_TAG_UB, &tag_ub, &flag));
    EXPECT_EQ(*tag_ub, 0x7fffffff);
  });
}

TEST_P(Comms, DupIsCongruentAndApart) {
  run([](Rank& rank, Comm& world) {
    MPI_Comm handle;
    ASSERT_FALSE(comm_dup(world, &handle));
    Comm& dup = *rank.store.comm(handle);
    EXPECT_EQ(object::compare_comms(world, dup), MPI_CONGRUENT);
    EXPECT_NE(dup.context, world.context);
    EXPECT_EQ(dup.name, "");
    // The same source and tag on both communicators, received in the other order.
    const int p = world.size(), next = (world.rank + 1) % p, before = (world.rank + p - 1) % p;
    const int on_world = 1, on_dup = 2;
    MPI_Request requests[2];
    ASSERT_FALSE(pt2pt::isend({&on_world, 1, &int_type()}, next, 5, world, pt2pt::Mode::standard,
                              &requests[0]));
    ASSERT_FALSE(
        pt2pt::isend({&on_dup, 1, &int_type()}, next, 5, dup, pt2pt::Mode::standard, &requests[1]));
    int got = 0;
    ASSERT_FALSE(pt2pt::recv({&got, 1, &int_type()}, before, 5, dup, MPI_STATUS_IGNORE));
    EXPECT_EQ(got, on_dup);
    ASSERT_FALSE(pt2pt::recv({&got, 1, &int_type()}, before, 5, world, MPI_STATUS_IGNORE));
    EXPECT_EQ(got, on_world);
    ASSERT_FALSE(pt2pt::waitall(requests, MPI_STATUSES_IGNORE));
    EXPECT_EQ(sum(dup, 1), p);
    free_comm(rank, handle);
    EXPECT_EQ(rank.store.comm(handle), nullptr);
  });
}

TEST_P(Comms, SplitByColorThenKeyThenRank) {
  run([](Rank& rank, Comm& world) {
    const int p = world.size(), r = world.rank;
    MPI_Comm handle;
    ASSERT_FALSE(comm_split(world, r % 2, -r, &handle));  // keys reverse the order
    Comm& half = *rank.store.comm(handle);
    const int n = (p + (r % 2 == 0)) / 2;
    EXPECT_EQ(half.size(), n);
    EXPECT_EQ(half.rank, n - 1 - r / 2);
    EXPECT_EQ(sum(half, r % 2), n * (r % 2));
    free_comm(rank, handle);
    ASSERT_FALSE(comm_split(world, r == 0 ? MPI_UNDEFINED : 3, 7, &handle));
    if (r == 0) {
      EXPECT_EQ(handle, MPI_COMM_NULL);
    } else {
      EXPECT_EQ(rank.store.comm(handle)->rank, r - 1) << "equal keys keep the old order";
      free_comm(rank, handle);
    }
    EXPECT_EQ(comm_split(*rank.store.comm_self, -5, 0, &handle).cls, MPI_ERR_ARG);
  });
}

TEST_P(Comms, SplitType) {
  run([](Rank& rank, Comm& world) {
    const int p = world.size(), r = world.rank;
    MPI_Comm handle;
    ASSERT_FALSE(comm_split_type(world, MPI_COMM_TYPE_SHARED, -r, nullptr, &handle));
    EXPECT_EQ(rank.store.comm(handle)->size(), p);
    EXPECT_EQ(rank.store.comm(handle)->rank, p - 1 - r);
    free_comm(rank, handle);
    ASSERT_FALSE(
        comm_split_type(world, r ? int{MPI_COMM_TYPE_SHARED} : MPI_UNDEFINED, 0, nullptr, &handle));
    EXPECT_EQ(handle == MPI_COMM_NULL, r == 0);
    if (r) free_comm(rank, handle);
    EXPECT_EQ(comm_split_type(*rank.store.comm_self, 12345, 0, nullptr, &handle).cls, MPI_ERR_ARG);
    if (p > 1) {
      const int type = r ? MPI_COMM_TYPE_SHARED : MPI_COMM_TYPE_HW_GUIDED;
      EXPECT_EQ(comm_split_type(world, type, 0, nullptr, &handle).cls, MPI_ERR_ARG);
    }

    Info* info = rank.store.infos.create();
    const auto guided = [&](int type, const char* key, const char* value) {
      info->entries = {{key, value}};
      EXPECT_FALSE(comm_split_type(world, type, 0, info, &handle));
      const int size = handle == MPI_COMM_NULL ? 0 : rank.store.comm(handle)->size();
      if (size != 0) free_comm(rank, handle);
      return size;
    };
    EXPECT_EQ(guided(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "mpi_shared_memory"), p);
    EXPECT_EQ(guided(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "hwloc://Machine"), p);
    EXPECT_EQ(guided(MPI_COMM_TYPE_HW_GUIDED, "mpi_hw_resource_type", "the moon"), 0);
    EXPECT_EQ(guided(MPI_COMM_TYPE_HW_GUIDED, "other", "x"), 0);
    EXPECT_EQ(guided(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://WORLD"), p);
    EXPECT_EQ(guided(MPI_COMM_TYPE_RESOURCE_GUIDED, "mpi_pset_name", "mpi://SELF"), 1);
    // The ranks of this test may use the same CPUs: no level divides them.
    EXPECT_EQ(guided(MPI_COMM_TYPE_HW_UNGUIDED, "other", "x"), 0);
    rank.store.infos.destroy(info);

    MPI_Info resources;
    ASSERT_FALSE(hw_resource_info(rank, &resources));
    EXPECT_EQ(*object::info_find(rank.store.info(resources), "hwloc://Machine"), "true");
    ASSERT_FALSE(object::free_info(rank.store, &resources));
  });
}

TEST(SplitType, FollowsTheHierarchy) {
  run_ranks(
      8,
      [](Rank& rank) {
        const int r = rank.world_rank;
        Comm& world = *rank.store.comm_world;
        Info* info = rank.store.infos.create();
        const auto split = [&](int type, const char* resource) {
          MPI_Comm handle;
          info->entries = {{"mpi_hw_resource_type", resource}};
          EXPECT_FALSE(comm_split_type(world, type, 0, info, &handle));
          Members members;
          if (handle != MPI_COMM_NULL) {
            members = rank.store.comm(handle)->group->members;
            free_comm(rank, handle);
          }
          return members;
        };
        const Members package = r < 4 ? Members{0, 1, 2, 3} : Members{4, 5, 6, 7};
        const Members cache = {r & ~1, r | 1};
        EXPECT_EQ(split(MPI_COMM_TYPE_HW_GUIDED, "hwloc://Package"), package);
        EXPECT_EQ(split(MPI_COMM_TYPE_HW_GUIDED, "L3Cache"), cache);
        EXPECT_EQ(split(MPI_COMM_TYPE_RESOURCE_GUIDED, "hwloc://L3Cache"), cache);
        EXPECT_EQ(split(MPI_COMM_TYPE_HW_GUIDED, "hwloc://PU"), Members{}) << "a core has two";
        EXPECT_EQ(split(MPI_COMM_TYPE_HW_UNGUIDED, "?"), package);
        EXPECT_EQ(*object::info_find(info, "mpi_hw_resource_type"), "hwloc://Package");
        rank.store.infos.destroy(info);

        MPI_Info resources;
        ASSERT_FALSE(hw_resource_info(rank, &resources));
        const Info* found = rank.store.info(resources);
        EXPECT_EQ(*object::info_find(found, "hwloc://Core"), "true");
        EXPECT_EQ(*object::info_find(found, "hwloc://PU"), "false");
        EXPECT_EQ(object::info_find(found, "hwloc://L2Cache"), nullptr) << "this machine has none";
        ASSERT_FALSE(object::free_info(rank.store, &resources));
      },
      MPI_THREAD_SINGLE, "package:2 l3:2 core:2 pu:2");
}

TEST_P(Comms, CreateAndCreateGroup) {
  run([](Rank& rank, Comm& world) {
    const int p = world.size();
    std::vector<std::int32_t> backwards;
    for (int i = p; i-- > 0;)
      if (i != 1) backwards.push_back(i);
    Group* group = object::make_group(rank.store, backwards);
    MPI_Comm handle;
    ASSERT_FALSE(comm_create(world, *group, &handle));
    if (world.rank == 1) {
      EXPECT_EQ(handle, MPI_COMM_NULL);
    } else {
      Comm& made = *rank.store.comm(handle);
      EXPECT_EQ(made.group->members, backwards);
      EXPECT_EQ(sum(made, 1), static_cast<int>(backwards.size()));
      free_comm(rank, handle);
      // Only members call this one.
      ASSERT_FALSE(comm_create_group(world, *group, 2147483647, &handle));
      EXPECT_EQ(sum(*rank.store.comm(handle), 1), static_cast<int>(backwards.size()));
      free_comm(rank, handle);
      ASSERT_FALSE(comm_create_from_group(rank, *group, "org.weft.test", nullptr,
                                          rank.store.errors_return, &handle));
      EXPECT_EQ(sum(*rank.store.comm(handle), 1), static_cast<int>(backwards.size()));
      EXPECT_EQ(rank.store.comm(handle)->errhandler, &rank.store.errors_return);
      free_comm(rank, handle);
    }
    rank.store.groups.destroy(group);
    ASSERT_FALSE(comm_create(world, *rank.store.group_empty, &handle));
    EXPECT_EQ(handle, MPI_COMM_NULL);
    Group* foreign = object::make_group(rank.store, {rank.world_rank, 999});
    EXPECT_EQ(comm_create(*rank.store.comm_self, *foreign, &handle).cls, MPI_ERR_GROUP);
    rank.store.groups.destroy(foreign);
  });
}

TEST_P(Comms, ManyIdupsAtOnceMixWithOtherConstructions) {
  run([](Rank& rank, Comm& world) {
    constexpr int n = 5;
    MPI_Comm dups[n], between, split;
    MPI_Request requests[n];
    for (int i = 0; i < n; ++i) {
      ASSERT_FALSE(comm_idup(world, nullptr, &dups[i], &requests[i]));
      if (i == 2) {
        ASSERT_FALSE(comm_dup(world, &between));
        ASSERT_FALSE(comm_split(world, 0, 0, &split));
      }
    }
    for (int i = n; i-- > 0;) ASSERT_FALSE(pt2pt::wait(&requests[i], MPI_STATUS_IGNORE));
    std::vector<std::uint64_t> contexts{world.context};
    for (const MPI_Comm handle : {dups[0], dups[1], dups[2], dups[3], dups[4], between, split}) {
      Comm& comm = *rank.store.comm(handle);
      contexts.push_back(comm.context);
      EXPECT_EQ(sum(comm, 1), world.size());
      // All ranks have the same number for it.
      EXPECT_EQ(sum(world, static_cast<int>(comm.context)),
                static_cast<int>(comm.context) * world.size());
    }
    std::sort(contexts.begin(), contexts.end());
    EXPECT_EQ(std::unique(contexts.begin(), contexts.end()), contexts.end())
        << "a context was given twice";
    for (const MPI_Comm handle : dups) free_comm(rank, handle);
    free_comm(rank, between);
    free_comm(rank, split);
  });
}

TEST_P(Comms, PendingOperationsKeepAFreedCommunicator) {
  run([](Rank& rank, Comm& world) {
    const int p = world.size(), next = (world.rank + 1) % p, before = (world.rank + p - 1) % p;
    MPI_Comm handle;
    ASSERT_FALSE(comm_dup(world, &handle));
    Comm& dup = *rank.store.comm(handle);
    int got = 0;
    const int sent = 40 + world.rank;
    MPI_Request request;
    ASSERT_FALSE(pt2pt::irecv({&got, 1, &int_type()}, before, 0, dup, &request));
    ASSERT_FALSE(pt2pt::send({&sent, 1, &int_type()}, next, 0, dup));
    free_comm(rank, handle);
    EXPECT_EQ(rank.store.comm(handle), nullptr) << "the handle is gone at once";
    ASSERT_FALSE(pt2pt::wait(&request, MPI_STATUS_IGNORE));
    EXPECT_EQ(got, 40 + before);
  });
}

TEST_P(Comms, AttributesAndHintsOfDuplicates) {
  run([](Rank& rank, Comm& world) {
    int key = 0;
    ASSERT_FALSE(object::create_keyval(rank.store, object::Target::comm, reinterpret_cast<void*>(1),
                                       nullptr, &key, nullptr));
    ASSERT_FALSE(object::set_attribute(rank.store, object::holder(world), key, &key));
    Info* info = rank.store.infos.create();
    info->entries = {
        {"mpi_assert_no_any_tag", "true"}, {"unknown", "x"}, {"mpi_assert_exact_length", "2"}};
    MPI_Comm handle, plain;
    ASSERT_FALSE(comm_dup_with_info(world, info, &handle));
    rank.store.infos.destroy(info);
    Comm& dup = *rank.store.comm(handle);
    void* value = nullptr;
    int flag = 0;
    EXPECT_FALSE(object::get_comm_attribute(dup, key, &value, &flag));
    EXPECT_EQ(value, &key);
    ASSERT_NE(dup.hints, nullptr);
    EXPECT_EQ(dup.hints->entries.size(), 1u) << "only known and valid hints are kept";
    ASSERT_FALSE(comm_dup(dup, &plain));
    EXPECT_EQ(rank.store.comm(plain)->hints, nullptr) << "MPI_Comm_dup does not pass hints on";
    free_comm(rank, plain);
    free_comm(rank, handle);
    ASSERT_FALSE(object::delete_attribute(rank.store, object::holder(world), key));
  });
}

/// Even and odd ranks as an intercommunicator.
void make_intercomm(Rank& rank, Comm& world, MPI_Comm* half_out, MPI_Comm* out) {
  const int side = world.rank % 2;
  ASSERT_FALSE(comm_split(world, side, 0, half_out));
  Comm& half = *rank.store.comm(*half_out);
  Comm* peer = half.rank == 0 ? &world : nullptr;
  ASSERT_FALSE(intercomm_create(half, 0, peer, 1 - side, 11, out));
}

TEST_P(Intercomms, ConnectTwoGroups) {
  run([](Rank& rank, Comm& world) {
    const int p = world.size(), side = world.rank % 2;
    MPI_Comm half, handle, made;
    make_intercomm(rank, world, &half, &handle);
    Comm& inter = *rank.store.comm(handle);
    ASSERT_TRUE(inter.is_inter());
    int remote = 0;
    ASSERT_FALSE(object::remote_size(inter, &remote));
    EXPECT_EQ(inter.size() + remote, p);
    EXPECT_EQ(inter.group->members[0], side);
    EXPECT_EQ(inter.remote->members[0], 1 - side);
    EXPECT_EQ(object::remote_size(world, &remote).cls, MPI_ERR_COMM);
    const int mine = 100 + world.rank;
    int got = 0;
    if (inter.rank < remote) {
      ASSERT_FALSE(pt2pt::sendrecv({&mine, 1, &int_type()}, inter.rank, 1, {&got, 1, &int_type()},
                                   inter.rank, 1, inter, MPI_STATUS_IGNORE));
      EXPECT_EQ(got, 100 + inter.rank * 2 + (1 - side));
    }
    ASSERT_FALSE(comm_dup(inter, &made));
    EXPECT_EQ(object::compare_comms(inter, *rank.store.comm(made)), MPI_CONGRUENT);
    ASSERT_FALSE(coll::barrier(*rank.store.comm(made)));
    free_comm(rank, made);

    for (const int odd_first : {0, 1}) {
      ASSERT_FALSE(intercomm_merge(inter, odd_first ? 1 - side : side, &made));
      Comm& merged = *rank.store.comm(made);
      EXPECT_EQ(merged.size(), p);
      EXPECT_EQ(merged.group->members[0], odd_first);
      EXPECT_EQ(sum(merged, 1), p);
      free_comm(rank, made);
    }

    // Colors that exist on one side only give no communicator.
    ASSERT_FALSE(comm_split(inter, inter.rank, 0, &made));
    EXPECT_EQ(made == MPI_COMM_NULL, inter.rank >= remote);
    if (made != MPI_COMM_NULL) {
      EXPECT_EQ(rank.store.comm(made)->size(), 1);
      EXPECT_EQ(rank.store.comm(made)->remote->members[0], 2 * inter.rank + 1 - side);
      ASSERT_FALSE(coll::barrier(*rank.store.comm(made)));
      free_comm(rank, made);
    }

    // The last rank of each side.
    Group* last = object::make_group(rank.store, {inter.group->members.back()});
    ASSERT_FALSE(comm_create(inter, *last, &made));
    EXPECT_EQ(made == MPI_COMM_NULL, inter.rank != inter.size() - 1);
    if (made != MPI_COMM_NULL) {
      EXPECT_EQ(rank.store.comm(made)->remote->members[0], inter.remote->members.back());
      free_comm(rank, made);
    }
    rank.store.groups.destroy(last);

    FromGroups args{
        *inter.group, 0, inter.remote, 0, "org.weft.inter", nullptr, rank.store.errors_return};
    ASSERT_FALSE(intercomm_create_from_groups(rank, args, &made));
    EXPECT_EQ(object::compare_comms(inter, *rank.store.comm(made)), MPI_CONGRUENT);
    free_comm(rank, made);

    MPI_Request request;
    ASSERT_FALSE(comm_idup(inter, nullptr, &made, &request));
    ASSERT_FALSE(pt2pt::wait(&request, MPI_STATUS_IGNORE));
    ASSERT_FALSE(coll::barrier(*rank.store.comm(made)));
    free_comm(rank, made);
    free_comm(rank, handle);
    free_comm(rank, half);
  });
}

TEST_P(Intercomms, RefuseWhatCannotBe) {
  run([](Rank& rank, Comm& world) {
    MPI_Comm half, made = MPI_COMM_NULL;
    ASSERT_FALSE(comm_split(world, world.rank % 2, 0, &half));
    Comm& mine = *rank.store.comm(half);
    Comm* peer = mine.rank == 0 ? &world : nullptr;
    // The leader's mistake becomes an error at every rank of its group.
    EXPECT_TRUE(intercomm_create(mine, 0, peer, 999, 3, &made));
    EXPECT_EQ(made, MPI_COMM_NULL);
    EXPECT_TRUE(intercomm_create(mine, 0, peer, world.rank, 3, &made));
    EXPECT_EQ(intercomm_merge(mine, 0, &made).cls, MPI_ERR_COMM);
    EXPECT_EQ(sum(mine, 1), mine.size()) << "the communicator is usable after the errors";
    free_comm(rank, half);
  });
}

TEST_P(Comms, ThousandsLeaveNothingBehind) {
  run([](Rank& rank, Comm& world) {
    for (int i = 0; i < 1000; ++i) {
      MPI_Comm handle;
      ASSERT_FALSE(i % 2 ? comm_dup(world, &handle) : comm_split(world, 0, i, &handle));
      free_comm(rank, handle);
    }
    EXPECT_EQ(sum(world, 1), world.size());
  });
}

TEST_P(Comms, DisconnectWaitsForWhatIsPending) {
  run([](Rank& rank, Comm& world) {
    MPI_Comm handle;
    ASSERT_FALSE(comm_dup(world, &handle));
    Comm& dup = *rank.store.comm(handle);
    const int p = world.size(), next = (world.rank + 1) % p, before = (world.rank + p - 1) % p;
    std::vector<int> big(200000, world.rank), got(200000, -1);
    MPI_Request requests[2];
    ASSERT_FALSE(pt2pt::irecv({got.data(), 200000, &int_type()}, before, 0, dup, &requests[0]));
    ASSERT_FALSE(pt2pt::isend({big.data(), 200000, &int_type()}, next, 0, dup,
                              pt2pt::Mode::standard, &requests[1]));
    for (MPI_Request& request : requests) ASSERT_FALSE(pt2pt::request_free(&request));
    ASSERT_FALSE(comm_disconnect(dup, &handle));
    EXPECT_EQ(handle, MPI_COMM_NULL);
    EXPECT_EQ(got.back(), before);
  });
}

}  // namespace
}  // namespace weft::world
