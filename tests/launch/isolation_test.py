#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where weft must run: with a tiny /dev/shm, without a network, where process_vm_readv is refused, without mpiexec's
own home, as a stranger's child; and what it may not use there."""
import os
import subprocess
import tempfile
import time

import harness
from harness import MODES, can_unshare, program


REFUSED = "process_vm_readv,process_vm_writev"


class Isolation(harness.Case):
    def traffic(self, n, *prefix, mode, **options):
        result = self.ok(self.run_command([*prefix, harness.MPIEXEC, f"--ranks={mode}", "-n", n, program("traffic")], **options))
        self.assertEqual(result.out, f"traffic ok {n}\n")
        return result

    def test_tiny_shared_memory(self):
        if not can_unshare("-m"):
            self.skipTest("may not make a mount namespace here")
        script = 'mount -t tmpfs -o size=64k tmpfs /dev/shm && exec "$@"'
        for mode in MODES:
            self.traffic(4, "unshare", "-m", "/bin/sh", "-c", script, "sh", mode=mode)

    def test_no_shared_memory_folder(self):
        if not can_unshare("-m"):
            self.skipTest("may not make a mount namespace here")
        script = 'mount -t tmpfs -o ro,size=4k tmpfs /dev/shm && exec "$@"'
        for mode in MODES:
            self.traffic(2, "unshare", "-m", "/bin/sh", "-c", script, "sh", mode=mode)

    def test_no_network(self):
        if not can_unshare("-n"):
            self.skipTest("may not make a network namespace here")
        for mode in MODES:
            self.traffic(4, "unshare", "-n", mode=mode)

    def test_no_single_copy_between_processes(self):
        if self.run_command([program("refuse"), "EPERM", REFUSED, "true"]).code == 77:
            self.skipTest("may not install a seccomp filter here")
        for mode in MODES:
            for n in (2, 4):
                self.traffic(n, program("refuse"), "EPERM", REFUSED, mode=mode)

    def test_different_user_home_and_directory(self):
        with tempfile.TemporaryDirectory() as folder:
            for mode in MODES:
                self.traffic(2, mode=mode, cwd=folder, env={"HOME": "/nonexistent", "TMPDIR": "/nonexistent"})

    def test_no_socket_no_named_memory(self):
        """While a job runs, its processes hold no socket and no file under /dev/shm."""
        for mode in MODES:
            child = subprocess.Popen([harness.MPIEXEC, f"--ranks={mode}", "-n", "2", program("act"), "hang", "hang"], env=self.env(),
                                     stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            try:
                links = []
                time.sleep(0.5)  # all ranks have started and wait
                for pid in self.marked():
                    for fd in os.listdir(f"/proc/{pid}/fd"):
                        try:
                            links.append(os.readlink(f"/proc/{pid}/fd/{fd}"))
                        except OSError:
                            pass
                self.assertTrue(links)
                self.assertEqual([link for link in links if link.startswith("/dev/shm")], [], mode)
                self.assertEqual([link for link in links if link.startswith("socket:")], [], mode)
            finally:
                child.terminate()
                child.communicate(timeout=10)


if __name__ == "__main__":
    harness.main()
