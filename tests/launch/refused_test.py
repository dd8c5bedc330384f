#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernels and sandboxes that refuse system calls, one at a time: a job then runs all the same, or it ends at once with
a sentence and an exit code. It never hangs, and SIGTERM ends it always."""
import os
import signal
import subprocess
import time

import harness
from harness import MODES, PATIENCE, program

# Of what mpiexec, the rank host and the library's start call (strace -f), and what hwloc and the C library try
# besides. Left out is what ld.so cannot start any program without (openat, close, mmap, mprotect, read, execve, ...)
# and futex, without which the C library aborts.
WORKS = """clock_nanosleep clone3=ENOSYS dup3 eventfd2 faccessat faccessat2 fork fstat get_mempolicy getcpu
 getdents64 getrandom getrusage gettid ioctl kill lseek madvise mbind membarrier mremap nanosleep
 personality pidfd_open poll prctl prlimit64 process_vm_readv process_vm_writev ptrace readlinkat rseq
 sched_getaffinity sched_setaffinity sched_yield sendto set_robust_list set_tid_address setpgid setsid
 sigaltstack signalfd4 statx sysinfo tgkill umask uname unshare waitid""".split()
SAYS_WHY = "clone dup2 fcntl ftruncate getpid getppid memfd_create pipe2 ppoll pwrite64 rt_sigaction rt_sigprocmask rt_sigtimedwait vfork wait4".split()
# In one mode only; the other does without.
EITHER = ["clone3=EPERM", "readlink"]


class Refused(harness.Case):
    @classmethod
    def setUpClass(cls):
        if subprocess.run([program("refuse"), "EPERM", "ptrace", "true"]).returncode == 77:
            raise harness.unittest.SkipTest("may not install a seccomp filter here")

    def run_without(self, error, call, mode, n):
        return self.run_command([program("refuse"), error, call, harness.MPIEXEC, f"--ranks={mode}", "-n", n, program("hello")])

    def is_right(self, result, n):
        return result.code == 0 and sorted(result.out.splitlines()) == sorted(f"hello {r} of {n}, sum {n * (n - 1) // 2}" for r in range(n))

    def cases(self, names):
        for name in names:
            call, _, only = name.partition("=")
            for error in [only] if only else ["EPERM", "ENOSYS"]:
                for mode in MODES:
                    yield error, call, mode

    def says_why(self, result, about):
        self.assertTrue(0 < result.code < 128, f"{about}: {result.code}\n{result.err}")
        self.assertTrue(any(line.startswith("weft: ") for line in result.err.splitlines()), f"{about}\n{result.err}")

    def test_works_without(self):
        for case in self.cases(WORKS):
            result = self.run_without(*case, 2)
            self.assertTrue(self.is_right(result, 2), f"{case}: {result.code}\n{harness.show(result.out, result.err)}")

    def test_says_why_not(self):
        for case in self.cases(SAYS_WHY):
            self.says_why(self.run_without(*case, 2), case)

    def test_works_or_says_why_not(self):
        for case in self.cases(EITHER):
            result = self.run_without(*case, 2)
            if not self.is_right(result, 2):
                self.says_why(result, case)

    def test_more_ranks_than_cores(self):
        for case in self.cases(["signalfd4", "sched_getaffinity", "sched_setaffinity,setpgid,prctl,membarrier,unshare"]):
            result = self.run_without(*case, 9)
            self.assertTrue(self.is_right(result, 9), f"{case}: {result.code}\n{harness.show(result.out, result.err)}")

    def test_unbound_ranks_are_told(self):
        for mode in MODES:
            result = self.run_without("EPERM", "sched_getaffinity", mode, 2)
            self.assertIn("not bound to CPUs", result.err)
            self.assertIn("sched_getaffinity", result.err)

    def test_sigterm_ends_it(self):
        """Whatever is refused, a job that runs for ever ends by SIGTERM."""
        for mode in MODES:
            for call in ("signalfd4", "sched_getaffinity", "poll", "setpgid"):
                child = subprocess.Popen([program("refuse"), "EPERM", call, harness.MPIEXEC, f"--ranks={mode}", "-n", "2", program("act"), "hang", "hang"],
                                         env=self.env(), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(0.3)
                child.terminate()
                self.assertEqual(child.wait(10 * PATIENCE), 128 + signal.SIGTERM, f"{mode} {call}")

    def test_worker_that_does_not_answer(self):
        """mpiexec's worker process is stopped, as one that hangs would be: SIGTERM ends the job all the same."""
        for mode in MODES:
            child = subprocess.Popen([harness.MPIEXEC, f"--ranks={mode}", "-n", "2", program("act"), "hang", "hang"], env=self.env(),
                                     stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            time.sleep(0.5)
            worker = [pid for pid in self.marked() if harness.parent_of(pid) == child.pid]
            self.assertEqual(len(worker), 1)
            os.kill(worker[0], signal.SIGSTOP)
            child.terminate()
            err = child.communicate(timeout=10 * PATIENCE)[1].decode()
            self.assertEqual(child.returncode, 128 + signal.SIGTERM)
            self.assertRegex(err, "^weft: mpiexec's worker process did not react to signal 15")


if __name__ == "__main__":
    harness.main()
