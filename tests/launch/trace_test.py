#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""WEFT_TRACE: the file is JSON that viewers of traces take, and tells what each rank did."""
import json
import tempfile
from pathlib import Path

import harness
from harness import BUILD, MODES, program


class Trace(harness.Case):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="trace-")
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name, "trace.json")

    def events(self, mode, n, *words):
        self.path.unlink(missing_ok=True)
        self.ok(self.mpiexec(f"--ranks={mode}", "-n", n, "-x", f"WEFT_TRACE={self.path}", *words))
        return json.loads(self.path.read_text())

    def test_calls_of_every_rank(self):
        for mode in MODES:
            events = self.events(mode, 3, program("traffic"))
            names = {e["pid"]: e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "process_name"}
            self.assertEqual(names, {r: f"rank {r}" for r in range(3)}, mode)
            spans = [e for e in events if e["ph"] == "X"]
            self.assertEqual(len(events) - len(spans), 4, mode)
            for rank in range(3):
                mine = [e for e in spans if e["pid"] == rank]
                called = [e["name"] for e in mine if e["name"].startswith("MPI_")]
                self.assertEqual(called[0], "MPI_Init", mode)
                self.assertIn("MPI_Comm_rank", called)
                self.assertIn("MPI_Allreduce", called)
                self.assertTrue(all(e["dur"] >= 0 for e in mine))
                ends = [e["ts"] + e["dur"] for e in mine]
                self.assertEqual(ends, sorted(ends), "events are in the order of their ends")

    def test_windows_and_targets(self):
        for mode in MODES:
            spans = [e for e in self.events(mode, 3, BUILD / "tests" / "rank" / "rma" / "fence") if e["ph"] == "X"]
            puts = [e["args"] for e in spans if e["name"] == "MPI_Put"]
            self.assertEqual({a["target"] for a in puts if "target" in a}, {0, 1, 2}, mode)  # one goes to MPI_PROC_NULL
            self.assertTrue(all(a["bytes"] >= 0 and "window" in a for a in puts), mode)
            fences = [e for e in spans if e["name"] == "MPI_Win_fence"]
            self.assertTrue(fences and all("window" in e["args"] and "target" not in e["args"] for e in fences), mode)
            self.assertFalse([e for e in spans if e["name"] in ("MPI_Barrier", "wait") and "args" in e], mode)

    def test_waits_lie_within_calls(self):
        for mode in MODES:
            spans = [e for e in self.events(mode, 2, program("late")) if e["ph"] == "X"]
            calls = [e for e in spans if e["name"] == "MPI_Recv" and e["pid"] == 0]
            waits = [e for e in spans if e["name"] in ("wait", "sleep") and e["pid"] == 0]
            self.assertEqual(len(calls), 1)
            # Rank 1 sends 200 ms later: rank 0 waits, and sleeps, inside MPI_Recv.
            inside = [e for e in waits if e["ts"] >= calls[0]["ts"] - 0.01 and e["ts"] + e["dur"] <= calls[0]["ts"] + calls[0]["dur"] + 0.01]
            self.assertEqual({e["name"] for e in inside}, {"wait", "sleep"}, mode)

    def test_threads_of_a_rank(self):
        for mode in MODES:
            events = self.events(mode, 2, BUILD / "tests" / "rank" / "threads" / "multiple")
            for rank in range(2):
                self.assertGreater(len({e["tid"] for e in events if e["pid"] == rank}), 1, mode)

    def test_progress_threads_are_named(self):
        for mode in MODES:
            for threads in ("rank", "node"):
                events = self.events(mode, 2, "-x", f"WEFT_PROGRESS={threads}", BUILD / "tests" / "rank" / "progress" / "away")
                named = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
                worked = {(e["pid"], e["tid"]) for e in events if e["ph"] == "X" and e["name"] == "progress"}
                self.assertTrue(worked, f"{mode} {threads}")
                for rank, thread in worked:
                    self.assertEqual(named.get((rank, thread)), f"weft-prog.{rank}", f"{mode} {threads}")

    def test_a_file_that_cannot_be_written(self):
        for mode in MODES:
            result = self.ok(self.mpiexec(f"--ranks={mode}", "-n", 3, "-x", "WEFT_TRACE=/nonexistent/trace.json", program("hello")))
            self.assertEqual(result.err, "weft: cannot write the trace to WEFT_TRACE=/nonexistent/trace.json: No such file or directory\n", mode)


if __name__ == "__main__":
    harness.main()
