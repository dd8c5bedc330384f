// SPDX-License-Identifier: Apache-2.0
//
// Making and dropping the Store's predefined objects, and reference counts: an object goes when its
// last owner lets go of it.
#include "object/store.h"

#include "object/topology.h"

namespace weft::object {
namespace {

void make_predefined(Errhandler& errhandler, Errhandler::What what) {
  errhandler.kind = Kind::errhandler;
  errhandler.refs = 1;
  errhandler.what = what;
}

void destroy(Comm& comm) {
  Store& store = *comm.store;
  if (store.comm_gone != nullptr) store.comm_gone(comm);
  const sync::Guard guard(store.lock);
  free_topology(comm.topology);
  for (Group* group : {comm.group, comm.remote})
    if (group != nullptr && drop_owner(*group, true)) store.groups.destroy(group);
  if (comm.errhandler != nullptr) release(*comm.errhandler);
  if (comm.hints != nullptr) store.infos.destroy(comm.hints);
  store.comms.destroy(&comm);
}

}  // namespace

Store::Store() {
  make_predefined(errors_are_fatal, Errhandler::What::fatal);
  make_predefined(errors_abort, Errhandler::What::abort);
  make_predefined(errors_return, Errhandler::What::returns);
  group_empty = groups.create();
  info_env = infos.create();
  types.forget = forget_type;
  types.lock = &lock;
}

Store::~Store() {
  groups.destroy(group_empty);
  infos.destroy(info_env);
}

Errhandler* Store::errhandler(MPI_Errhandler handle) {
  if (handle == MPI_ERRORS_ARE_FATAL) return &errors_are_fatal;
  if (handle == MPI_ERRORS_ABORT) return &errors_abort;
  if (handle == MPI_ERRORS_RETURN) return &errors_return;
  if (is_constant(handle) || !is_live(handle, Kind::errhandler)) return nullptr;
  auto* errhandler = reinterpret_cast<Errhandler*>(handle);
  return errhandler->handles > 0 && errhandler->store == this ? errhandler : nullptr;
}

Request* Store::create_request() {
  const sync::Guard guard(lock);
  return requests.create();
}

void Store::destroy(Request* request) {
  const sync::Guard guard(lock);
  requests.destroy(request);
}

void retain(Comm& comm) {
  if (comm.by_tag || comm.users++ == 0) add_owner(comm, comm.threads);
}

void release(Comm& comm) {
  if (comm.by_tag || --comm.users == 0) give_up(comm);
}

void give_up(Comm& comm) {
  if (drop_owner(comm, comm.threads)) destroy(comm);
}

void retain(const Op& op) {
  if (op.store != nullptr) add_owner(op, true);
}

void release(const Op& op) {
  if (op.store == nullptr || !drop_owner(op, true)) return;
  const sync::Guard guard(op.store->lock);
  op.store->ops.destroy(const_cast<Op*>(&op));
}

void retain(Errhandler& errhandler) {
  if (errhandler.store != nullptr) add_owner(errhandler, true);
}

void release(Errhandler& errhandler) {
  if (errhandler.store == nullptr || !drop_owner(errhandler, true)) return;
  const sync::Guard guard(errhandler.store->lock);
  errhandler.store->errhandlers.destroy(&errhandler);
}

MPI_Comm handle_of(const Comm& comm) {
  if (&comm == comm.store->comm_world) return MPI_COMM_WORLD;
  if (&comm == comm.store->comm_self) return MPI_COMM_SELF;
  return reinterpret_cast<MPI_Comm>(const_cast<Comm*>(&comm));
}

MPI_Session handle_of(const Session& session) {
  return reinterpret_cast<MPI_Session>(const_cast<Session*>(&session));
}

MPI_Group handle_of(const Group& group) {
  if (group.members.empty()) return MPI_GROUP_EMPTY;
  return reinterpret_cast<MPI_Group>(const_cast<Group*>(&group));
}

MPI_Errhandler handle_of(const Errhandler& errhandler) {
  switch (errhandler.what) {
    case Errhandler::What::fatal:
      return MPI_ERRORS_ARE_FATAL;
    case Errhandler::What::abort:
      return MPI_ERRORS_ABORT;
    case Errhandler::What::returns:
      return MPI_ERRORS_RETURN;
    default:
      return reinterpret_cast<MPI_Errhandler>(const_cast<Errhandler*>(&errhandler));
  }
}

}  // namespace weft::object
