// SPDX-License-Identifier: Apache-2.0
//
// Signals of ranks: what interpose_signal.cc and interpose_timer.cc need of signals.cc.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include "rank.h"

namespace weft::host {

/// sigaction for a rank; `signal` is one that can be handled.
int set_action(Rank& rank, int signal, const struct sigaction* wanted, struct sigaction* old);
/// End the process by `signal`, as the rank's doing (nullptr: nobody's), and say so.
void die(Rank* rank, int signal);
/// Whether `signal`, sent to the calling thread now, would kill: nothing handles or blocks it.
bool would_kill(const Rank& rank, int signal);
/// The rank whose process id, as a rank or a child that it forked sees it, is `pid`; or nullptr.
Rank* rank_of_process(pid_t pid);
/// Before `signal` is sent to another thread of this process: one that kills names its rank first.
void prepare_to_send(Rank& rank, int signal);

/// From now on `signal`, when it comes to the rank's main thread and kills, names the rank.
void watch(Rank& rank, int signal);

}  // namespace weft::host
