# SPDX-License-Identifier: Apache-2.0
"""Runs the weft command: weft_test.py <weft> <source folder>"""
import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

WEFT = sys.argv.pop(1)
SOURCE = Path(sys.argv.pop(1))


def weft(*words, **variables):
    env = {key: value for key, value in os.environ.items() if not key.startswith("WEFT_")}
    return subprocess.run([WEFT, *words], capture_output=True, text=True, timeout=60,
                          env={**env, **variables})


class Weft(unittest.TestCase):
    def test_help_has_examples(self):
        for words in ([], ["--help"]):
            done = weft(*words)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("examples:", done.stdout)
            self.assertIn("--ranks=thread", done.stdout)

    def test_version(self):
        self.assertRegex(weft("--version").stdout, r"^weft \d+\.\d+\.\d+\n$")

    def test_info_names_build_machine_and_parameters(self):
        done = weft("info")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stderr, "")
        for word in ("MPI 5.0", "machine", "WEFT_SYNC_SPIN_US", "WEFT_PT2PT_EAGER_MAX"):
            self.assertIn(word, done.stdout)
        self.assertNotIn("\n* ", done.stdout)

    def test_info_marks_what_the_environment_changed(self):
        done = weft("info", WEFT_PT2PT_EAGER_MAX="1k")
        changed = [line for line in done.stdout.splitlines() if line.startswith("* ")]
        self.assertEqual(len(changed), 1, done.stdout)
        self.assertRegex(changed[0], r"WEFT_PT2PT_EAGER_MAX +1024 bytes .*\(default \d+\)")

    def test_info_json(self):
        info = json.loads(weft("info", "--json", WEFT_STATS="1").stdout)
        rows = {row["name"]: row for row in info["parameters"]}
        self.assertEqual(rows["stats"]["value"], "1")
        self.assertEqual(rows["stats"]["default"], "0")
        self.assertEqual(info["machine"]["cpus"], len(os.sched_getaffinity(0)))
        self.assertFalse(info["machine"]["declared"])

    def test_info_of_a_declared_machine(self):
        machine = "pack:2 [numa] l3:2 core:4 pu:2"
        info = json.loads(weft("info", "--json", HWLOC_SYNTHETIC=machine).stdout)["machine"]
        self.assertEqual(info["levels"], {"Machine": 1, "Package": 2, "NUMANode": 2, "L3Cache": 4, "Core": 16,
                                          "PU": 32})
        self.assertTrue(info["declared"])
        text = weft("info", HWLOC_SYNTHETIC=machine).stdout
        self.assertIn("Package 1, NUMANode 1, L3Cache 3, CPUs 24-31\n", text)

    def test_unknown_variable_gets_the_nearest_name(self):
        self.assertIn("did you mean WEFT_STATS", weft("info", WEFT_STAT="1").stderr)

    def test_params_page_is_up_to_date(self):
        page = (SOURCE / "docs/params.md").read_text()
        self.assertEqual(weft("info", "--markdown", WEFT_STATS="1").stdout, page,
                         "docs/params.md is old: weft info --markdown > docs/params.md")

    def test_unknown_words_get_the_nearest(self):
        for words, near in ((["infos"], "`info`"), (["info", "--jsn"], "`--json`")):
            done = weft(*words)
            self.assertEqual(done.returncode, 2)
            self.assertIn("did you mean " + near, done.stderr)

    def test_bench_passes_its_words_on(self):
        done = weft("bench", "--help")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("weft bench --quick", done.stdout)
        done = weft("bench", "--only", "nothing-like-it")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("no library `nothing-like-it`", done.stderr)


if __name__ == "__main__":
    unittest.main()
