#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Spawned ranks from the outside: their output, how they end and what that means for the job, and programs that were
started alone. Nothing may be left behind (harness)."""
import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import harness
from harness import MODES, PATIENCE, program

AGENT = str(Path(__file__).resolve().parent / "agent_here.sh")
# Over libfabric 1.17's net spawned ranks may lose each other: docs/dynamic-processes.md.
PROVIDER = ("--genv", "WEFT_NET_PROVIDER", "tcp;ofi_rxm")


class Spawn(harness.Case):
    how = ()

    def family(self, mode, children, what, n=2, **options):
        words = [program("family"), what] + ([children] if children else [])
        return self.mpiexec(*self.how, f"--ranks={mode}", "-n", n, *words, **options)

    def each(self):
        return [(mode, children) for mode in MODES for children in MODES]

    def test_output_goes_where_the_jobs_does(self):
        for mode, children in self.each():
            result = self.ok(self.family(mode, children, "hello"))
            self.assertEqual(sorted(result.out.splitlines()),
                             ["child 0 with hello", "child 1 with hello", "parent 0 of hello", "parent 1 of hello"])
            self.assertEqual(result.err, "")

    def test_a_killed_child_ends_the_job(self):
        for mode, children in self.each():
            result = self.family(mode, children, "kill")
            self.assertEqual(result.code, 137, f"{mode} {children}\n{result.err}")
            self.assertIn("2 spawned", result.err)
            self.assertIn("signal 9", result.err)
            self.assertEqual(len(result.err.splitlines()), 1, result.err)
            self.assertLess(result.seconds, (5 if self.how else 2) * PATIENCE)

    def test_an_abort_of_a_child_is_the_jobs(self):
        for mode, children in self.each():
            result = self.family(mode, children, "abort")
            self.assertEqual(result.code, 42, f"{mode} {children}\n{result.err}")
            self.assertEqual(len(result.err.splitlines()), 1, result.err)

    def test_a_killed_parent_ends_its_children(self):
        for mode, children in self.each():
            result = self.family(mode, children, "parent")
            self.assertEqual(result.code, 137, f"{mode} {children}\n{result.err}")
            self.assertEqual(len(result.err.splitlines()), 1, result.err)

    def test_a_child_that_is_no_mpi_program(self):
        for mode, children in self.each():
            self.ok(self.family(mode, children, "silent"))

    def test_children_may_outlive_their_parents(self):
        for mode, children in self.each():
            result = self.ok(self.family(mode, children, "leave"))
            self.assertEqual(sum("is the last" in line for line in result.out.splitlines()), 2, result.out)

    def test_the_exit_code_of_a_child_counts(self):
        for mode, children in self.each():
            self.assertEqual(self.family(mode, children, "fail").code, 7)

    def test_tags_and_a_timeout(self):
        result = self.ok(self.mpiexec(*self.how, "-l", "-n", 2, program("family"), "hello"))
        self.assertIn("[2] child 0 with hello", result.out)
        result = self.mpiexec(*self.how, "--timeout", 10, "-n", 2, program("family"), "leave", env={"WEFT_SPAWN_PLACES": "1"})
        self.assertEqual(result.code, 53)
        self.assertIn("WEFT_SPAWN_PLACES", result.err)


class Nodes(Spawn):
    """The same on two nodes that are only pretended: one memory, and a network between."""
    how = ("--pretend-nodes=2", *PROVIDER)


class Hosts(Spawn):
    """The same on two hosts, each with an agent and a memory of its own."""
    how = ("--launch-agent", AGENT, "-H", "a,b", *PROVIDER)

    def spawn_on(self, host, what="hello", n=2):
        return self.mpiexec(*self.how, "-v", "-n", n, program("family"), what, "process", host)

    def test_a_host_may_be_named(self):
        for host in "ab":
            result = self.ok(self.spawn_on(host, "where"))
            self.assertEqual(sorted(line for line in result.out.splitlines() if "child" in line),
                             ["child 0 on 0 of 2", "child 1 on 1 of 2"], result.out)
        result = self.ok(self.spawn_on("a,b", "where"))
        self.assertEqual(sorted(line for line in result.out.splitlines() if "child" in line),
                         ["child 0 on 0 of 1", "child 1 on 0 of 1"], result.out)
        result = self.spawn_on("c")
        self.assertEqual(result.code, 53)
        self.assertIn("the job's hosts (a, b)", result.err)

    def test_a_child_that_ends_without_mpi_while_another_waits_for_it(self):
        result = self.mpiexec(*self.how, "-n", 2, program("family"), "half")
        self.assertEqual(result.code, 1, result.err)
        self.assertIn("ended without calling MPI_Init", result.err)


class Universe(harness.Case):
    """All that was started says how many ranks the job's hosts are meant for (MPI_UNIVERSE_SIZE)."""

    def universe(self, *words, **options):
        result = self.ok(self.mpiexec("--launch-agent", AGENT, *words, **options))
        return sorted(line.split(" on ")[0] for line in result.out.splitlines())

    def said(self, ranks, children, universe):
        return [f"child {c}: universe {universe}" for c in range(children)] + [f"rank {r}: universe {universe}" for r in range(ranks)]

    def test_it_is_all_slots(self):
        for mode in MODES:
            spawn = lambda n, *how: self.universe(f"--ranks={mode}", "-n", n, *how, program("universe"), 2)
            self.assertEqual(spawn(2, "-H", "a:4,b:3", *PROVIDER), self.said(2, 2, 7))
            self.assertEqual(spawn(3, "-H", "a:2,b:3", *PROVIDER), self.said(3, 2, 5))
            self.assertEqual(spawn(1, "-H", "localhost:5"), self.said(1, 2, 5))
            self.assertEqual(spawn(1, "--ppn", 3, "-H", "a,b", *PROVIDER), self.said(1, 2, 6))

    def test_it_is_no_less_than_the_ranks_there_are(self):
        self.assertEqual(self.universe("-n", 3, "-H", "a,b", *PROVIDER, program("universe"), 2),
                         ["child 0: universe 5", "child 1: universe 5"] + [f"rank {r}: universe 3" for r in range(3)])

    def test_it_is_what_may_be_spawned(self):
        where = ("-n", 1, "-H", "a:100,b:100", program("universe"))
        self.assertEqual(self.universe(*where), ["rank 0: universe 200"])
        self.assertEqual(self.universe(*where, env={"WEFT_SPAWN_PLACES": "9"}), ["rank 0: universe 10"])


