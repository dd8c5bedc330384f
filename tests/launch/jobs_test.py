#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs that different mpiexecs have started, or that are a program alone, meet at a port: docs/dynamic-processes.md. One waits as the
server; nothing may be left behind (harness)."""
import os
import socket
import subprocess
import tempfile
import time

import harness
from harness import MODES, PATIENCE, program

HOW = ["process", "thread", "pretended", "alone"]
PAIRS = [(how, how) for how in HOW] + list(zip(HOW, HOW[1:] + HOW[:1]))


class Meeting:
    """What tests of jobs that meet have in common."""

    def setUp(self):
        super().setUp()
        self.room = tempfile.TemporaryDirectory()
        self.addCleanup(self.room.cleanup)
        self.file = os.path.join(self.room.name, "port")

    def begin(self, words, **env):
        return subprocess.Popen(words, env=self.env({"WEFT_NET_PROVIDER": "tcp;ofi_rxm", **env}), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)

    def end(self, job, timeout=60):
        try:
            out, err = job.communicate(timeout=timeout * PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, 9)
            out, err = job.communicate()
            self.fail(f"no end: {job.args}\n{harness.show(out, err)}")
        return job.returncode, out.decode(), err.decode()

    def run_jobs(self, *jobs, **env):
        """(code, output, errors) of each."""
        for file in os.listdir(self.room.name):
            os.remove(os.path.join(self.room.name, file))
        running = [self.begin(words, **env) for words in jobs]
        return [self.end(job) for job in running]

    def good(self, results):
        for code, out, err in results:
            self.assertEqual((code, err), (0, ""), results)
            self.assertRegex(out, "(server|client) is done\n")


class Jobs(Meeting, harness.Case):
    def words(self, how, ranks, *what):
        """A job of so many ranks; `alone` has one."""
        run = [program("jobs"), self.file, *map(str, what)]
        if how == "alone":
            return run
        nodes = ["--pretend-nodes", "2", "--genv", "WEFT_NET_PROVIDER", "tcp;ofi_rxm"] if how == "pretended" else []
        mode = "process" if how == "pretended" else how
        return [harness.MPIEXEC, f"--ranks={mode}", *nodes, "-n", str(ranks), *run]

    def test_two_jobs_talk(self):
        for server, client in PAIRS:
            with self.subTest(server=server, client=client):
                self.good(self.run_jobs(self.words(server, 2, "server", "talk", 2), self.words(client, 3, "client", "talk", 2)))

    def test_more_ranks_than_cpus(self):
        for mode in MODES:
            self.good(self.run_jobs(self.words(mode, 8, "server", "talk"), self.words(mode, 8, "client", "talk")))

    def test_with_several_contexts(self):
        for mode in MODES:
            self.good(self.run_jobs(self.words(mode, 2, "server", "talk"), self.words(mode, 2, "client", "talk"), THREADS="1"))

    def test_many_meetings_of_two_jobs(self):
        self.good(self.run_jobs(self.words("process", 2, "server", "many", 50), self.words("process", 2, "client", "many", 50)))

    def test_many_jobs_one_after_the_other(self):
        """More than there are places for: each that has ended makes room."""
        for mode in MODES:
            jobs = 6
            server = self.begin(self.words(mode, 2, "server", "talk", jobs), WEFT_SPAWN_GUESTS="4")
            for _ in range(jobs):
                self.good([self.end(self.begin(self.words("process", 2, "client", "talk")))])
            self.good([self.end(server)])
            os.remove(self.file)

    def test_no_place_is_left(self):
        server = self.begin(self.words("process", 2, "server", "talk"), WEFT_SPAWN_GUESTS="1")
        client = self.begin(self.words("process", 2, "client", "talk"))
        code, _, err = self.end(server)
        self.assertNotEqual(code, 0)
        self.assertIn("WEFT_SPAWN_GUESTS", err)
        self.assertNotEqual(self.end(client)[0], 0)

    def test_three_jobs(self):
        for mode in MODES:
            self.good(self.run_jobs(self.words(mode, 2, "server", "three", 6), self.words("process", 2, "client", "three", 6),
                                    self.words(mode, 2, "client", "second", 6)))

    def test_a_socket(self):
        for server, client in PAIRS:
            self.good(self.run_jobs(self.words(server, 2, "server", "join"), self.words(client, 2, "client", "join")))

    def test_a_name_that_is_published(self):
        for server, client in PAIRS:
            self.good(self.run_jobs(self.words(server, 2, "server", "name"), self.words(client, 2, "client", "name")))

    def test_a_freed_communicator_still_connects(self):
        for mode in MODES:
            self.good(self.run_jobs(self.words(mode, 2, "server", "free"), self.words(mode, 2, "client", "free")))

    def test_who_waits_for_another_job_does_not_hang(self):
        for how in ("process", "thread", "alone"):
            self.good(self.run_jobs(self.words(how, 2, "server", "quiet", 4), self.words(how, 2, "client", "quiet", 4),
                                    WEFT_SYNC_HANG_SECONDS="1"))

    def test_a_job_that_dies_ends_the_other(self):
        for mode in MODES:
            for end, code in (("kill", 137), ("abort", 5)):
                server, client = self.run_jobs(self.words(mode, 2, "server", end), self.words("process", 2, "client", end))
                self.assertEqual(client[0], code, client)
                self.assertEqual(server[0], 1, server)
                self.assertIn("is connected to a process that is dead", server[2])
                self.assertEqual(len(server[2].splitlines()), 1, server)

    def test_a_job_that_dies_is_an_error_for_who_wants_one(self):
        for mode in MODES:
            server, client = self.run_jobs(self.words(mode, 2, "server", "survive-abort"), self.words("process", 2, "client", "survive-abort"))
            self.assertEqual(client[0], 5, client)
            self.assertEqual(server[0], 0, server)
            self.assertIn("MPI_ERR_PROC_ABORTED", server[1])
            self.assertIn("another mpiexec started", server[1])

    def test_a_client_that_dies_before_it_is_accepted(self):
        """The server goes on waiting for one that lives."""
        server = self.begin(self.words("process", 2, "server", "talk"), WEFT_NET_PROVIDER="tcp;ofi_rxm")
        while not os.path.exists(self.file):
            time.sleep(0.01)
        with open(self.file, encoding="ascii") as file:
            name = "\0weft-port " + file.read().split("@")[0]
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(name)
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.connect(name)
            stranger.sendall(b"\x10\0\0\0\0\0\0\0GET / HT")
        self.good([self.end(self.begin(self.words("process", 2, "client", "talk")))])
        self.good([self.end(server)])

    def test_providers_that_differ(self):
        server = self.begin(self.words("process", 2, "server", "talk"))
        client = self.begin(self.words("process", 2, "client", "talk"), WEFT_NET_PROVIDER="net")
        for job in (client, server):
            code, _, err = self.end(job)
            self.assertNotEqual(code, 0)
            self.assertIn("WEFT_NET_PROVIDER", err)

    def test_a_network_that_cannot_be_opened(self):
        server = self.begin(self.words("process", 2, "server", "talk"))
        client = self.begin(self.words("process", 2, "client", "talk"), WEFT_NET_PROVIDER="nothing")
        for job, why in ((client, "WEFT_NET_PROVIDER=nothing"), (server, "cannot open the network")):
            code, _, err = self.end(job)
            self.assertNotEqual(code, 0)
            self.assertIn(why, err)

    def test_nobody_listens(self):
        with open(self.file, "w", encoding="ascii") as file:
            file.write("weft:" + "7" * 32 + ":0:1")
        code, _, err = self.end(self.begin(self.words("process", 2, "client", "talk")))
        self.assertNotEqual(code, 0)
        self.assertIn("nobody listens", err)


if __name__ == "__main__":
    harness.main()
