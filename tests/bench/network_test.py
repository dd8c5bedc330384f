#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`weft bench network`: what it runs, how the libraries are told to take TCP, and what it prints."""
import argparse
import contextlib
import io
import os
import subprocess
import unittest
from pathlib import Path
from unittest import mock

import made_up
import libraries
import network_jobs
import network_report
import results

NAMES = ("weft-process", "mpich", "openmpi", "impi")


def libs():
    return [libraries.Library(name, "1", lambda ranks, fits: ["run", "-n", ranks]) for name in NAMES]


def plan(**more):
    args = argparse.Namespace(quick=True, rows=None, batches=5, batch_ms=1, limit_s=1, sizes=None, threads=[1, 2], ranks=[2, 4],
                              hosts=None, launch_agent="", nodes=2, peers="/nowhere", about=made_up.about("network"))
    vars(args).update(more)
    with mock.patch.object(libraries, "build", lambda libs, source, work, options: {lib.name: Path(source.parent.name) for lib in libs}), \
            mock.patch.object(network_jobs.shutil, "which", lambda name: f"/bin/{name}"):
        return network_jobs.plan(args, libs(), Path("."), Path("bench"))


class Plan(unittest.TestCase):
    def test_has_all_parts(self):
        by = {(str(job.program), job.ranks): job for job in plan() if job.series == "weft-process"}
        self.assertEqual(sorted(by), [("collectives", 4), ("p2p_coll", 2), ("rma", 2), ("threads", 2)])
        self.assertIn("rate_1t,rate_2t", by["threads", 2].options)
        self.assertIn("--pretend-nodes", by["p2p_coll", 2].library.command(2, "x"))
        self.assertEqual([job.series for job in plan() if job.ranks == 2].count("fi_pingpong"), 1)

    def test_rows_choose(self):
        self.assertEqual({str(job.program) for job in plan(rows="bcast")}, {"collectives"})

    def test_peers_have_nothing_but_the_network(self):
        env = {job.series: job.library.env for job in plan(rows="bw")}
        self.assertEqual(env["mpich"]["MPIR_CVAR_NOLOCAL"], 1)
        self.assertEqual(env["openmpi"]["OMPI_MCA_btl"], "self,tcp")
        self.assertEqual(env["impi"]["I_MPI_FABRICS"], "ofi")

    def test_hosts_are_told_to_all(self):
        words = {job.series: job.library.command(4, "x") for job in plan(rows="bcast", hosts="a,b")}
        self.assertEqual(words["weft-process"], ["run", "-H", "a:2,b:2", "-n", "4", "x"])
        self.assertEqual(words["mpich"], ["run", "-hosts", "a,b", "-ppn", "2", "-n", "4", "x"])
        self.assertEqual(words["openmpi"], ["run", "--host", "a:2,b:2", "-n", "4", "x"])

    def test_all_start_by_the_launch_agent(self):
        libs = {job.series: job.library for job in plan(rows="lat", hosts="a,b", launch_agent="cluster exec")}
        words = {name: " ".join(map(str, library.command(2, "x"))) for name, library in libs.items()}
        self.assertIn("--launch-agent cluster exec -n", words["weft-process"])
        for name, option in (("mpich", "-launcher ssh -launcher-exec"), ("impi", "-launcher-exec"), ("openmpi", "plm_ssh_agent")):
            self.assertIn(f"{option} {network_jobs.AGENT} -n", words[name])
            done = subprocess.run([network_jobs.AGENT, "-x", "a", "a command"], capture_output=True, text=True,
                                  env={**os.environ, "BENCH_AGENT": "printf %s. " + libs[name].env["BENCH_AGENT"]})
            self.assertEqual(done.stdout, "cluster.exec.a.a command.")

    def test_this_machine_pretends_to_be_as_many_nodes(self):
        words = {job.series: job.library.command(4, "x") for job in plan(rows="bcast", nodes=4, ranks=[8])}
        self.assertEqual(words["weft-process"][-3:-1], ["--pretend-nodes", "4"])
        self.assertIn("node0,node1,node2,node3", words["mpich"])


class Report(unittest.TestCase):
    def test_table_of_libfabric(self):
        text = "bytes   #sent   #ack     total       time     MB/sec    usec/xfer   Mxfers/sec\n" \
               "64      200     =200     25k         0.01s      5.00      12.50       0.08\n" \
               "1m      2k      =2k      400m        1s        53.23     900.25       0.00\n"
        self.assertEqual(network_jobs.own_rows(text), [{"row": "lat", "bytes": 64, "us": [12.5]}, {"row": "lat", "bytes": 1 << 20, "us": [900.25]}])
        with self.assertRaises(ValueError):
            network_jobs.own_rows("no such provider")

    def test_libfabric_is_no_peer(self):
        times = {"weft-process": 12, "mpich": 18, "fi_pingpong": 10}
        samples = [made_up.sample(name, number, [us], [], "lat", 2, 8) for name, us in times.items() for number in range(3)]
        found = results.collect(made_up.about("network"), samples, {}, {"settings": {"mpich": ["-n 2"]}})
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            network_report.print_report(found)
        self.assertIn("1.50 [1.50 1.50] mpich", text.getvalue())
        self.assertIn("1.20 [1.20 1.20]", text.getvalue())


if __name__ == "__main__":
    unittest.main()
