// SPDX-License-Identifier: Apache-2.0
//
// What mpiexec and its agents say to each other about ranks that are spawned, and about the job's
// directory. A world that is spawned has a serial number; 0 is that of the start.
//
//     agent of who asks            mpiexec                     every agent
//       spawn  ---- Wanted ------->  gives them seats
//                                    ---- place (Placement) ->  writes it into its memory, and its
//                                    <--- placed (StartOutcome)  worker starts the ranks that are
//                                    here
//       <--------- answer (Answer)   when all have
//                                    <--- told (Told) --------  where ranks are in the network
//                                    ---- told -------------->
//                                    <--- known (serial) -----
//                                    ---- reached (serial) -->  when all know: MPI_Init goes on
//                                    <--- ended (serial) -----  none of its ranks runs here any
//                                    more
//                                    ---- vacate (serial) --->  nor elsewhere: the seats are free
//
// withdraw ends what runs of a world that could not be started everywhere, and is answered by one
// more ended: until then the order's memory is in use. leaving (Leaving) passes on who is in
// MPI_Finalize, and which guests have ended; dismiss ends the workers when no world is left that
// could spawn others.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "order.h"

namespace weft::launch {

struct Wanted {
  std::uint64_t at = 0;  // of the order, in the memory of the node of who asks
  std::uint64_t world = 0, link = 0;
  std::vector<std::int32_t> parents;
  std::string text;
};
struct Placement {
  std::uint64_t serial = 0, world = 0, link = 0;
  std::int32_t first = 0;
  std::vector<std::int32_t> node_of, parents;
  std::string text;
};
/// "": all is well.
struct StartOutcome {
  std::uint64_t serial = 0;
  std::string why;
};
struct Question {
  std::uint64_t at = 0;
  std::uint32_t what = 0;
  std::string name, value;
};
/// To an order or a question.
struct Answer {
  std::uint64_t at = 0;
  bool is_question = false, is_granted = false;
  std::int32_t first = 0;
  std::string text;
};
struct Told {
  std::uint64_t serial = 0;
  Addresses addresses;
};

/// Ranks, or guests and how they have ended.
struct Leaving {
  std::vector<std::int32_t> who;
  std::uint32_t how = 0;  // a memory::GuestEnd; none: ranks
};

template <class A>
void fields(A& a, Leaving& l) {
  a(l.who, l.how);
}
template <class A>
void fields(A& a, Wanted& w) {
  a(w.at, w.world, w.link, w.parents, w.text);
}
template <class A>
void fields(A& a, Placement& p) {
  a(p.serial, p.world, p.link, p.first, p.node_of, p.parents, p.text);
}
template <class A>
void fields(A& a, StartOutcome& o) {
  a(o.serial, o.why);
}
template <class A>
void fields(A& a, Question& q) {
  a(q.at, q.what, q.name, q.value);
}
template <class A>
void fields(A& a, Answer& r) {
  a(r.at, r.is_question, r.is_granted, r.first, r.text);
}
template <class A>
void fields(A& a, Told& t) {
  a(t.serial, t.addresses);
}

}  // namespace weft::launch
