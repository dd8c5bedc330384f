#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What users of MPICH, Open MPI and Slurm type: it works, or one sentence says what to type instead; and what goes
wrong at the door (bad values, missing interpreters, limits) is named."""
import os
import re
import resource
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import harness
from harness import MODES, program

RANK_VARIABLES = ("WEFT_RANK", "WEFT_LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID")
SIZE_VARIABLES = ("WEFT_SIZE", "WEFT_LOCAL_SIZE", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")
# Where groups that limit the number of processes are made (version 1 of control groups).
PIDS = next((path for path in [Path("/sys/fs/cgroup/pids")] if path.is_dir()), None)
CPUS = sorted(os.sched_getaffinity(0))


class Options(harness.Case):
    def setUp(self):
        super().setUp()
        folder = tempfile.TemporaryDirectory(prefix="options test ")
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name).resolve()

    def script(self, text, name="script"):
        path = self.folder / name
        path.write_bytes(text.encode())
        path.chmod(0o755)
        return path

    def refused(self, result, code, *words):
        """One line that says it, and nothing ran."""
        self.assertEqual(result.code, code, result.err)
        self.assertEqual(result.out, "")
        self.assertEqual(len(result.err.splitlines()), 1, result.err)
        self.assertTrue(result.err.startswith("weft: "), result.err)
        for word in words:
            self.assertIn(word, result.err)

    # --- variables

    def test_rank_variables(self):
        n = 2 * len(CPUS) + 1
        for mode in MODES:
            result = self.ok(self.mpiexec(f"--ranks={mode}", "-n", 1, program("show"), *RANK_VARIABLES, *SIZE_VARIABLES, "PMI_RANK",
                                          ":", "-n", n - 1, program("show"), *RANK_VARIABLES, *SIZE_VARIABLES, "PMI_RANK",
                                          env={"WEFT_RANK": "77", "PMI_RANK": "77"}))
            lines = set(result.out.splitlines())
            for rank in range(n):
                for name in RANK_VARIABLES:
                    self.assertIn(f"{rank} {name}={rank}", lines, mode)
                for name in SIZE_VARIABLES:
                    self.assertIn(f"{rank} {name}={n}", lines, mode)
                # Other libraries would look for its server.
                self.assertIn(f"{rank} PMI_RANK=(unset)", lines, mode)
            self.assertEqual(result.err, "", "they are weft's own variables")

    def test_scripts_see_them_once(self):
        script = self.script("#!/bin/sh\nenv | grep -c '^WEFT_RANK='\n")
        result = self.ok(self.mpiexec("-n", 2, "/bin/sh", "-c", f"'{script}'", env={"WEFT_RANK": "5"}))
        self.assertEqual(result.out, "1\n1\n")

    def test_inherited_variables(self):
        names = ("WT_A", "WT_B", "WT_C")
        env = {name: "outside" for name in names}
        for mode in MODES:
            for words, want in ((("-genvnone",), ()), (("-envnone",), ()), (("-genvlist", "WT_A,WT_C"), ("WT_A", "WT_C")),
                                (("-envlist", "WT_B"), ("WT_B",)), (("-genvnone", "-envall"), names), ((), names),
                                (("-genvnone", "-x", "WT_B"), ("WT_B",)), (("-envnone", "-x", "WT_*"), names)):
                result = self.ok(self.mpiexec(f"--ranks={mode}", *words, "-n", 2, program("show"), *names, env=env))
                for rank in (0, 1):
                    for name in names:
                        value = "outside" if name in want else "(unset)"
                        self.assertIn(f"{rank} {name}={value}", result.out, f"{mode} {words}")

    # --- where ranks run

    def where(self, mode, n, *words, env=None):
        result = self.ok(self.mpiexec(f"--ranks={mode}", "-n", n, *words, program("where"), env=env))
        lines = dict(line.split(" on ") for line in result.out.splitlines())
        return [[int(cpu) for cpu in lines[str(rank)].split(",")] for rank in range(n)], result.err

    def test_bindings_are_what_is_reported(self):
        n = len(CPUS) + 1
        for mode in MODES:
            for words in ((), ("--bind-to", "core"), ("--map-by", "core"), ("--bind-to", "hwthread"), ("-bind-to", "machine"),
                          ("--map-by", "machine", "--bind-to", "core:1"), ("--bind-to", "none")):
                got, err = self.where(mode, n, "--report-bindings", *words)
                lines = err.splitlines()
                self.assertEqual(len(lines), n, err)
                for rank, cpus in enumerate(got):
                    self.assertTrue(lines[rank].startswith(f"weft: rank {rank} ({program('where')}) is "), lines[rank])
                    if words == ("--bind-to", "none"):
                        self.assertEqual(cpus, CPUS)
                        self.assertIn("not bound", lines[rank])
                    else:
                        listed = re.search(r"bound to CPUs? ([\d,-]+):", lines[rank])[1]
                        self.assertEqual(harness.cpu_list(listed), cpus, f"{mode} {words}")

    def test_map_and_bind(self):
        for mode in MODES:
            got, _ = self.where(mode, len(CPUS), "--map-by", "hwthread")
            self.assertEqual([cpus for cpus in got], [[cpu] for cpu in CPUS], mode)
            got, _ = self.where(mode, 2, "--bind-to", "machine")
            self.assertEqual(got, [CPUS, CPUS], mode)

    def test_placement_on_another_machine(self):
        """Two packages of four cores, declared: ranks are placed on it, not bound."""
        env = {"HWLOC_SYNTHETIC": "pack:2 l3:2 core:2 pu:1"}
        for mode in MODES:
            for words, want in ((("--map-by", "package"), "0,1 4,5 2,3 6,7"), (("--map-by", "slot:PE=2"), "0,1 2,3 4,5 6,7"),
                                (("--map-by", "socket", "--rank-by", "fill", "-bind-to", "core"), "0 1 4 5"),
                                (("--bind-to", "package"), "0-3 0-3 4-7 4-7"), (("--use-hwthread-cpus",), "0 1 2 3"),
                                (("--cpus-per-task=2",), "0,1 2,3 4,5 6,7")):
                result = self.ok(self.mpiexec(f"--ranks={mode}", "-n", 4, "--report-bindings", *words, program("hello"), env=env))
                got = re.findall(r"placed on, not bound to, CPUs? ([\d,-]+):", result.err)
                self.assertEqual(" ".join(got), want, f"{mode} {words}")

    def test_a_level_that_is_missing(self):
        for mode in MODES:
            result = self.mpiexec(f"--ranks={mode}", "-n", 2, "--map-by", "l3cache", program("hello"),
                                  env={"HWLOC_SYNTHETIC": "pack:2 core:2 pu:1"})
            self.refused(result, 2, "no level L3Cache", "Package 2, Core 4")

    def test_display(self):
        for words in (("--display-map",), ("-display-map",), ("--display", "map"), ("-v",)):
            result = self.ok(self.mpiexec(*words, "-n", 2, program("hello")))
            self.assertIn("CPUs by rank", result.err, words)
        result = self.ok(self.mpiexec("--display", "map,bindings", "-n", 2, program("hello")))
        self.assertEqual(len(result.err.splitlines()), 3)

    # --- input and output

    def test_output_files(self):
        n = 3
        for mode in MODES:
            for words, out, err in ((("-outfile-pattern", "o-%r", "-errfile-pattern", "e-%r"), "o-{}", "e-{}"),
                                    (("--output-filename", "new/folder/x"), "new/folder/x.{}.out", "new/folder/x.{}.err"),
                                    (("--output", "dir=d"), "d/rank.{}/stdout", "d/rank.{}/stderr")):
                for _ in range(2):  # what was there is replaced
                    result = self.ok(self.mpiexec(f"--ranks={mode}", *words, "-n", n, program("lines"), 20, cwd=self.folder))
                    self.assertEqual((result.out, result.err), ("", ""), mode)
                    for rank in range(n):
                        lines = (self.folder / out.format(rank)).read_text().splitlines()
                        self.assertEqual(len(lines), 20, mode)
                        self.assertTrue(all(line.startswith(f"begin {rank} ") for line in lines))
                        self.assertEqual((self.folder / err.format(rank)).read_text(), f"error {rank} 0\nerror {rank} 10\n")

    def test_output_file_of_stdout_only(self):
        for mode in MODES:
            result = self.ok(self.mpiexec(f"--ranks={mode}", "-l", "-outfile-pattern", self.folder / "%h-%r-%%", "-n", 2, program("lines"), 1))
            self.assertEqual(sorted(result.err.splitlines()), ["[0] error 0 0", "[1] error 1 0"])
            self.assertEqual((self.folder / f"{os.uname().nodename}-1-%").read_text(), "begin 1  line 0 end\n")

    def test_output_file_that_cannot_be_made(self):
        for mode in MODES:
            result = self.mpiexec(f"--ranks={mode}", "--output-filename", "/proc/none/x", "-n", 2, program("hello"))
            self.refused(result, 1, "rank 0", "output", "No such file")

    def test_merge(self):
        for mode in MODES:
            result = self.ok(self.mpiexec(f"--ranks={mode}", "--merge-stderr-to-stdout", "-n", 2, program("lines"), 1))
            self.assertEqual(sorted(result.out.splitlines()), ["begin 0  line 0 end", "begin 1  line 0 end", "error 0 0", "error 1 0"])
            self.assertEqual(result.err, "")
            self.ok(self.mpiexec(f"--ranks={mode}", "--merge-stderr-to-stdout", "-outfile-pattern", self.folder / "m%r", "-n", 2, program("lines"), 1))
            both = (self.folder / "m1").read_text()  # as the rank wrote them, one after the other
            self.assertEqual(sorted(both), sorted("begin 1  line 0 end\nerror 1 0\n"))

    def test_reader(self):
        text = self.folder / "text"
        text.write_text("x" * 100_000)
        for mode in MODES:
            for option, want in ((("-stdin", "2"), [0, 0, 100_000]), (("-s", "none"), [0, 0, 0]), (("--stdin=all",), [100_000] * 3), ((), [100_000, 0, 0])):
                command = [harness.MPIEXEC, f"--ranks={mode}", *option, "-n", "3", program("input")]
                with open(text) as file:
                    done = subprocess.run(command, stdin=file, env=self.env(), capture_output=True, text=True, timeout=30 * harness.PATIENCE)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual([int(number) for number in re.findall(r"read (\d+) bytes", "\n".join(sorted(done.stdout.splitlines())))], want, (mode, option))
            # From a pipe one rank can read.
            result = self.ok(self.mpiexec(f"--ranks={mode}", "-stdin", 1, "-n", 2, program("input"), stdin=b"abc"))
            self.assertIn("rank 1 read 3 bytes", result.out)
            # Or all, each from a copy.
            text_of_pipe = os.urandom(1_000_000)
            alone = self.ok(self.mpiexec("-n", 1, program("input"), stdin=text_of_pipe)).out
            result = self.ok(self.mpiexec(f"--ranks={mode}", "-stdin", "all", "-n", 3, program("input"), stdin=text_of_pipe))
            self.assertEqual(sorted(result.out.splitlines(True)), [alone.replace("rank 0", f"rank {r}") for r in range(3)])

    def test_reader_from_the_middle_of_a_file(self):
        text = self.folder / "text"
        text.write_text("first\nsecond\n")
        for mode in MODES:
            with open(text) as file:
                os.lseek(file.fileno(), 6, os.SEEK_SET)
                done = subprocess.run([harness.MPIEXEC, f"--ranks={mode}", "-stdin", "all", "-n", "2", program("input")], stdin=file,
                                      env=self.env(), capture_output=True, text=True, timeout=30 * harness.PATIENCE)
            self.assertEqual(len(re.findall("read 7 bytes", done.stdout)), 2, done.stdout + done.stderr)

    # --- files of options, hosts, time

    def test_config_file(self):
        path = self.folder / "config"
        path.write_text(f"# two programs\n-n 1 {program('hello')} \"first one\"\n-n 2 {program('hello')} \\\n  then\n")
        for mode in MODES:
            for option in ("-configfile", "--app"):
                result = self.ok(self.mpiexec(f"--ranks={mode}", "-l", option, path))
                self.assertEqual(sorted(result.out.splitlines()), ["[0] first one 0 of 3, sum 3", "[1] then 1 of 3, sum 3", "[2] then 2 of 3, sum 3"])
        self.refused(self.mpiexec("-configfile", path, "true"), 2, '"true" stands behind')
        self.refused(self.mpiexec("-configfile", "/no/such/file"), 2, "/no/such/file")

    def test_hosts(self):
        file = self.folder / "hosts"
        file.write_text("localhost slots=2\n")
        for mode in MODES:
            for words in (("-H", "localhost:2"), ("-host", f"{os.uname().nodename}:2"), ("-hostfile", file), ("-f", file), ("-machinefile", file),
                          ("-host", "127.0.0.1", "-n", "2")):
                result = self.ok(self.mpiexec(f"--ranks={mode}", *words, program("hello")))
                self.assertEqual(len(result.out.splitlines()), 2, words)
        self.refused(self.mpiexec("-H", "localhost,far.invalid", "-n", 2, "true"), 1, "far.invalid", "cannot be used")
        file.write_text("far.invalid slots=4\n")
        self.refused(self.mpiexec("-hostfile", file, "true"), 1, "far.invalid", "cannot be used")

    def test_timeout_of_mpich(self):
        for mode in MODES:
            result = self.mpiexec(f"--ranks={mode}", "-n", 2, program("act"), "hang", "hang", env={"MPIEXEC_TIMEOUT": "0.5"})
            self.refused(result._replace(out=""), 124, "0.5 s", "MPIEXEC_TIMEOUT")
        self.ok(self.mpiexec("-n", 2, program("hello"), env={"MPIEXEC_TIMEOUT": "-1"}))
        self.refused(self.mpiexec("true", env={"MPIEXEC_TIMEOUT": "1 minute"}), 2, "MPIEXEC_TIMEOUT", "1 minute")

    def test_what_has_no_effect_is_said(self):
        for mode in MODES:
            result = self.ok(self.mpiexec(f"--ranks={mode}", "--mca", "btl", "self", "-n", 2, program("hello")))
            self.assertEqual(len(result.err.splitlines()), 1)
            self.assertIn('--mca "btl"', result.err)

    # --- at the door

    def test_empty_names(self):
        for words in (("-n", "2", ""), ("",), ("--", "")):
            self.refused(self.mpiexec(*words), 2, "name of the program to run is empty")
        self.refused(self.mpiexec("-n", "", "true"), 2, "-n needs a value")
        self.refused(self.mpiexec("-wdir", "", "true"), 2, "-wdir needs a value")

    def test_deleted_directory(self):
        for mode in (*MODES, "auto"):
            gone = self.folder / "gone"
            for command, code, words in ((f'--ranks={mode} -n 2 "{program("hello")}"', 0, ()), ("-n 2 ./a", 127, ("deleted", "./a")),
                                         ("-n 2 no-such-program", 127, ("PATH",)), ("-n 2 -wdir / true", 0, ())):
                gone.mkdir()
                result = self.run_command(["/bin/sh", "-c", f'cd "$0" && rmdir "$0" && exec "$1" {command}', gone, harness.MPIEXEC])
                self.assertNotIn("terminate", result.err)
                if code == 0:
                    self.ok(result)
                else:
                    self.refused(result, code, *words)

    def test_scripts_that_cannot_run(self):
        for mode in MODES[:1] + ("auto",):
            for text, words in (("#!/no/such/interpreter\n", ("/no/such/interpreter", "No such file")),
                                ("#! /no/such/interpreter with words\n", ("its interpreter /no/such/interpreter (",)),
                                ("#!/bin/sh\r\necho\r\n", ("Windows", "/bin/sh\\r")), ("#!\n", ("names no interpreter",)), ("", ("empty",)),
                                ("#!/tmp\n", ("/tmp",)), ("echo no first line\n", ("#! line",))):
                path = self.script(text)
                result = self.mpiexec(f"--ranks={mode}", "-n", 2, path)
                self.assertEqual(result.code, 126, text)
                self.assertIn(str(path), result.err)
                for word in words:
                    self.assertIn(word, result.err)
            good = self.script("#!/bin/sh\necho fine\n")
            self.assertEqual(self.ok(self.mpiexec(f"--ranks={mode}", "-n", 2, good)).out, "fine\nfine\n")

    def test_programs_of_other_systems(self):
        source = self.folder / "a.c"
        source.write_text("int main(void) { return 0; }\n")
        binary = self.folder / "a"
        subprocess.run([harness.CC, source, "-o", binary, "-Wl,--dynamic-linker=/lib/no-such-loader.so"], check=True)
        self.refused(self.mpiexec("-n", 2, binary), 126, "/lib/no-such-loader.so", "another system")
        binary.write_bytes(binary.read_bytes()[:18] + b"\xf3\x00" + binary.read_bytes()[20:])
        result = self.mpiexec("-n", 2, binary)
        self.assertEqual(result.code, 126, result.err)
        self.assertIn("for this processor", result.err)

    def test_directories(self):
        self.refused(self.mpiexec("-wdir", "/etc/passwd", "true"), 127, "/etc/passwd", "no directory")
        self.refused(self.mpiexec("-wdir", "/no/such", "true"), 127, "/no/such", "No such file")

    # --- limits

    def limited(self, limit, *words):
        return self.run_command(["/bin/sh", "-c", f'{limit}; exec "$0" "$@"', harness.MPIEXEC, *words], timeout=60)

    def test_too_many_files(self):
        for mode in MODES:
            result = self.limited("ulimit -n 40", f"--ranks={mode}", "-n", 100, program("hello"))
            self.assertNotEqual(result.code, 0)
            self.assertIn("Too many open files", result.err)
            self.assertIn("ulimit -n", result.err)
            self.assertIn("40 (", result.err)
            self.assertNotIn("terminate", result.err)

    def test_soft_limit_of_files_is_raised(self):
        """A shell's usual 1024 of many more allowed are no limit for ranks."""
        if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 4096:
            self.skipTest("the hard limit is low")
        for mode in MODES:
            self.ok(self.limited("ulimit -Sn 64", f"--ranks={mode}", "-n", 50, program("hello")))

    @unittest.skipUnless(os.getuid() == 0, "needs root, to become a user without other processes")
    def test_too_many_processes(self):
        for mode in MODES:
            def become_limited_user():  # root has no such limit
                os.setgroups([])
                os.setgid(54321)
                os.setuid(54321)
                resource.setrlimit(resource.RLIMIT_NPROC, (12, 12))
            done = subprocess.run([harness.MPIEXEC, f"--ranks={mode}", "-n", "40", program("hello")], preexec_fn=become_limited_user, cwd="/",
                                  env=self.env(), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60 * harness.PATIENCE)
            self.assertNotEqual(done.returncode, 0, done.stdout)
            self.assertIn("ulimit -u", done.stderr)
            self.assertIn("12 (", done.stderr)

    @unittest.skipUnless(PIDS and os.access(PIDS, os.W_OK), "control groups cannot be made here")
    def test_control_group(self):
        group = PIDS / f"weft-test-{self.mark}"
        group.mkdir()
        self.addCleanup(group.rmdir)
        (group / "pids.max").write_text("12")
        for mode in MODES:
            enter = 'echo $$ > "$0/cgroup.procs"; exec "$@"'
            result = self.run_command(["/bin/sh", "-c", enter, group, harness.MPIEXEC, f"--ranks={mode}", "-n", 30, program("hello")], timeout=60)
            self.assertNotEqual(result.code, 0)
            self.assertIn(f"12 (pids.max of {group}", result.err)
            self.assertNotIn("ulimit", result.err)
            deadline = time.monotonic() + 5 * harness.PATIENCE
            while (group / "cgroup.procs").read_text() and time.monotonic() < deadline:
                time.sleep(0.05)

    @unittest.skipIf(os.environ.get("TEST_SANITIZE"), "a sanitizer's mpiexec does not even start")
    def test_too_little_memory(self):
        for mode in MODES:
            result = self.limited("ulimit -v 9000", f"--ranks={mode}", "-n", 2, program("hello"))
            self.refused(result, 1, "ulimit -v", "9000 (", "shared memory")

    def test_small_files_only(self):
        """ulimit -f concerns the job's shared memory too."""
        for mode in MODES:
            result = self.limited("ulimit -f 16", f"--ranks={mode}", "-n", 2, program("hello"))
            self.assertNotEqual(result.code, 0)
            self.assertIn("ulimit -f", result.err, f"{mode} {result.code}")

    def test_help_fits_a_terminal(self):
        help_text = self.ok(self.mpiexec("--help")).out
        for line in help_text.splitlines():
            self.assertLessEqual(len(line), 82, line)
        self.assertLess(len(help_text.splitlines()), 110)


if __name__ == "__main__":
    harness.main()
