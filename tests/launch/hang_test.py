#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reports about jobs that hang: small wrong programs of hang/, the text of each beside it; and none for right ones.

`hang_test.py --write` writes the texts anew: read the difference."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import harness
from harness import BUILD, MODES, PATIENCE

HERE = Path(__file__).resolve().parent / "hang"
LIMIT = {"WEFT_SYNC_HANG_SECONDS": "1"}
WRONG = {"receive_circle": 3, "send_circle": 2, "missing_rank": 3, "wrong_tag": 2, "wrong_comm": 2, "ssend_to_self": 1, "channel_circle": 2,
         "mutex": 2, "finished_rank": 2, "different_collectives": 2, "waitall": 2, "isendrecv": 3, "nonblocking": 3, "grequest": 2,
         "waitany_many": 2, "waitsome_across": 2, "many_threads": 2, "create_group": 3,
         "window_wait": 2, "window_lock": 2, "window_post": 2, "spawned_circle": 1}
# In the block, ranks in different collectives notice it; messages compare nothing.
SETTINGS = {"different_collectives": {"WEFT_COLL_SHARED_MAX": "0"}}
MULTIPLE = {"mutex", "waitsome_across", "many_threads"}  # with MPI_THREAD_MULTIPLE


def program(name):
    return str(BUILD / "tests" / "launch" / "hang" / name)


def needs_gdb(case):
    with subprocess.Popen(["sleep", "20"]) as sleeper:
        probe = subprocess.run(["sh", "-c", f"gdb -nx -batch -p {sleeper.pid} -ex detach"], capture_output=True, stdin=subprocess.DEVNULL)
        sleeper.kill()
    if probe.returncode != 0 or b"not permitted" in probe.stderr:
        case.skipTest("no gdb that may attach")


def read_until(child, word, times):
    """What mpiexec says on stderr until a word has come so often."""
    text = ""
    while text.count(word) < times and (line := child.stderr.readline()):
        text += line
    return text


def normal(text):
    """Times and thread ids by what they are; without source lines where the machine has no addr2line."""
    text = re.sub(r"\b\d+ s\b", "N s", text)
    tids = {}
    text = re.sub(r"\bthread (\d+)", lambda m: f"thread {tids.setdefault(m[1], chr(ord('A') + len(tids)))}", text)
    return re.sub(r"\((\w+)(\.c:\d+)?\)", r"(\1)", text)


