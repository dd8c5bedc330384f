#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs and launchers that are not ours: plain gcc with -lmpi_abi, a program built by the mpich wheel's mpicc_abi
and never relinked, MPICH's Hydra (PMI-1) and PRRTE (PMIx) as launchers.

The mpich wheel comes from PyPI into a virtual environment of the build directory (or from TEST_MPICH, a prefix that
holds bin/mpicc_abi); without it those tests are skipped with a message."""
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import harness
from harness import BUILD, CC, LIBDIR, MODES, SOURCE, program

SOURCES = Path(__file__).resolve().parent / "programs"
MPICH_VERSION = "5.0.2"


def mpich():
    """The prefix of an MPICH with the standard ABI, or why there is none."""
    given = os.environ.get("TEST_MPICH")
    if given:
        return Path(given), ""
    prefix = BUILD / "tests" / "venv-mpich"
    if not (prefix / "bin" / "mpicc_abi").exists():
        try:
            subprocess.run([sys.executable, "-m", "venv", prefix], check=True, capture_output=True)
            subprocess.run([prefix / "bin" / "pip", "install", "-q", f"mpich=={MPICH_VERSION}"], check=True, capture_output=True, timeout=120)
        except (subprocess.SubprocessError, OSError) as error:
            return None, f"cannot install mpich {MPICH_VERSION} from PyPI ({error}); TEST_MPICH=prefix names one that is there"
    return prefix, ""


class Foreign(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="foreign-")
        cls.mpich, cls.why = mpich()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def build(self, *words):
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, f"{' '.join(map(str, words))}\n{done.stderr}")

    def path(self, name):
        return Path(self.folder.name) / name

    def same_in_both_modes(self, binary, env=None):
        for n in (1, 2, 4, 8):
            outputs = [sorted(self.ok(self.mpiexec(f"--ranks={mode}", "-n", n, binary, env=env)).out.splitlines()) for mode in MODES]
            self.assertEqual(outputs[0], outputs[1])
            self.assertEqual(outputs[0], sorted(f"hello {r} of {n}, sum {n * (n - 1) // 2}" for r in range(n)))

    def test_plain_gcc(self):
        self.build(CC, f"-I{SOURCE}/include", SOURCES / "hello.c", "-o", self.path("plain"), f"-L{LIBDIR}", "-lmpi_abi", f"-Wl,-rpath,{LIBDIR}")
        self.same_in_both_modes(self.path("plain"))

    def test_without_rpath(self):
        """A program that does not know where the library lies: LD_LIBRARY_PATH says."""
        self.build(CC, f"-I{SOURCE}/include", SOURCES / "hello.c", "-o", self.path("lost"), f"-L{LIBDIR}", "-lmpi_abi")
        self.same_in_both_modes(self.path("lost"), {"LD_LIBRARY_PATH": str(LIBDIR)})

    def test_built_with_mpich(self):
        if not self.mpich:
            self.skipTest(self.why)
        self.build(self.mpich / "bin" / "mpicc_abi", SOURCES / "hello.c", "-o", self.path("theirs"))
        self.same_in_both_modes(self.path("theirs"), {"LD_LIBRARY_PATH": str(LIBDIR)})
        self.build(self.mpich / "bin" / "mpicc_abi", SOURCES / "traffic.c", "-o", self.path("theirs-traffic"))
        for mode in MODES:
            result = self.ok(self.mpiexec(f"--ranks={mode}", "-n", 3, self.path("theirs-traffic"), env={"LD_LIBRARY_PATH": str(LIBDIR)}))
            self.assertEqual(result.out, "traffic ok 3\n")

    def spawns_under(self, *manager, **where):
        """A job of two ranks spawns, all at once and each for itself; nobody outlives a family of which one dies."""
        run = lambda *words: self.run_command([*manager, "-n", 2, *words], **where)
        family = lambda what, mode: run(program("family"), what, mode)
        for mode in MODES:
            result = self.ok(family("hello", mode))
            self.assertEqual(sorted(result.out.splitlines()), [f"child {i} with hello" for i in (0, 1)] + [f"parent {i} of hello" for i in (0, 1)])
            self.ok(family("each", mode))
            self.ok(family("leave", mode))
            for what in ("kill", "abort", "parent"):
                self.assertNotEqual(family(what, mode).code, 0)
                self.all_end()

    def test_under_hydra(self):
        if not self.mpich:
            self.skipTest(self.why)
        hydra = self.mpich / "bin" / "mpiexec.hydra"
        for n in (1, 3):
            result = self.ok(self.run_command([hydra, "-n", n, program("traffic")]))
            self.assertEqual(result.out, f"traffic ok {n}\n")
        result = self.ok(self.run_command([hydra, "-n", 4, program("hello")]))
        self.assertEqual(sorted(result.out.splitlines()), [f"hello {r} of 4, sum 6" for r in range(4)])
        for usize, universe in ((9, 9), (1, 2)):
            result = self.ok(self.run_command([hydra, "-usize", usize, "-n", 2, program("universe")]))
            self.assertEqual(result.out.count(f": universe {universe} on "), 2, result.out)
        nodes = [hydra, "-launcher", "fork", "-hosts", "one,two"]  # which Hydra pretends
        for n in (2, 5):
            self.assertEqual(self.ok(self.run_command([*nodes, "-n", n, program("traffic")])).out, f"traffic ok {n}\n")
        self.spawns_under(hydra)
        self.spawns_under(*nodes)
        spawn = BUILD / "tests" / "rank" / "spawn"
        self.ok(self.run_command([*nodes, "-n", 4, "-ppn", 2, spawn / "ports"]))
        self.ok(self.run_command([*nodes, "-n", 2, spawn / "again", 20], env={"TEST_NODES": "2"}))
        result = self.run_command([*nodes, "-n", 4, "-ppn", 1, program("family"), "hello"])  # ranks 0 and 2, 1 and 3
        self.assertIn("rank 2 is on node 0 again", result.err)
        result = self.run_command([hydra, "-n", 3, program("act"), 1, "abort", 9])
        self.assertEqual(result.code, 9, result.err)

    def test_under_prterun(self):
        """PRRTE comes with Open MPI: on the PATH, or where `make peers` has it."""
        prterun = shutil.which("prterun", path=f"{os.environ['PATH']}:{BUILD.parent / 'peers' / 'openmpi' / 'bin'}")
        if prterun is None:
            self.skipTest("there is no prterun; `make peers` brings one")
        env = {"PRTE_ALLOW_RUN_AS_ROOT": "1", "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        run = lambda n, *words: self.run_command([prterun, "-n", n, "--map-by", ":OVERSUBSCRIBE", *words], env=env)
        for n in (1, 3):
            self.assertEqual(self.ok(run(n, program("traffic"))).out, f"traffic ok {n}\n")
        result = self.ok(run(4, program("hello")))
        self.assertEqual(sorted(result.out.splitlines()), [f"hello {r} of 4, sum 6" for r in range(4)])
        result = self.ok(self.run_command([prterun, "-n", 2, "-H", "localhost:9", program("universe")], env=env))
        self.assertEqual(result.out.count(": universe 9 on "), 2, result.out)
        self.assertEqual(run(3, program("act"), 1, "abort", 9).code, 9)
        self.spawns_under(prterun, "--map-by", ":OVERSUBSCRIBE", env=env)

    def tasks(self, n, **variables):
        """What n tasks say that another launcher starts, each with its number in the variable `rank`."""
        results = [self.run_command([program("hello")], env={key: value.format(rank) for key, value in variables.items()}) for rank in range(n)]
        for result in results:
            self.assertEqual(result.out, "hello 0 of 1, sum 0\n")
        return [result.err for result in results]

    def test_managers_that_cannot_be_joined(self):
        """n jobs of one rank are not what was meant; the first says so."""
        for variables in ({"SLURM_PROCID": "{}", "SLURM_STEP_NUM_TASKS": "3"}, {"PMIX_RANK": "{}", "PMIX_NAMESPACE": "job"}):
            first, *others = self.tasks(3, **variables)
            self.assertEqual(len(first.splitlines()), 1, first)
            self.assertIn("each task runs as a job of one rank", first)
            self.assertEqual(others, ["", ""])
        self.assertEqual(self.tasks(2, SLURM_PROCID="{}", SLURM_STEP_NUM_TASKS="1"), ["", ""])
        # mpiexec inside such a task is weft's own launcher.
        for mode in MODES:
            result = self.ok(self.mpiexec(f"--ranks={mode}", "-n", 3, program("hello"), env={"SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2", "PMIX_RANK": "0"}))
            self.assertEqual(result.err, "")


class OnHosts(harness.ClusterCase):
    """A job of Hydra's on two hosts spawns: mpiexec starts an agent on both. Left out without root."""
    HOSTS = 2

    @classmethod
    def setUpClass(cls):
        cls.prefix, why = mpich()
        if not cls.prefix:
            raise unittest.SkipTest(why)
        super().setUpClass()

    def family(self, agent, *words):
        reach = f"{' '.join(self.words)} exec"
        ssh = SOURCE / "bench" / "network" / "agent.sh"
        hydra = [self.prefix / "bin" / "mpiexec.hydra", "-launcher", "ssh", "-launcher-exec", ssh, "-hosts", "n1,n2", "-ppn", 2, "-n", 4]
        command = " ".join(map(str, [f'BENCH_AGENT="{reach}" WEFT_SPAWN_AGENT="{agent or reach}"', *hydra, program("family"), *words]))
        return self.run_command([*self.words, "exec", "n1", command], timeout=60)

    def test_spawning(self):
        for mode in MODES:
            result = self.ok(self.family(None, "hello", mode))
            self.assertEqual(sorted(result.out.splitlines()), [f"child {i} with hello" for i in (0, 1)] + [f"parent {i} of hello" for i in range(4)])
            self.ok(self.family(None, "each", mode))
            self.assertNotEqual(self.family(None, "kill", mode).code, 0)
            self.all_end_on_hosts()

    def test_no_way_to_the_other_host(self):
        result = self.family("/nowhere", "hello")
        self.assertNotEqual(result.code, 0)
        self.assertRegex(result.err, "host n[12] cannot be used: /nowhere ended with code 127")  # what ranks say after that Hydra may lose
        self.all_end_on_hosts()

    def all_end_on_hosts(self):
        deadline = time.monotonic() + 5 * harness.PATIENCE
        while self.on_hosts() and time.monotonic() < deadline:
            time.sleep(0.05)
        self.assertEqual(self.on_hosts(), [])


if __name__ == "__main__":
    harness.main()
