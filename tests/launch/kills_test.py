#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kill what belongs to a job, at any moment of its life: a second later nothing of it is there, no process, no file,
no socket. KILLS jobs (40), in both rank modes; KILLS_SEED repeats a run.

The moments are spread over the whole life of a job: mpiexec's start, MPI_Init, messages, MPI_Finalize."""
import os
import random
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import harness
from harness import MODES, PATIENCE, program

KILLS = int(os.environ.get("KILLS", "40"))
SEED = int(os.environ.get("KILLS_SEED", random.SystemRandom().randrange(1 << 32)))
VICTIMS = ("rank", "ranks", "supervisor", "worker", "both", "both, stopped")


def children(pid):
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def kill(pid, number=signal.SIGKILL):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


class Kills(harness.Case):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="kills-")
        self.addCleanup(self.folder.cleanup)
        super().setUp()

    def start(self, random):
        """A job and how long it takes at least. Wrapped, with children of its own, with files (--debug)."""
        mode, n, seconds = random.choice(MODES), random.randint(2, 8), random.choice((0, 0.02, 0.1))
        command = [program("busy"), str(seconds)]
        kind = random.choice(("plain", "plain", "plain", "wrapped", "with children", "debug"))
        if kind == "wrapped":
            command = ["/bin/sh", "-c", " ".join(command) + "; true"]
        if kind == "with children":
            command = ["/bin/sh", "-c", "sleep 100 & " + " ".join(command)]
        words = [f"--ranks={mode}", "-n", str(n)] + (["--debug"] if kind == "debug" else [])
        child = subprocess.Popen([harness.MPIEXEC, *words, *command], env=self.env({"TMPDIR": self.folder.name}), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        return child, seconds, f"{kind} job of {n} ranks ({mode}), {seconds} s"

    def victims(self, child, name, random):
        """Processes that are there now."""
        worker = children(child.pid)[-1:]
        ranks = children(worker[0]) if worker else []
        if name == "supervisor" or not worker:
            return [child.pid]
        if name.startswith("both"):
            return random.sample([child.pid, *worker], 2)
        if name == "worker" or not ranks:
            return worker
        return ranks if name == "ranks" else [random.choice(ranks)]

    def what_is_left(self):
        return self.marked(), os.listdir(self.folder.name), sorted(harness.leftovers() - self.files_before)

    def test_nothing_is_left(self):
        print(f"KILLS_SEED={SEED} KILLS={KILLS}", flush=True)
        rng = random.Random(SEED)
        begin = time.monotonic()
        subprocess.run([harness.MPIEXEC, "-n", "4", program("busy"), "0"], check=True, stdout=subprocess.DEVNULL)
        life = time.monotonic() - begin  # of a job that does nothing, here and now
        for i in range(KILLS):
            child, seconds, about = self.start(rng)
            delay, name = rng.uniform(0, seconds + 1.2 * life), rng.choice(VICTIMS)
            about = f"job {i}: {name} of a {about}, killed after {delay:.4f} s; KILLS_SEED={SEED}"
            time.sleep(delay)
            victims = self.victims(child, name, rng)
            for number in (signal.SIGSTOP, signal.SIGKILL) if "stopped" in name else (signal.SIGKILL,):
                for pid in victims:
                    kill(pid, number)
            deadline = time.monotonic() + 1 * PATIENCE
            while child.poll() is None or any(self.what_is_left()):
                if time.monotonic() > deadline and (child.poll() is None or any(self.what_is_left())):
                    left = self.what_is_left()
                    kill(child.pid)
                    self.fail(f"{about}: after 1 s there is {left}")
                time.sleep(0.002)


if __name__ == "__main__":
    harness.main()