class Hang(harness.Case):
    def report(self, name, mode):
        return self.mpiexec(f"--ranks={mode}", "--hang=abort", "-n", WRONG[name], program(name),
                            env={**LIMIT, **SETTINGS.get(name, {})}, timeout=60)

    def test_texts(self):
        # ThreadSanitizer's own thread could, for all that is known, call MPI.
        names = [name for name in WRONG if name not in MULTIPLE or "thread" not in os.environ.get("TEST_SANITIZE", "")]
        cases = [(name, mode) for name in names for mode in MODES]
        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(lambda case: self.report(*case), cases))
        for (name, mode), result in zip(cases, results):
            with self.subTest(program=name, mode=mode):
                self.assertEqual(result.code, 125, harness.show(result.out, result.err))
                golden = HERE / f"{name}.txt"
                if os.environ.get("WRITE_TEXTS"):
                    golden.write_text(normal(result.err))
                self.assertEqual(normal(result.err), golden.read_text())

    def test_different_collectives_in_the_block(self):
        """No hang: one of the ranks finds out, and says what both called."""
        for mode in MODES:
            with self.subTest(mode=mode):
                result = self.mpiexec(f"--ranks={mode}", "--hang=abort", "-n", 2, program("different_collectives"), timeout=60)
                self.assertEqual(result.code, 16, harness.show(result.out, result.err))
                self.assertRegex(result.err, r"called MPI_(Reduce|Gather)\(4 bytes\) where this rank called MPI_(Gather|Reduce)\(4 bytes\)")

    def test_source_lines(self):
        if subprocess.run(["sh", "-c", "command -v addr2line"], capture_output=True).returncode != 0:
            self.skipTest("no addr2line here")
        for mode in MODES:
            self.assertIn("called in main (wrong_tag.c:11) ", self.report("wrong_tag", mode).err)

    def test_programs_that_are_only_spawned(self):
        """Their places in the program are found like those of the first ones."""
        with tempfile.TemporaryDirectory() as folder:
            other = shutil.copy(program("spawned_circle"), Path(folder, "other"))
            for mode in MODES:
                result = self.mpiexec(f"--ranks={mode}", "--hang=abort", "-n", 1, program("spawned_circle"), other, env=LIMIT, timeout=60)
                self.assertEqual(result.err.count(", called in main ("), 3, f"{mode}\n{result.err}")

    def test_right_programs(self):
        """Computing, sleeping or progressing slowly for three times the limit is no hang."""
        run = lambda case: self.mpiexec(f"--ranks={case[1]}", "--hang=abort", "-n", 2, program(case[0]), 3, env=LIMIT, timeout=120)
        with ThreadPoolExecutor() as pool:
            for result in pool.map(run, [(name, mode) for name in ("slow", "slow_threads", "slow_spawned") for mode in MODES]):
                self.assertEqual(self.ok(result).err, "")

    def test_report_once_and_go_on(self):
        """Without --hang=abort the report comes once, and the job stays."""
        result = self.mpiexec("--timeout", 4 * PATIENCE, "-n", 2, program("finished_rank"), env=LIMIT, timeout=60)
        self.assertEqual(result.code, 124, result.err)
        self.assertEqual(result.err.count("the job hangs"), 1, result.err)

    def test_off(self):
        result = self.mpiexec("--timeout", 2, "-n", 2, program("finished_rank"), env={"WEFT_SYNC_HANG_SECONDS": "0"}, timeout=60)
        self.assertEqual(result.code, 124)
        self.assertNotIn("hangs", result.err)

    def test_limit_for_the_ranks_only(self):
        result = self.mpiexec("--hang=abort", "-x", "WEFT_SYNC_HANG_SECONDS=1", "-n", 2, program("finished_rank"), timeout=60)
        self.assertEqual(result.code, 125, result.err)

    def test_alone(self):
        """Without mpiexec the rank says it itself."""
        child = subprocess.Popen([program("ssend_to_self")], env=self.env(LIMIT), stderr=subprocess.PIPE, stdin=subprocess.DEVNULL)
        try:
            lines = [child.stderr.readline().decode() for _ in range(3)]
        finally:
            child.kill()
            child.wait()
            child.stderr.close()
        self.assertIn("rank 0 has been waiting for what cannot come", lines[0])
        self.assertIn("rank 0 sends a message to itself with MPI_Ssend", lines[2])

    def test_debugger(self):
        needs_gdb(self)
        result = self.mpiexec("--hang=gdb", "--timeout", 8 * PATIENCE, "-n", 2, program("wrong_tag"), env=LIMIT, timeout=90)
        self.assertEqual(result.code, 124, result.err)
        self.assertEqual(len(re.findall(r"(?m)^\[pid \d+\] .* in PMPI_Recv ", result.err)), 2, result.err)

    def test_never_received(self):
        """MPI_Finalize names messages that nobody received, and only those."""
        leave = harness.program("leave")
        for mode in MODES:
            self.assertEqual(self.ok(self.mpiexec(f"--ranks={mode}", "-n", 3, leave, 0)).err, "")
            result = self.ok(self.mpiexec(f"--ranks={mode}", "-n", 3, leave, 1))
            self.assertEqual(result.err, "weft: rank 1 never received 2 messages from rank 0 (tag 100, MPI_COMM_WORLD, 4 bytes the first)\n"
                                         "weft: rank 1 never received a message from rank 0 (tag 100, library, 0 bytes)\n")
            lines = self.ok(self.mpiexec(f"--ranks={mode}", "-n", 3, leave, 5)).err.splitlines()
            self.assertEqual(len(lines), 9, lines)
            self.assertEqual(lines[8], "weft: rank 1 never received 3 other messages")

    def test_progress_threads(self):
        for mode in MODES:
            result = self.mpiexec(f"--ranks={mode}", "--hang=abort", "-n", 2, "-x", "WEFT_PROGRESS=node", program("wrong_tag"),
                                  env=LIMIT, timeout=60)
            self.assertIn("  Progress threads:\n    of rank", result.err, mode)
            said = result.err[result.err.index("  Progress threads:"):]
            self.assertRegex(said, r"of ranks? .*: (at rest, since nothing is left to it|outside, since the rank is in MPI, or comes and goes)\n")

    def test_user_signal(self):
        """SIGUSR1 to mpiexec: what everybody does, at once; the ranks, which have no handler, live on."""
        for mode in MODES:
            child = subprocess.Popen([harness.MPIEXEC, f"--ranks={mode}", "-n", "2", program("slow"), "20"], env=self.env(),
                                     stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True)
            try:
                text, deadline = "", time.monotonic() + 15 * PATIENCE
                while "rank 0 waits in MPI_Barrier" not in text and time.monotonic() < deadline:
                    time.sleep(0.5)
                    child.send_signal(signal.SIGUSR1)
                    text += "".join(child.stderr.readline().decode() for _ in range(4))
                self.assertIn("weft: what the ranks do", text)
                self.assertIn("on MPI_COMM_WORLD, called in main", text)
                self.assertIn("for rank 1", text)
                self.assertIn("rank 1 is not waiting in MPI", text)
                self.assertNotIn("hangs", text)
                self.assertIsNone(child.poll())
            finally:
                child.kill()
                child.wait()
                child.stderr.close()


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        os.environ["WRITE_TEXTS"] = "1"
        del sys.argv[1:]
    harness.main()
