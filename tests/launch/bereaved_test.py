#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks die while others wait for them, whose errors return (MPI_ERRORS_RETURN): the calls return MPI_ERR_PROC_ABORTED with
rank and host, and the others go on and end, and the job with the exit code of the dead. On one node, on nodes that are pretended,
on two hosts, in both rank modes. Where errors are fatal the job ends, as it always did."""
import socket
import unittest
from pathlib import Path

import harness
from harness import program

AGENT = str(Path(__file__).resolve().parent / "agent_here.sh")
MESSAGES = ["recv", "any", "send", "ssend", "flood", "probe", "sendrecv", "waitall", "test"]
COLLECTIVES = ["barrier", "allreduce", "bcast", "long", "alltoall", "ibarrier", "iallreduce", "split"]
WAYS = MESSAGES + COLLECTIVES
FEW = ["recv", "any", "send", "sendrecv", "test", "barrier", "long", "iallreduce"]
HERE = socket.gethostname()


class Bereaved(harness.Case):
    def survive(self, how, ranks, dead, host, *words, env=None, code=137):
        with self.subTest(how=how, words=words, env=env):
            result = self.mpiexec(*words, "-n", ranks, program("bereaved"), how, dead, env=env)
            lines = [line for line in result.out.splitlines() if line.strip()]
            self.assertEqual([line.split(":")[0] for line in lines], ["ok"] * (ranks - dead), harness.show(result.out, result.err))
            for line in lines:
                self.assertIn("is dead: ", line)
                self.assertIn(host, line)
            self.assertEqual(result.code, code, harness.show(result.out, result.err))
            said = [line for line in result.err.splitlines() if "never received" not in line]
            self.assertEqual(len(said), 1, result.err)
            self.assertIn("; the others go on, as their errors return", said[0])

    def test_one_node(self):
        for how in WAYS:
            self.survive(how, 4, 1, HERE)
        for how in FEW:
            self.survive(how, 4, 1, HERE, env={"WEFT_SYNC_SPIN_US": "0", "WEFT_SYNC_YIELD_US": "0"})
            self.survive(how, 4, 1, HERE, env={"WEFT_COLL_SHARED_MAX": "0"})

    def test_pretended_nodes(self):
        for how in WAYS:
            self.survive(how, 4, 1, HERE, "--pretend-nodes=2")
        for how in FEW:
            self.survive(how, 4, 2, HERE, "--pretend-nodes=2", "--ranks=thread")

    def test_hosts(self):
        hosts = ("--launch-agent", AGENT, "-H")
        for how in WAYS:
            self.survive(how, 3, 1, "b", *hosts, "a:2,b:1")
            self.survive(how, 4, 2, "b", *hosts, "a:2,b:2", "--ranks=thread")
        for how in FEW:
            self.survive(how, 4, 1, "b", *hosts, "a:2,b:2")
            self.survive(how, 3, 1, "b", *hosts, "a,b,c", env={"WEFT_NET_PROVIDER": "tcp;ofi_rxm"}) if how == "recv" else None

    def test_errors_that_are_fatal_end_the_job(self):
        for words in ((), ("--launch-agent", AGENT, "-H", "a:2,b:2"), ("--launch-agent", AGENT, "-H", "a:3,b:1")):
            with self.subTest(words=words):
                result = self.mpiexec(*words, "-n", 4, program("bereaved"), "recv", 1, "fatal")
                self.assertEqual((result.code, result.out), (137, ""), result.err)
                self.assertEqual(len(result.err.splitlines()), 1, result.err)
                self.assertNotIn("go on", result.err)


if __name__ == "__main__":
    unittest.main()
