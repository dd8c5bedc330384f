#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Standard input and output: lines never mix, tags, stdin to rank 0 only, slow and vanished readers."""
import os
import re
import resource
import subprocess
import tempfile
import time

import harness
from harness import MODES, can_unshare, program

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

    def shell(self, command, **options):
        """A command of the shell, in which "$mpiexec" is the launcher."""
        return self.run_command(["/bin/sh", "-c", command], env={"mpiexec": harness.MPIEXEC, "lines": program("lines"), "hello": program("hello")}, **options)

    def one_message(self, result, *words):
        lines = [line for line in result.err.splitlines() if not line.startswith("error ")]
        self.assertEqual(len(lines), 1, result.err)
        for word in ("weft: ", "output cannot be written", *words):
            self.assertIn(word, lines[0])

    def test_reader_goes_away_quietly(self):
        """As with any program in a pipe: the ranks get SIGPIPE, and nobody complains."""
        for mode in MODES:
            for n in (2, 9):
                result = self.shell(f'{{ "$mpiexec" --ranks={mode} -n {n} "$lines" 100000 2>/dev/null 3>&-; echo "$?" >&3; }} 3>&2 | head -1')
                self.assertRegex(result.out, r"^begin \d+  line 0 end\n$")
                self.assertEqual(result.err, "141\n", mode)

    def test_full_disk(self):
        """Where and why is said once; the ranks go on, and the exit code tells that something is missing."""
        for mode in MODES:
            for n in (2, 9):
                result = self.shell(f'"$mpiexec" --ranks={mode} -n {n} "$lines" 20000 >/dev/full', timeout=60)
                self.assertEqual(result.code, 1, result.err)
                self.one_message(result, "/dev/full", "standard output", "No space left on device")
                # To the last line, although nobody takes them.
                self.assertEqual(sum(line.endswith(" 19990") for line in result.err.splitlines()), n, mode)

    def test_a_rank_says_more(self):
        """A rank's own exit code is more than that of a full disk."""
        for mode in MODES:
            result = self.shell(f'"$mpiexec" --ranks={mode} -n 2 {program("act")} 1 _exit 3 >/dev/full')
            self.assertEqual(result.code, 3, result.err)

    def test_disk_fills_up(self):
        """In the middle of the output: what was written before stays."""
        if not can_unshare("-m"):
            self.skipTest("may not make a mount namespace here")
        with tempfile.TemporaryDirectory() as folder:
            inside = f'mount -t tmpfs -o size=16k tmpfs {folder}; "$mpiexec" --ranks=$1 -n 2 "$lines" 2000 >{folder}/out; code=$?; cat {folder}/out; exit $code'
            for mode in MODES:
                result = self.shell(f"unshare -m /bin/sh -c '{inside}' sh {mode}", timeout=60)
                self.assertEqual(result.code, 1, result.err)
                self.one_message(result, f"{folder}/out", "No space left on device")
                self.assertEqual(len(result.out), 16 * 1024)
                for line in result.out.splitlines()[:-1]:
                    self.assertRegex(line, LINE)

    def test_file_reaches_its_limit(self):
        """RLIMIT_FSIZE comes with a signal, which must not kill mpiexec."""
        for mode in MODES:
            with tempfile.NamedTemporaryFile() as file:
                child = subprocess.Popen([harness.MPIEXEC, f"--ranks={mode}", "-n", "2", "/bin/sh", "-c", "sleep 1; seq 10000"], env=self.env(),
                                         stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.PIPE)
                time.sleep(0.5)
                worker = next(pid for pid in self.marked() if harness.parent_of(pid) == child.pid)
                resource.prlimit(worker, resource.RLIMIT_FSIZE, (8192, resource.RLIM_INFINITY))
                err = child.communicate(timeout=20 * harness.PATIENCE)[1].decode()
                self.assertEqual(child.returncode, 1, err)
                self.assertIn(f"{file.name} (standard output): File too large", err)
                self.assertEqual(os.path.getsize(file.name), 8192)

    def test_full_standard_error(self):
        """There is no place for a message then; the exit code remains. Standard output is complete."""
        for mode in MODES:
            result = self.shell(f'"$mpiexec" --ranks={mode} -n 2 "$lines" 200 2>/dev/full')
            self.assertEqual((result.code, len(result.out.splitlines()), result.err), (1, 400, ""), mode)
            result = self.shell(f'"$mpiexec" --ranks={mode} -n 2 "$lines" 200 >/dev/full 2>&1')
            self.assertEqual((result.code, result.out, result.err), (1, "", ""), mode)

    def test_closed_output(self):
        for mode in MODES:
            result = self.shell(f'"$mpiexec" --ranks={mode} -n 2 "$lines" 200 >&-')
            self.assertEqual(result.code, 1, result.err)
            self.one_message(result, "standard output: it is closed")
            result = self.shell(f'"$mpiexec" --ranks={mode} -n 2 "$lines" 200 2>&-')
            self.assertEqual((result.code, len(result.out.splitlines())), (1, 400), mode)
            # Who says nothing misses nothing.
            self.assertEqual(self.shell(f'"$mpiexec" --ranks={mode} -n 2 true <&- >&- 2>&-').code, 0)

    def test_own_words_on_a_full_disk(self):
        for word in ("--help", "--version"):
            result = self.shell(f'"$mpiexec" {word} >/dev/full')
            self.assertEqual(result.code, 1)
            self.assertIn("No space left on device", result.err)

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
