#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How jobs end: exit codes, aborts, signals, killed ranks and launchers; nothing may be left behind."""
import os
import signal
import subprocess
import time

import harness
from harness import MODES, PATIENCE, program


class Failure(harness.Case):
    def act(self, mode, n, rank, *what, **options):
        return self.mpiexec(f"--ranks={mode}", "-n", n, program("act"), rank, *what, **options)

    def one_message(self, result, *words):
        """Exactly one line of weft's, with all the words."""
        lines = [line for line in result.err.splitlines() if line.strip()]
        self.assertEqual(len(lines), 1, result.err)
        for word in words:
            self.assertIn(word, lines[0])

    def test_exit_codes_after_finalize(self):
        for mode in MODES:
            self.assertEqual(self.act(mode, 3, 1, "finish", 0).code, 0)
            self.assertEqual(self.act(mode, 3, 1, "finish", 7).code, 7)

    def test_first_failing_rank(self):
        # Rank 2 returns 3 while the others still wait: the job's code is 3, and it ends.
        for mode in MODES:
            for what in ("return", "exit", "_exit"):
                result = self.act(mode, 4, 2, what, 3)
                self.assertEqual(result.code, 3, f"{mode} {what}\n{result.err}")
                self.assertIn("rank 2 does", result.out)
                self.one_message(result, "rank 2", "act")

    def test_end_before_finalize(self):
        # A rank that returns 0 before MPI_Finalize leaves the others waiting for ever: that is a failure too.
        for mode in MODES:
            result = self.act(mode, 3, 1, "return", 0)
            self.assertNotEqual(result.code, 0, mode)
            self.one_message(result, "rank 1", "MPI_Finalize")

    def test_abort(self):
        for mode in MODES:
            result = self.act(mode, 4, 3, "abort", 42)
            self.assertEqual(result.code, 42, mode)
            self.one_message(result, "rank 3", "42")
            self.assertIn("rank 3 does abort", result.out)

    def test_signals(self):
        for mode in MODES:
            for number, name in ((signal.SIGABRT, "Abort"), (signal.SIGTERM, "Terminat"), (signal.SIGKILL, "Kill"), (signal.SIGFPE, "loating"), (signal.SIGUSR1, "User")):
                result = self.act(mode, 3, 1, "signal", int(number))
                self.assertEqual(result.code, 128 + number, f"{mode} {name}\n{result.err}")
                self.assertLess(result.seconds, 1 * PATIENCE, f"{mode} {name}")
                self.one_message(result, "rank 1 of 3", "act", f"signal {int(number)} ", name)

    def test_signals_that_do_not_kill(self):
        """raise and kill of a signal that is ignored, blocked or harmless return, in the rank's own view."""
        for mode in MODES:
            self.ok(self.mpiexec(f"--ranks={mode}", "-n", 3, program("survive")))

    def test_segfault(self):
        for mode in MODES:
            result = self.act(mode, 4, 2, "segv", 16)
            self.assertEqual(result.code, 128 + signal.SIGSEGV, f"{mode}\n{result.err}")
            self.one_message(result, "rank 2", "act", "signal 11", "egmentation")

    def test_hundred_times(self):
        """A killed rank ends the job within a second; again and again; tearDown looks at what is left."""
        for round in range(100):
            mode = MODES[round % 2]
            what = ("signal", 9) if round % 4 < 2 else ("segv", 8)
            result = self.act(mode, 4, round % 4, *what)
            self.assertEqual(result.code, 128 + (9 if what[0] == "signal" else 11), f"round {round} {mode}\n{result.err}")
            self.assertLess(result.seconds, 1 * PATIENCE, f"round {round} {mode}")
            self.one_message(result, f"rank {round % 4} of 4", "act", "signal 9 " if what[0] == "signal" else "signal 11 ")
            if round % 10 == 9:
                time.sleep(0.05)
                self.assertEqual(self.marked(), {}, f"round {round}")

    def test_target_of_an_epoch(self):
        """A target that is killed inside an epoch ends the job, on one node and on two; nobody waits for it."""
        for mode in MODES:
            for nodes in (1, 2):
                for how in ("fence", "start", "complete", "wait", "lock", "unlock", "lock_all", "flush"):
                    with self.subTest(mode=mode, nodes=nodes, how=how):
                        result = self.mpiexec(f"--ranks={mode}", f"--pretend-nodes={nodes}", "-n", 2, program("window_dies"), how)
                        self.assertEqual(result.code, 128 + signal.SIGKILL, result.err)
                        self.one_message(result, "window_dies", "signal 9 ")
                        self.assertEqual(result.out, "")

    def start(self, *words, before="", blocked=None):
        shell = ["/bin/sh", "-c", before + ' exec "$@"', "sh"] if before else []
        block = (lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {blocked})) if blocked else None
        child = subprocess.Popen([*shell, harness.MPIEXEC, *map(str, words)], env=self.env(), preexec_fn=block, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(child.wait)
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.stderr.close)
        return child

    def wait_for(self, condition, seconds, what):
        deadline = time.monotonic() + seconds * PATIENCE
        while not condition():
            if time.monotonic() > deadline:
                self.fail(f"{what} did not happen within {seconds} s")
            time.sleep(0.01)

    def test_launcher_killed(self):
        """kill -9 of mpiexec itself ends all ranks."""
        for mode in MODES:
            child = self.start(f"--ranks={mode}", "-n", 3, program("act"), "hang", "hang")
            self.wait_for(lambda: len(self.marked()) >= (5 if mode == "process" else 2), 5, "the start")
            child.kill()
            self.wait_for(lambda: not self.marked(), 2, f"the end of all {mode} ranks")

    def pair(self, child):
        """mpiexec's two processes."""
        return [child.pid] + [pid for pid in self.marked() if harness.parent_of(pid) == child.pid]

    def kill_both(self, child):
        """Neither of them sees the other die."""
        pair = self.pair(child)
        self.assertEqual(len(pair), 2)
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in pair:
                os.kill(pid, number)

    def test_launcher_and_supervisor_killed(self):
        """kill -9 of both of mpiexec's processes at once ends the ranks, and what they have started: in MPI, in a
        computation, behind a shell, stopped, with all descriptors closed, started in the background."""
        act, close = program("act"), "import os; os.closerange(3, 1000); exec('while True: pass')"
        jobs = [(3, act, "hang", "hang"), (2, "/bin/sh", "-c", "while :; do :; done"), (2, "/bin/sh", "-c", f"{act} hang hang; true"),
                (2, "/bin/sh", "-c", f"sleep 100 & (sleep 100; true) & {act} hang hang; true"), (2, "/bin/sh", "-c", "kill -STOP $$"),
                (2, "python3", "-c", close)]
        for mode in MODES:
            for n, *words in jobs:
                if mode == "thread" and "python3" in words:
                    continue  # is refused
                child = self.start(f"--ranks={mode}", "-n", n, *words)
                self.wait_for(lambda: len(self.marked()) >= (2 + n if mode == "process" else 3), 5, "the start")
                time.sleep(0.2)
                self.kill_both(child)
                self.wait_for(lambda: not self.marked(), 1, f"the end of all processes of {mode} {words}")

    def test_more_ranks_than_cores_and_both_killed(self):
        for mode in MODES:
            child = self.start(f"--ranks={mode}", "-n", 24, "/bin/sh", "-c", f"{program('act')} hang hang; true")
            self.wait_for(lambda: len(self.marked()) >= (26 if mode == "process" else 3), 5, "the start")
            self.kill_both(child)
            self.wait_for(lambda: not self.marked(), 1, f"the end of all processes of {mode}")

    def test_parent_ignores_dead_children(self):
        """SIGCHLD ignored is inherited; the kernel then tells nobody how a child ended."""
        ignore = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
        for mode in MODES:
            result = self.run_command(["python3", "-c", ignore, harness.MPIEXEC, f"--ranks={mode}", "-n", 3, program("act"), 1, "finish", 7])
            self.assertEqual(result.code, 7, result.err)

    def test_nohup(self):
        """A signal that mpiexec was told to ignore does not end the job, however often it comes."""
        for mode in MODES:
            child = self.start(f"--ranks={mode}", "-n", 2, program("act"), "hang", "hang", before="trap '' HUP INT;")
            self.wait_for(lambda: len(self.marked()) >= (4 if mode == "process" else 3), 5, "the start")
            time.sleep(0.2)
            for number in (signal.SIGHUP, signal.SIGINT, signal.SIGHUP, signal.SIGINT):
                os.kill(child.pid, number)
                time.sleep(0.1)
            self.assertIsNone(child.poll(), mode)
            child.terminate()
            self.assertEqual(child.wait(5 * PATIENCE), 128 + signal.SIGTERM)

    def test_launcher_interrupted(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            child = self.start("-n", 3, "sleep", "100")
            self.wait_for(lambda: len(self.marked()) >= 5, 5, "the start")
            os.kill(child.pid, number)
            self.wait_for(lambda: not self.marked(), 4, "the end of all ranks")
            self.assertEqual(child.wait(), 128 + number)

    def test_interrupted_while_starting(self):
        """The ranks that have started block the signal; those that have not would never hear of it."""
        child = self.start("-n", 1500, "sleep", "100", blocked=signal.SIGINT)
        self.wait_for(lambda: len(self.marked()) >= 100, 10, "the start of some")
        os.kill(child.pid, signal.SIGINT)
        self.assertLess(len(self.marked()), 1500)  # else this tests nothing
        self.assertEqual(child.wait(20 * PATIENCE), 128 + signal.SIGINT)
        self.wait_for(lambda: not self.marked(), 1, "the end of all ranks")

    def test_signal_passed_on(self):
        """SIGUSR1 sent to mpiexec reaches every rank."""
        child = self.start("-n", 3, "/bin/sh", "-c", "trap 'echo got it; exit 0' USR1; while true; do sleep 0.05; done")
        self.wait_for(lambda: len(self.marked()) >= 5, 5, "the start")
        time.sleep(0.3)  # the traps are set
        os.kill(child.pid, signal.SIGUSR1)
        self.assertEqual(child.wait(10 * PATIENCE), 0)
        self.assertEqual(child.stdout.read().decode(), "got it\n" * 3)

    def test_rank_killed_from_outside(self):
        child = self.start("-n", 3, program("act"), 1, "signal", 19)  # stops itself: SIGSTOP
        ranks = lambda: [pid for pid, command in self.marked().items() if command.startswith(program("act"))]
        self.wait_for(lambda: len(ranks()) == 3, 5, "the start")
        begin = time.monotonic()
        os.kill(max(ranks()), signal.SIGKILL)
        self.assertEqual(child.wait(5 * PATIENCE), 128 + signal.SIGKILL)
        self.assertLess(time.monotonic() - begin, 1 * PATIENCE)

    def test_timeout(self):
        for mode in MODES:
            result = self.mpiexec(f"--ranks={mode}", "--timeout", "0.5", "-n", 2, program("act"), "hang", "hang", timeout=10)
            self.assertEqual(result.code, 124, result.err)
            self.assertGreater(result.seconds, 0.45)
            self.assertLess(result.seconds, 3 * PATIENCE)
            self.assertIn("0.5", result.err)
        self.ok(self.mpiexec("--timeout", "20", "-n", 2, program("hello")))

    def test_grandchildren(self):
        """What a rank started goes with it."""
        result = self.mpiexec("-n", 2, "/bin/sh", "-c", "sleep 100 & exit 5")
        self.assertEqual(result.code, 5)


if __name__ == "__main__":
    harness.main()
