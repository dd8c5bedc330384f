#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Standard input and output: lines never mix, tags, stdin to rank 0 only, slow and vanished readers."""
import re
import subprocess
import time

import harness
from harness import MODES, program

LINE = re.compile(r"^begin (\d+) ((?:\d+,)*) line (\d+) end$")


class Output(harness.Case):
    def test_lines_never_mix(self):
        n, lines = 4, 500
        for mode in MODES:
            result = self.ok(self.mpiexec(f"--ranks={mode}", "-n", n, program("lines"), lines, timeout=60))
            got = result.out.splitlines()
            self.assertEqual(len(got), n * lines, mode)
            following = [0] * n
            for line in got:
                match = LINE.match(line)
                self.assertTrue(match, f"{mode}: a mixed line: {line!r}")
                rank, number = int(match[1]), int(match[3])
                self.assertEqual(match[2], f"{rank}," * (number % 50))
                self.assertEqual(number, following[rank], f"{mode}: lines of rank {rank} are out of order")
                following[rank] += 1
            self.assertEqual(sorted(result.err.splitlines()), sorted(f"error {r} {i}" for r in range(n) for i in range(0, lines, 10)))

    def test_tags(self):
        for mode in MODES:
            for option in ("-l", "--tag-output"):
                result = self.ok(self.mpiexec(f"--ranks={mode}", option, "-n", 3, program("hello")))
                self.assertEqual(sorted(result.out.splitlines()), [f"[{r}] hello {r} of 3, sum 3" for r in range(3)])

    def test_last_line_without_end(self):
        result = self.ok(self.mpiexec("-n", 1, "/usr/bin/printf", "no end"))
        self.assertEqual(result.out, "no end")

    def test_binary_output(self):
        result = self.run_command([harness.MPIEXEC, "-n", "1", "/bin/sh", "-c", r"printf 'a\000b\377c'"])
        self.assertEqual(result.out.encode(errors="replace"), b"a\0b\xef\xbf\xbdc")

    def test_input(self):
        data = bytes(range(256)) * 4000  # 1 MiB: more than any pipe holds
        checksum = 0
        for byte in data:
            checksum = (checksum * 31 + byte) & 0xFFFFFFFF
        for mode in MODES:
            result = self.ok(self.mpiexec(f"--ranks={mode}", "-n", 3, program("input"), stdin=data))
            lines = sorted(result.out.splitlines())
            self.assertEqual(lines[0], f"rank 0 read {len(data)} bytes, checksum {checksum}", mode)
            self.assertEqual(lines[1:], ["rank 1 read 0 bytes, checksum 0", "rank 2 read 0 bytes, checksum 0"], mode)

    def test_input_never_read(self):
        self.ok(self.mpiexec("-n", 2, program("hello"), stdin=b"x" * 3_000_000))

    def test_reader_goes_away(self):
        """`mpiexec ... | head -1` ends."""
        child = subprocess.Popen([harness.MPIEXEC, "-n", "2", program("lines"), "100000"], env=self.env(), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        child.stdout.readline()
        child.stdout.close()
        child.wait(20 * harness.PATIENCE)

    def test_slow_reader(self):
        child = subprocess.Popen([harness.MPIEXEC, "-n", "2", program("lines"), "20000"], env=self.env(), stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        time.sleep(1)  # the pipe is full by now
        out = child.stdout.read().decode()
        child.stdout.close()
        self.assertEqual(child.wait(20 * harness.PATIENCE), 0)
        self.assertEqual(len(out.splitlines()), 40000)

    def test_everything_comes_before_the_end(self):
        """What a rank wrote before it failed is shown."""
        for mode in MODES:
            result = self.mpiexec(f"--ranks={mode}", "-n", 2, program("act"), 1, "_exit", 3)
            self.assertIn("rank 1 does _exit", result.out)


if __name__ == "__main__":
    harness.main()
