# SPDX-License-Identifier: Apache-2.0
"""Tests of layercheck on small trees written for the purpose."""
import contextlib
import importlib.util
import io
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
spec = importlib.util.spec_from_file_location("layercheck", Path(__file__).with_name("__main__.py"))
layercheck = importlib.util.module_from_spec(spec)
spec.loader.exec_module(layercheck)

LAYERS = "# rooms\nbase 0\nsync 2\nmodel 2\ncoll 7  # high\n"


class LayerCheck(unittest.TestCase):
    def check(self, files, layers=LAYERS):
        """(exit status, output) of layercheck on a tree with these files."""
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "LAYERS").write_text(layers)
            for name, text in {"src/base/err.h": "", "src/sync/wait.h": "", **files}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                status = layercheck.main(["layercheck", folder])
            return status, out.getvalue()

    def test_down_and_own_folder_pass(self):
        status, out = self.check({"src/coll/a.cc": '#include "coll/a.h"\n#include "base/err.h"\n'
                                  '#include <mpi.h>\n', "src/coll/a.h": '# include "sync/wait.h"\n'})
        self.assertEqual(status, 0, out)
        self.assertIn("4 files, 0 forbidden", out)

    def test_upward_fails_and_says_where(self):
        status, out = self.check({"src/sync/wait.cc": '\n#include "coll/a.h"\n', "src/coll/a.h": ""})
        self.assertEqual(status, 1)
        self.assertIn('src/sync/wait.cc:2: "coll/a.h": sync (level 2) may not know coll (level 7)',
                      out)

    def test_same_level_fails(self):
        status, out = self.check({"src/model/m.cc": '#include "sync/wait.h"\n'})
        self.assertEqual(status, 1, out)

    def test_subfolder_belongs_to_its_room(self):
        status, out = self.check({"src/sync/deep/er.cc": '#include "coll/a.h"\n',
                                  "src/coll/a.h": ""})
        self.assertEqual(status, 1, out)

    def test_public_headers_are_for_everybody(self):
        files = {"src/base/a.cc": '#include "weft/host.h"\n', "include/weft/host.h": ""}
        status, out = self.check(files)
        self.assertEqual(status, 0, out)
        del files["include/weft/host.h"]
        self.assertEqual(self.check(files)[0], 1)

    def test_bare_and_unlisted_fail(self):
        for files in ({"src/coll/a.cc": '#include "a.h"\n'},
                      {"src/attic/a.cc": ""}):
            status, out = self.check(files)
            self.assertEqual(status, 1, out)

    def test_long_files_are_named_but_pass(self):
        status, out = self.check({"src/base/a.cc": "\n" * 401, "src/base/b.cc": "\n" * 801,
                                  "src/base/gen/c.cc": "\n" * 900})
        self.assertEqual(status, 0)
        self.assertIn("long: src/base/a.cc has 401", out)
        self.assertIn("think again: src/base/b.cc has 801", out)
        self.assertNotIn("c.cc has", out)

    def test_malformed_layers(self):
        with self.assertRaises(SystemExit):
            self.check({}, layers="base zero\n")


if __name__ == "__main__":
    unittest.main()
