#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""weft's programs under Slurm's srun, by PMI-2 and by PMIx, spawns there, and mpiexec with srun as its launch agent, on two hosts that
scripts/cluster makes. The controller runs at the switch. Left out without root or Slurm (Debian: slurm-wlm, munge)."""
import os
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

import harness
from harness import PATIENCE, program

CONF = """ClusterName=one
SlurmctldHost=head(10.77.0.254)
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
NodeName=n1 NodeAddr=10.77.0.1 CPUs=8 State=UNKNOWN
NodeName=n2 NodeAddr=10.77.0.2 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
"""


class Slurm(harness.ClusterCase):
    HOSTS = 2

    @classmethod
    def setUpClass(cls):
        for tool in ("srun", "slurmctld", "slurmd", "munged"):
            if not shutil.which(tool):
                print(f"skipped: cluster without {tool} (Debian: slurm-wlm, munge)", flush=True)
                raise unittest.SkipTest(f"{tool} is not installed")
        super().setUpClass()
        cls.folder = Path(tempfile.mkdtemp(prefix="slurm-"))
        cls.folder.chmod(0o755)
        cls.addClassCleanup(shutil.rmtree, cls.folder, ignore_errors=True)
        (cls.folder / "state").mkdir()
        (cls.folder / "slurm.conf").write_text(CONF.format(folder=cls.folder))
        (cls.folder / "key").write_bytes(os.urandom(256))
        (cls.folder / "key").chmod(0o400)
        files = [f"--{what}={cls.folder}/{name}" for what, name in (("key-file", "key"), ("socket", "munge.sock"), ("pid-file", "munge.pid"),
                                                                    ("log-file", "munge.log"), ("seed-file", "seed"))]
        subprocess.run(["munged", "--force", *files], check=True, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(cls.end_munge, int((cls.folder / "munge.pid").read_text()))
        variable = f"SLURM_CONF={cls.folder}/slurm.conf"
        cls.daemons = [subprocess.Popen([*cls.words, "exec", host, f"exec env {variable} {daemon} -D"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                       for host, daemon in (("head", "slurmctld -i"), ("n1", "slurmd"), ("n2", "slurmd"))]
        deadline = time.monotonic() + 30 * PATIENCE
        while cls.at_head("sinfo -h -t idle -o %D").stdout.strip() != "2":
            if time.monotonic() > deadline:
                logs = "\n".join(log.read_text()[-1000:] for log in cls.folder.glob("slurm*.log"))
                cls.tearDownClass()
                raise AssertionError(f"Slurm does not come up:\n{logs}")
            time.sleep(0.2)

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        for daemon in cls.daemons:
            daemon.wait()

    @classmethod
    def end_munge(cls, pid):
        os.kill(pid, signal.SIGTERM)
        deadline = time.monotonic() + 10 * PATIENCE  # it writes its seed
        while Path(f"/proc/{pid}").exists() and time.monotonic() < deadline:
            time.sleep(0.05)

    @classmethod
    def at_head(cls, command, timeout=60):
        # /tmp is common to the hosts, /dev/shm is not.
        environment = dict(os.environ, SLURM_PMIX_TMPDIR="/dev/shm", SLURM_CONF=f"{cls.folder}/slurm.conf")
        return subprocess.run([*cls.words, "exec", "head", command], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=timeout * PATIENCE)

    def ok(self, result):
        self.assertEqual(result.returncode, 0, harness.show(result.stdout, result.stderr))
        return result

    def wanted(self):
        return [f"{r}: rank {r % 2} of 2 on its node, left {(r - 1) % 4}, sum 6" for r in range(4)]

    def test_srun(self):
        for how in ("pmi2", "pmix"):
            if how not in self.at_head("srun --mpi=list").stdout.split():
                self.skipTest(f"srun has no {how}")
            with self.subTest(how):
                result = self.ok(self.at_head(f"srun --mpi={how} -N 2 -n 4 --ntasks-per-node=2 {program('nodes')}"))
                self.assertEqual(sorted(result.stdout.splitlines()), self.wanted(), result.stderr)
                result = self.ok(self.at_head(f"srun --mpi={how} -N 2 -n 4 --ntasks-per-node=2 {program('traffic')}"))
                self.assertEqual(result.stdout, "traffic ok 4\n")
                result = self.at_head(f"srun --mpi={how} -N 2 -n 4 --ntasks-per-node=2 {program('act')} 3 abort 5")
                self.assertNotEqual(result.returncode, 0)
                self.assertIn("MPI_Abort on rank 3", result.stderr)

    def test_spawns(self):
        """On one node without an agent, on two with those that a launch agent starts."""
        agent = f"WEFT_SPAWN_AGENT='{' '.join(self.words)} exec'"
        for how in ("pmi2", "pmix"):
            for start in (f"srun --mpi={how} -N 1 -n 2 {program('family')}", f"{agent} srun --mpi={how} -N 2 -n 2 {program('family')}"):
                for what in ("hello", "each", "leave"):
                    with self.subTest(start=start, what=what):
                        result = self.ok(self.at_head(f"{start} {what}"))
                        self.assertIn(f"parent 1 of {what}", result.stdout)
                        self.assertEqual(result.stdout.count("child 0 with"), 2 if what == "each" else 1)
                self.assertNotEqual(self.at_head(f"{start} kill").returncode, 0)

    def test_srun_without_pmi(self):
        result = self.ok(self.at_head(f"srun --mpi=none -N 2 -n 2 {program('nodes')}"))
        self.assertEqual(result.stdout.count("rank 0 of 1"), 2)
        self.assertIn("--mpi=pmix", result.stderr)

    def test_mpiexec_in_an_allocation(self):
        """It finds the hosts in Slurm's variables, and starts its agents by srun."""
        for mode in harness.MODES:
            result = self.ok(self.at_head(f"salloc -Q -N 2 -n 4 --ntasks-per-node=2 {harness.MPIEXEC} --ranks={mode} {program('nodes')}"))
            self.assertEqual(sorted(result.stdout.splitlines()), self.wanted(), result.stderr)
        # Bytes are not changed on their way through srun.
        (self.folder / "bytes").write_bytes(os.urandom(1_000_000))
        command = f"{harness.MPIEXEC} -H n1,n2 sh -c '[ $WEFT_RANK = 0 ] || exec cat {self.folder}/bytes'"
        (self.folder / "job").write_text(f"#!/bin/sh\n{command} > {self.folder}/came\n")
        self.ok(self.at_head(f"salloc -Q -N 2 -n 2 sh {self.folder}/job"))
        self.assertEqual((self.folder / "came").read_bytes(), (self.folder / "bytes").read_bytes())
        result = self.at_head(f"salloc -Q -N 2 -n 4 --ntasks-per-node=2 {harness.MPIEXEC} {program('act')} 3 segv 16")
        self.assertEqual(result.returncode, 139, result.stderr)
        self.assertIn("rank 3 of 4", result.stderr)


if __name__ == "__main__":
    harness.main()
