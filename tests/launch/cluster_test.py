#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs on hosts that scripts/cluster makes: each has a network, a name, processes and memory of its own, and mpiexec
reaches it over its cable only. Left out without root."""
import os
import re
import signal
import subprocess
import sys
import time
import unittest

import hang_test
import harness
from harness import MODES, PATIENCE, program

# The most that a job may live when something of it is lost, and that anything of it may be anywhere.
SOON = 5 * PATIENCE
PLACES = {2: "n1:2,n2:2", 3: "n1:1,n2:2,n3:1"}


class Jobs(harness.ClusterCase):
    def run_job(self, where, *words, timeout=60):
        begin = time.monotonic()
        child = self.job(where, *words)
        try:
            out, err = child.communicate(timeout=timeout * PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            self.fail(f"no end after {timeout} s: {words}\n{child.communicate()}")
        return harness.Result(child.returncode, out, err, time.monotonic() - begin)

    def busy(self, mode, n, seconds=100):
        return self.busy_on(PLACES[n], 4 if mode == "process" else n, f"--ranks={mode}", program("busy"), seconds)

    def busy_on(self, where, wanted, *words):
        """A job whose ranks have come to messages and collectives."""
        child = self.job(where, *words)
        self.addCleanup(child.kill)
        deadline = time.monotonic() + 20 * PATIENCE
        while len(self.ranks()) < wanted:
            self.assertLess(time.monotonic(), deadline, self.on_hosts())
            time.sleep(0.05)
        time.sleep(0.7 * PATIENCE)
        return child

    def ranks(self):
        return [(host, pid) for host, pid, command in self.on_hosts() if program("busy") in command and host != "head"]

    def ends(self, child, *words):
        """A job that has just lost something: soon it has said one sentence, and nothing is anywhere."""
        begin = time.monotonic()
        try:
            _, err = child.communicate(timeout=SOON)
        except subprocess.TimeoutExpired:
            left = self.on_hosts()
            os.killpg(child.pid, signal.SIGKILL)
            self.fail(f"{words}: no end after {SOON} s; {left}\n{child.communicate()}")
        self.assertNotEqual(child.returncode, 0, err)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertTrue(err.startswith("weft: "), err)
        for word in words:
            self.assertIn(word, err)
        while self.on_hosts() and time.monotonic() < begin + SOON:
            time.sleep(0.02)
        self.assertEqual(self.on_hosts(), [], err)


class Cluster(Jobs):
    def test_hosts_are_hosts(self):
        result = self.ok(self.run_job("n1,n2,n3", "-l", "sh", "-c", "hostname; touch /dev/shm/of_$(hostname); ls /dev/shm; rm /dev/shm/of_$(hostname)"))
        self.assertEqual(sorted(result.out.splitlines()), sorted(f"[{i}] {text}n{i + 1}" for i in range(3) for text in ("", "of_")))
        self.assertEqual(result.err, "")

    def test_messages(self):
        for mode in MODES:
            for n, where in PLACES.items():
                result = self.ok(self.run_job(where, f"--ranks={mode}", program("nodes")))
                here = [int(size) for size in re.findall(r":(\d)", where)]
                wanted = [f"of {size} on its node" for size in here for _ in range(size)]
                lines = sorted(result.out.splitlines())
                self.assertEqual([line.split(",")[0].split(" ", 3)[3] for line in lines], wanted, result.out)
                self.assertTrue(all(line.endswith("sum 6") for line in lines), result.out)
                self.assertEqual(self.ok(self.run_job(where, f"--ranks={mode}", program("traffic"))).out, "traffic ok 4\n")
        self.assertEqual(self.files_on_hosts(), [])

    def test_rank_tests(self):
        """Some lines of collectives and point-to-point over two and three hosts."""
        runner, programs = harness.SOURCE / "tests/rank/run.py", harness.BUILD / "tests/rank"
        if not (programs / "coll/sequence").exists():
            self.skipTest("the rank tests are not built")
        for n, ranks in ((2, "3"), (3, "8")):
            done = subprocess.run([sys.executable, runner, "--mpiexec", harness.MPIEXEC, "--bindir", programs, "--smoke", "--nodes", str(n), "--ranks", ranks,
                                   "--agent", " ".join([*self.words, "exec"]), "coll/(sequence|allgather|reduce)", "pt2pt/(wildcard|order)"],
                                  env=self.env(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            self.assertEqual(done.returncode, 0, done.stdout[-4000:])

    def test_mpiexec_on_a_host(self):
        """It and its first agent are on one of the hosts; only the other one is remote."""
        agent = " ".join([*self.words, "exec"])
        for home in ("head", "n1"):
            out = self.cluster("exec", home, f"{harness.MPIEXEC} --launch-agent '{agent}' -H {home}:2,n2:2 {program('traffic')}")
            self.assertEqual(out, "traffic ok 4\n")

    def test_killed_rank(self):
        for mode in MODES:
            child = self.busy(mode, 2)
            host, pid = sorted(self.ranks())[-1]
            os.kill(pid, signal.SIGKILL)
            self.ends(child, f"on {host}", "signal 9")

    def test_killed_agent(self):
        for mode in MODES:
            for n in PLACES:
                for which in (0, -1):  # the agent, its worker
                    child = self.busy(mode, n)
                    os.kill(self.agent_and_worker("n2")[which], signal.SIGKILL)
                    self.ends(child, "n2", "137" if which == 0 else "signal 9")

    def test_stopped_agent(self):
        child = self.busy("process", 2)
        agent, _ = self.agent_and_worker("n2")
        os.kill(agent, signal.SIGSTOP)
        _, err = child.communicate(timeout=SOON)
        self.assertIn("host n2 is lost", err)
        os.kill(agent, signal.SIGCONT)  # it finds that nobody is there
        begin = time.monotonic()
        while self.on_hosts() and time.monotonic() < begin + SOON:
            time.sleep(0.02)
        self.assertEqual(self.on_hosts(), [])

    def test_pulled_cable(self):
        for mode in MODES:
            for n in PLACES:
                child = self.busy(mode, n)
                self.cluster("link", "n2", "down")
                try:
                    self.ends(child, "host n2 is lost", "ranks 2-3" if n == 2 else "ranks 1-2", "link")
                finally:
                    self.cluster("link", "n2", "up")
                    self.cluster("exec", "n2", "true")

    def test_cable_pulled_for_a_moment(self):
        """A second without a network ends nothing."""
        child = self.busy("process", 2, seconds=3)
        self.cluster("link", "n2", "down")
        time.sleep(1)
        self.cluster("link", "n2", "up")
        _, err = child.communicate(timeout=60 * PATIENCE)
        self.assertEqual((child.returncode, err), (0, ""))

    def test_gdb_on_all_hosts(self):
        """Where processes of different hosts have one number."""
        hang_test.needs_gdb(self)
        child = self.job("n1,n2", "--hang=gdb", "--timeout", 60 * PATIENCE, "-x", "WEFT_SYNC_HANG_SECONDS=1", hang_test.program("wrong_tag"))
        text = hang_test.read_until(child, " detached]", 2)
        child.terminate()
        child.communicate(timeout=SOON)
        for host in ("n1", "n2"):
            self.assertEqual(len(re.findall(rf"(?m)^\[pid \d+ on {host}\] .* in PMPI_Recv ", text)), 1, text)
        self.assertEqual((child.returncode, self.on_hosts()), (143, []))

    def test_no_such_host(self):
        result = self.run_job("n1,n9", program("nodes"))
        self.assertEqual(result.code, 1)
        self.assertIn("weft: host n9 cannot be used", result.err)
        self.assertIn("there is no host n9", result.err)


class Tree(Jobs):
    """Agents start others, from host to host."""
    HOSTS = 9
    WHERE = ",".join(f"n{i + 1}" for i in range(9))

    def test_messages(self):
        for mode in MODES:
            self.assertEqual(self.ok(self.run_job(self.WHERE, "--tree-width", 2, f"--ranks={mode}", program("traffic"))).out, "traffic ok 9\n")

    def test_pulled_cable(self):
        """Of a host that has started others, of one that these have started, of the last one."""
        for host, ranks in (("n1", "ranks 0-4"), ("n2", "ranks 1-2"), ("n9", "rank 8")):
            child = self.busy_on(self.WHERE, 9, "--tree-width", 2, program("busy"), 100)
            self.cluster("link", host, "down")
            try:
                self.ends(child, f"host {host} is lost", ranks, "link")
            finally:
                self.cluster("link", host, "up")


class OwnCpus(harness.ClusterCase):
    HOSTS, OPTIONS = 2, ("--own-cpus",)

    @unittest.skipIf(len(os.sched_getaffinity(0)) < 2, "one CPU")
    def test_hosts_share_no_cpu(self):
        masks = [int(self.cluster("exec", host, "taskset -p $$").split()[-1], 16) for host in ("n1", "n2")]
        self.assertEqual(masks[0] & masks[1], 0)
        self.assertEqual(masks[0] | masks[1], sum(1 << cpu for cpu in os.sched_getaffinity(0)))


class ThousandRanks(harness.ClusterCase):
    HOSTS = 4

    def test_they_meet(self):
        """250 threads on each of four hosts. The time is for a machine with two busy cores."""
        child = self.job("n1:250,n2:250,n3:250,n4:250", "--ranks=thread", program("meet"), 0)
        self.addCleanup(child.kill)
        self.assertEqual(child.communicate(timeout=90 * PATIENCE), ("met 1000\n", ""))
        self.assertEqual((child.returncode, self.on_hosts()), (0, []))


if __name__ == "__main__":
    harness.main()
