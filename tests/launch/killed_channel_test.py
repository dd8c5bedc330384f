#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A rank that is killed while another one waits for it in a channel: an error at that call, not a hang.

mpiexec ends a job one of whose ranks died. Here each rank is the child of a shell that stays a while, so that the other rank
has the time to find out itself."""
import concurrent.futures
import unittest

import harness
from harness import program

WAYS = [(how, threads) for how in ("send", "synchronous", "delegate", "wait", "free") for threads in (0, 2)] + [("receive", 0)]
STAYS = 4 * harness.PATIENCE


class KilledChannel(harness.Case):
    def test_an_error_at_the_call(self):
        cases = [(*way, env) for way in WAYS for env in ({}, {"WEFT_SYNC_SPIN_US": "0", "WEFT_SYNC_YIELD_US": "0"})]
        with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:  # the shells sleep at the same time
            for case, result in zip(cases, pool.map(self.survivor, cases)):
                with self.subTest(case):
                    self.assertIn("ok: ", result.out)
                    self.assertIn("has ended without freeing its end of the channel", result.out)

    def survivor(self, case):
        how, threads, env = case
        ranks = f"{program('killed')} {how} {threads} || sleep {STAYS}"
        return self.run_command([harness.MPIEXEC, "--ranks=process", "-n", "2", "/bin/sh", "-c", ranks], env)


if __name__ == "__main__":
    unittest.main()
