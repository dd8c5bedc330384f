// SPDX-License-Identifier: Apache-2.0
//
// Local functions of communicators.
#include "object/comm.h"

#include <algorithm>
#include <cstdio>
#include <iterator>

#include "base/params.h"
#include "object/group.h"
#include "object/info.h"
#include "object/store.h"

namespace weft::object {
namespace {

/// The assertions of MPI-5.0 §7.4.4, all booleans.
constexpr const char* known_hints[] = {
    "mpi_assert_no_any_tag",
    "mpi_assert_no_any_source",
    "mpi_assert_exact_length",
    "mpi_assert_allow_overtaking",
    "mpi_assert_strict_start_ordering",
    "mpi_assert_strict_persistent_collective_ordering",
};

bool is_usable_hint(const Comm& comm, const std::string& key, const std::string& value) {
  const auto is_key = [&](const char* known) { return key == known; };
  if (std::any_of(std::begin(known_hints), std::end(known_hints), is_key))
    return value == "true" || value == "false";
  const ParamDef* def = param_of_hint(key);
  std::int64_t number = 0;
  if (def != nullptr && param_parse(*def, value.c_str(), &number)) return true;
  if (def != nullptr && comm.rank == 0)
    std::fprintf(stderr, "weft: hint %s=%s of communicator %s is ignored: it takes %s\n",
                 key.c_str(), value.c_str(), comm.name.c_str(),
                 def->words != nullptr ? def->words : "0 or 1");
  return false;
}

Err intercomm_only(const Comm& comm) {
  if (comm.is_inter()) return ok;
  return fail(MPI_ERR_COMM,
              "the communicator is an intracommunicator; only an intercommunicator has a "
              "remote group (MPI_Comm_test_inter tells)");
}

}  // namespace

int compare_comms(const Comm& a, const Comm& b) {
  if (&a == &b) return MPI_IDENT;
  if (a.is_inter() != b.is_inter()) return MPI_UNEQUAL;
  int result = compare_groups(*a.group, *b.group);
  if (a.is_inter() && result != MPI_UNEQUAL) {
    const int remote = compare_groups(*a.remote, *b.remote);
    if (remote != MPI_IDENT) result = remote;
  }
  return result == MPI_IDENT ? MPI_CONGRUENT : result;
}

Err set_hints(Comm& comm, const Info* info) {
  const sync::Guard guard(comm.store->lock);
  if (info == nullptr) return ok;
  for (const auto& [key, value] : info->entries) {
    if (!is_usable_hint(comm, key, value)) continue;
    if (comm.hints == nullptr) comm.hints = comm.store->infos.create();
    WEFT_TRY(info_set(*comm.hints, key.c_str(), value.c_str()));
  }
  return ok;
}

void get_hints(const Comm& comm, MPI_Info* out) {
  dup_info(*comm.store, comm.hints, out);
}

Err remote_group(const Comm& comm, MPI_Group* out) {
  WEFT_TRY(intercomm_only(comm));
  share_group(*comm.store, *comm.remote, out);
  return ok;
}

Err remote_size(const Comm& comm, int* size) {
  WEFT_TRY(intercomm_only(comm));
  *size = comm.remote->size();
  return ok;
}

}  // namespace weft::object
