#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""WEFT_STATS=1: one table for the job, and its numbers fit together."""
import harness
from harness import BUILD, MODES, program


class Stats(harness.Case):
    def table(self, mode, n, *words):
        """{row: [all, least, median, most]}; the title."""
        result = self.ok(self.mpiexec(f"--ranks={mode}", "-n", n, "-x", "WEFT_STATS=1", *words))
        lines = result.err.splitlines()
        self.assertEqual(lines[0], f"weft: counters of {n} ranks", mode)
        rows = {line[:41].strip(): [float(word) for word in line[41:].split()] for line in lines[2:]}
        for name, (_, least, median, most) in rows.items():
            self.assertTrue(0 <= least <= median <= most, f"{mode}, {name}: {least} {median} {most}")
        return rows

    def test_threads(self):
        for mode in MODES:
            rows = self.table(mode, 2, BUILD / "tests" / "rank" / "threads" / "waits")
            self.assertEqual(rows["messages_sent"][0], rows["messages_received"][0], mode)
            time = sum(rows[name][0] for name in rows if name.split(":")[0] in ("ISSUE", "POLL", "EMPTY CS", "SYNC"))
            # Each part is measured on its own, and so is the time of the calls; nothing is counted twice.
            self.assertAlmostEqual(time, 100, delta=3, msg=mode)
            self.assertGreater(rows["time in MPI calls [ms]"][1], 0, mode)
            lock = sum(rows[name][0] for name in rows if name.startswith(("lock: by", "lock: to ")))
            self.assertAlmostEqual(lock, 100, delta=0.05, msg=mode)
            self.assertLess(rows["useless wake-ups per completed wait"][0], 0.05, mode)
            self.assertGreaterEqual(rows["wake-ups of threads per completed wait"][0], 1, mode)
            self.assertGreater(rows["looks per message received"][0], 0, mode)

    def test_one_thread(self):
        for mode in MODES:
            rows = self.table(mode, 3, program("traffic"))
            self.assertGreater(rows["time in MPI calls [ms]"][1], 0, mode)
            self.assertGreater(rows["polls"][1], 0, mode)
            self.assertNotIn("lock_taken", rows)

    def test_not_asked_for(self):
        for mode in MODES:
            self.assertEqual(self.ok(self.mpiexec(f"--ranks={mode}", "-n", 2, program("traffic"))).err, "", mode)




if __name__ == "__main__":
    harness.main()
