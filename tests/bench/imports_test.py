#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The modules of bench/ import each other one way: what measures knows samples, tables and plots know their file."""
import ast
import unittest

from made_up import BENCH

ORDER = ["states", "results", "libraries", "measure", "arguments", "jobs", "explained", "tables", "thread_locks", "network_jobs", "regret", "figures",
         "thread_figures", "channel_figures", "idle_jobs", "channel_jobs", "partitioned_jobs", "fortran_jobs", "posting_jobs", "beside_jobs", "progress_jobs", "cache_model", "idle_figures", "cache_figures", "progress_figures", "composition_figures", "machine_tables", "network_report", "partitioned_report", "fortran_report", "posting_report", "beside_report", "plot", "plot_figures", "plot_threads", "plot_model", "run"]
FROM_A_FILE = ["tables", "machine_tables", "network_report", "partitioned_report", "fortran_report", "posting_report", "beside_report", "plot", "plot_figures"]  # these measure nothing


def imports(name):
    found = set()
    for node in ast.walk(ast.parse((BENCH / f"{name}.py").read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
    return found & set(ORDER)


class Imports(unittest.TestCase):
    def test_every_module_is_listed(self):
        self.assertEqual(sorted(path.stem for path in BENCH.glob("*.py")), sorted(ORDER))

    def test_one_way(self):
        for at, name in enumerate(ORDER):
            self.assertLessEqual(imports(name), set(ORDER[:at]), name)
        self.assertIn("results", imports("run"))

    def test_tables_and_plots_do_not_measure(self):
        for name in FROM_A_FILE:
            self.assertFalse(imports(name) & {"measure", "jobs", "explained", "libraries", "run"}, name)


if __name__ == "__main__":
    unittest.main()
