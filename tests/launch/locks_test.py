#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks of a process share no lock on the way to the network: counted, also of libfabric's own. 16 ranks of a node, as
threads of one process, each send short messages to a partner on another node and wait for the answer."""
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import harness
from harness import CC, SOURCE, program

PAIRS, ROUNDS = 16, 300
LINE = re.compile(r"locks: (\d+) of (\d+) threads took any often, the busiest (\d+) times; (\d+) common")


@unittest.skipIf(os.environ.get("TEST_SANITIZE"), "sanitizers count locks themselves")
class Locks(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="locks-")
        cls.tool = Path(cls.folder.name) / "liblocks.so"
        source = SOURCE / "tests" / "launch" / "programs" / "profile_locks.c"
        subprocess.run([CC, "-O1", "-shared", "-fPIC", source, "-o", cls.tool, "-ldl"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def count(self, pairs, rounds, many):
        """Of both nodes: (threads that took locks so often, locks that two of them took so often)."""
        result = self.ok(self.mpiexec("--ranks=thread", "--pretend-nodes", 2, "-n", 2 * pairs, program("pairs"), rounds, timeout=120,
                                      env={"LD_PRELOAD": str(self.tool), "LOCKS_MANY": str(many)}))
        self.assertEqual(result.out, "")
        found = [tuple(map(int, line)) for line in LINE.findall(result.err)]
        nodes = [(busy, common) for busy, threads, _, common in found if threads >= pairs]
        self.assertEqual(len(nodes), 2, result.err)
        return nodes, result.err

    def test_pairs_have_none_in_common(self):
        """Each rank takes locks of the provider's for each message, and none that another rank takes for each tenth."""
        nodes, text = self.count(PAIRS, ROUNDS, ROUNDS // 10)
        for busy, common in nodes:
            self.assertGreaterEqual(busy, PAIRS, text)
            self.assertEqual(common, 0, text)

    def test_common_locks_are_seen(self):
        """As they begin, ranks load one libfabric, which has locks: those are found."""
        nodes, text = self.count(2, 10, 1)
        self.assertGreater(sum(common for _, common in nodes), 0, text)


if __name__ == "__main__":
    unittest.main()
