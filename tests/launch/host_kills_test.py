#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks, agents, mpiexec and cables of jobs on several hosts go at any moment of a job's life, in both rank modes: five
seconds later the job has ended, and nothing of it is on any host. KILLS jobs (12); KILLS_SEED repeats a run."""
import os
import random
import signal
import subprocess
import time

import harness
from harness import MODES, PATIENCE, program

KILLS = int(os.environ.get("KILLS", "12"))
SEED = int(os.environ.get("KILLS_SEED", random.SystemRandom().randrange(1 << 32)))
VICTIMS = ("rank", "rank", "ranks of a host", "agent", "agent's worker", "all of a host", "mpiexec", "its worker", "connection", "cable", "cable", "all cables")
SOON = 5 * PATIENCE


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


class HostKills(harness.ClusterCase):
    def strike(self, child, victim, host, rng):
        """What there is of it now; mpiexec itself if there is nothing yet. Returns how to make it good."""
        if "cable" in victim:
            hosts = [host] if victim == "cable" else [f"n{i + 1}" for i in range(self.HOSTS)]
            for each in hosts:
                self.cluster("link", each, "down")
            return hosts
        there = self.on_hosts()
        agents = self.agent_and_worker(host)
        ranks = [pid for where, pid, command in there if where == host and program("busy") in command and not command.startswith(harness.MPIEXEC)]
        workers = [pid for pid in self.marked() if harness.parent_of(pid) == child.pid]
        found = {"rank": ranks and [rng.choice(ranks)], "ranks of a host": ranks, "agent": agents[:1], "agent's worker": agents[1:2],
                 "all of a host": ranks + agents, "mpiexec": [child.pid], "its worker": workers,
                 "connection": [pid for where, pid, command in there if where == "head" and f"exec {host} " in command]}[victim]
        for pid in found or [child.pid]:
            kill(pid)
        return []

    def test_nothing_is_left(self):
        print(f"KILLS_SEED={SEED} KILLS={KILLS}", flush=True)
        rng = random.Random(SEED)
        begin = time.monotonic()
        self.assertEqual(self.job("n1,n2,n3", program("busy"), 0, stdout=subprocess.DEVNULL, stderr=None).wait(30 * PATIENCE), 0)
        life = time.monotonic() - begin
        for i in range(KILLS):
            mode, where, seconds = MODES[i % 2], rng.choice(("n1:2,n2:2", "n1,n2,n3", "n1:1,n2:3", "n1:2,n2:2,n3:2")), rng.choice((0.5, 1, 2))
            victim, host = VICTIMS[i % len(VICTIMS)], rng.choice(("n1", "n2"))
            delay = rng.uniform(0, seconds + life / 2)
            about = f"job {i}: {victim} of {host}, {where}, {mode}, {seconds} s, after {delay:.3f} s; KILLS_SEED={SEED}"
            child = self.job(where, f"--ranks={mode}", program("busy"), seconds, stdout=subprocess.DEVNULL)
            self.addCleanup(child.kill)
            time.sleep(delay)
            pulled = self.strike(child, victim, host, rng)
            struck = time.monotonic()
            # What it could not be told of may also end as it would have, later.
            while (child.poll() is None or self.on_hosts()) and time.monotonic() < struck + SOON:
                time.sleep(0.02)
            left = self.on_hosts()
            if child.poll() is None:
                child.kill()
                self.fail(f"{about}: mpiexec lives after {SOON} s; {left}")
            err = child.stderr.read()
            self.assertEqual(left, [], f"{about}: {err}")
            said = [line for line in err.splitlines() if line.startswith("weft: ")]
            child.stderr.close()
            self.assertLessEqual(len(said), 1, f"{about}: {said}")
            if child.returncode not in (0, -signal.SIGKILL):
                self.assertEqual(len(said), 1, f"{about}: exit code {child.returncode}, and nothing said but {err!r}")
            print(f"{victim:16} {time.monotonic() - struck:4.1f} s, exit code {child.returncode:3}: {' '.join(said)}", flush=True)
            for each in pulled:
                self.cluster("link", each, "up")
            if pulled:
                self.cluster("exec", host, "true")  # it can be reached again


if __name__ == "__main__":
    harness.main()