class IdleHosts(harness.Case):
    """Hosts without ranks of the start get spawned ones."""

    def start(self, *words):
        return subprocess.Popen([harness.MPIEXEC, "--launch-agent", AGENT, *words], env=self.env(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def where(self, *words):
        """The hosts of the children, in their order."""
        lines = self.ok(self.mpiexec("--launch-agent", AGENT, *PROVIDER, *words)).out.splitlines()
        return "".join(line.split()[-1] for line in sorted(lines) if line.startswith("child "))

    def test_they_are_filled_in_their_order(self):
        for mode in MODES:
            spawn = lambda n, where, *words: self.where(f"--ranks={mode}", "-n", n, "-H", where, program("universe"), *words)
            self.assertEqual(spawn(1, "a:2,b:2", 2), "ab")
            self.assertEqual(spawn(1, "a,b:2,c:3", 4), "bbcc")
            self.assertEqual(spawn(2, "localhost:2,b:2", 2), "bb")
            self.assertEqual(spawn(1, "a:3,b:3", 2, "b"), "bb")
            self.assertEqual(spawn(1, "a,b:3,c", 2, "c"), "cc")
        self.assertEqual(self.where("-n", 1, "--tree-width", 1, "-H", "a,b,c,d", program("universe"), 3), "bcd")

    def test_all_works_there(self):
        for mode in MODES:
            family = lambda what: self.mpiexec("--launch-agent", AGENT, *PROVIDER, f"--ranks={mode}", "-n", 2, "-H", "a:2,b:2", program("family"), what)
            self.assertEqual(len(self.ok(family("hello")).out.splitlines()), 4)
            self.assertEqual(len(self.ok(family("leave")).out.splitlines()), 6)
            for what, code in (("kill", 137), ("abort", 42), ("parent", 137), ("fail", 7)):
                result = family(what)
                self.assertEqual(result.code, code, f"{mode} {what}\n{result.err}")
                self.assertEqual(len(result.err.splitlines()), what != "fail", result.err)

    def test_programs_that_cannot_spawn_do_not_ask_for_them(self):
        run = lambda *words: self.mpiexec("--launch-agent", AGENT, "-v", "-n", 2, "-H", *words)
        self.assertNotIn("hosts:", self.ok(run("localhost:2,off:2", program("hello"))).err)
        self.assertIn("1 hosts: a", self.ok(run("a:2,off:2", program("hello"))).err)
        self.assertIn("2 hosts: a (ranks 0-1), b (no ranks)", self.ok(run("a:2,b:2", program("universe"))).err)
        self.assertIn("b (no ranks)", self.ok(run("a:2,b:2", "/bin/true")).err)
        result = self.mpiexec("--launch-agent", AGENT, "-n", 2, "-H", "a:2,off:2", program("universe"))
        self.assertEqual(result.code, 1)
        self.assertEqual(len(result.err.splitlines()), 1, result.err)
        self.assertIn("host off cannot be used", result.err)

    def test_input_goes_to_ranks_only(self):
        result = self.ok(self.mpiexec("--launch-agent", AGENT, "-n", 2, "-H", "a:2,b", "-stdin", "all", "sh", "-c", "wc -c", stdin=b"x" * (3 << 20)))
        self.assertEqual(result.out.split(), [str(3 << 20)] * 2)

    def test_the_only_rank_has_no_others(self):
        for hosts in ("a", "a,b"):
            result = self.mpiexec("--launch-agent", AGENT, "-n", 1, "-H", hosts, "sh", "-c", "exit 3")
            self.assertEqual((result.code, result.err), (3, ""))

    def test_nobody_goes_on_without_all_ranks(self):
        result = self.mpiexec("--launch-agent", AGENT, "-n", 1, "-H", "a,b", "sh", "-c", "kill -9 $$")
        self.assertEqual(result.code, 137)
        self.assertTrue(result.err.endswith("was killed by signal 9 (Killed)\n"), result.err)

    def test_they_wait_while_ranks_do_after_an_interrupt(self):
        for mode in MODES:
            child = self.start(*PROVIDER, f"--ranks={mode}", "-n", "1", "-H", "a,b:2", program("family"), "asked")
            self.assertEqual(child.stdout.readline(), "ready\n")
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=20 * PATIENCE)
            self.assertEqual((child.returncode, err), (0, ""))
            self.assertEqual(sorted(out.splitlines()), ["child 0 with asked", "child 1 with asked", "parent 0 of asked"])

    def test_a_lost_one_ends_the_job(self):
        child = self.start("-n", "2", "-H", "a:2,b", "sleep", "20")
        deadline = time.monotonic() + 20 * PATIENCE
        while sum(command.startswith("sleep") for command in self.marked().values()) < 2 and time.monotonic() < deadline:
            time.sleep(0.05)
        commands = self.marked()
        agents = [pid for pid, command in commands.items() if "--agent" in command and "--agent" not in commands.get(harness.parent_of(pid), "")]
        os.kill(max(agents, key=harness.host_of), signal.SIGKILL)
        self.assertIn("host b is lost, and with it no ranks", child.communicate()[1])
        self.assertEqual(child.returncode, 1)


class Alone(harness.Case):
    """Programs that were started without mpiexec start one when they spawn."""

    def alone(self, what, *mode):
        return self.run_command([program("family"), what, *mode])

    def test_it_works(self):
        for mode in MODES:
            result = self.ok(self.alone("hello", mode))
            self.assertEqual(sorted(result.out.splitlines()), ["child 0 with hello", "child 1 with hello", "parent 0 of hello"])
            self.assertEqual(result.err, "")
            self.ok(self.alone("leave", mode))
            self.ok(self.alone("silent", mode))

    def test_a_killed_child_ends_it(self):
        for mode in MODES:
            result = self.alone("kill", mode)
            self.assertNotEqual(result.code, 0)
            self.assertIn("signal 9", result.err)

    def test_children_end_with_it(self):
        for mode in MODES:
            result = self.alone("parent", mode)
            self.assertEqual(result.code, -9)
            self.all_end()


if __name__ == "__main__":
    harness.main()
