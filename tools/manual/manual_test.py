# SPDX-License-Identifier: Apache-2.0
"""The manual pages say what their sources say: manual_test.py <build folder> <source folder>"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD, SOURCE = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
del sys.argv[1:3]
sys.dont_write_bytecode = True
sys.path.insert(0, str(SOURCE / "tools/manual"))
from help import parse  # noqa: E402
from roff import Page, add_markdown  # noqa: E402

MAN = next(BUILD.glob("share*/man"))


def ask(*words):
    env = {key: value for key, value in os.environ.items() if not key.startswith("WEFT_")} | {"COLUMNS": "100"}
    return subprocess.run([BUILD / "bin" / words[0], *words[1:]], capture_output=True, text=True, check=True, env=env).stdout


def manual(*words):
    return subprocess.run([sys.executable, "-B", SOURCE / "tools/manual", "--bin", BUILD / "bin", *words], capture_output=True, text=True)


def plain(text):
    """Words in one line, without what a terminal makes of them."""
    return " ".join(re.sub(r"‐\n\s*", "", text).replace("‐", "-").replace("’", "'").replace("‘", "'").split())


def rendered(name):
    """A page as its reader sees it; without man or groff, its source without macros."""
    page = next(MAN.glob(f"man*/{name}.*"))
    if shutil.which("groff"):
        done = subprocess.run(["groff", "-man", "-ww", "-Kutf8", "-Tutf8", "-P-c", "-P-b", "-P-u", "-rLL=500n", page], capture_output=True,
                              text=True, env=os.environ | {"GROFF_NO_SGR": "1"})
        assert not done.stderr, done.stderr
        return plain(re.sub(r".\x08", "", done.stdout))
    text = re.sub(r'(?m)^\.(?:SH|SS) "(.*)"$', r"\1", page.read_text())
    text = re.sub(r"(?m)^\.\w+.*$", "", text)
    return plain(re.sub(r"\\f[BIR]|\\&", "", text).replace("\\-", "-").replace("\\e", "\\"))


class Pages(unittest.TestCase):
    def test_are_those_of_this_build(self):
        with tempfile.TemporaryDirectory() as folder:
            done = manual("--out", folder)
            self.assertEqual(done.returncode, 0, done.stderr)
            made = {path.relative_to(folder): path.read_text() for path in Path(folder).rglob("*.[17]")}
        there = {path.relative_to(MAN): path.read_text() for path in MAN.rglob("*.[17]")}
        self.assertEqual(made, there)
        self.assertEqual(sorted(map(str, there)), ["man1/mpic++.1", "man1/mpicc.1", "man1/mpicxx.1", "man1/mpiexec.1", "man1/mpif90.1",
                                                   "man1/mpifort.1", "man1/mpirun.1",
                                                   "man1/weft.1", "man7/weft-params.7"])

    def test_tables_of_the_docs_are_up_to_date(self):
        done = manual("--check")
        self.assertEqual(done.returncode, 0, done.stderr)

    def says_all_of(self, page, help_text):
        said = parse(help_text)
        text = rendered(page)
        entries = 0
        self.assertIn(plain(said.usage), text)
        for section in said.sections:
            for left, right in section.entries:
                entries += 1
                self.assertIn(plain(left), text)
                self.assertIn(plain(right).replace("`", ""), text)
            for paragraph in section.text:
                self.assertIn(plain(paragraph).replace("`", ""), text)
        return entries

    def test_mpiexec(self):
        self.assertGreater(self.says_all_of("mpiexec", ask("mpiexec", "--help")), 40)
        text = rendered("mpiexec")
        codes = next(s for s in parse(ask("mpiexec", "--help")).sections if s.title == "Exit status").entries
        self.assertTrue({"0", "2", "90", "124", "125", "126", "127"} <= {code for code, _ in codes})
        for row in json.loads(ask("weft", "info", "--json"))["errors"]:
            self.assertIn(f"{row['class']} {row['name']}: {row['help']}", text)
        # How it works comes from docs/launching.md.
        for words in ("WEFT_LOCAL_RANK", "Open MPI's own library does not look for a server", "Nothing is left behind, whatever is killed"):
            self.assertIn(words, text)

    def test_mpicc(self):
        self.assertGreater(self.says_all_of("mpicc", ask("mpicc", "-help")), 3)

    def test_weft(self):
        self.assertGreater(self.says_all_of("weft", ask("weft", "--help")), 10)
        for command in ("info", "docs", "tune", "explain", "bench"):
            self.assertGreater(self.says_all_of("weft", ask("weft", command, "--help")), 0)

    def test_params(self):
        text = rendered("weft-params")
        rows = json.loads(ask("weft", "info", "--json"))["parameters"]
        self.assertGreater(len(rows), 20)
        for row in rows:
            self.assertIn(plain(f"{row['variable']} {row['help']}. ({row['name']}; default {row['default'] or 'empty'}"), text)
            for word in row.get("words", []):
                self.assertIn(word, text)

    @unittest.skipUnless(shutil.which("man"), "man is not installed")
    def test_man_finds_them_by_every_name(self):
        for name, page in (("mpiexec", "mpiexec"), ("mpirun", "mpiexec"), ("mpicc", "mpicc"), ("mpicxx", "mpicc"), ("mpic++", "mpicc"), ("mpifort", "mpicc"),
                           ("weft", "weft"), ("weft-params", "weft-params")):
            done = subprocess.run(["man", "-M", MAN, "--warnings", "-P", "cat", name], capture_output=True, text=True, env=os.environ | {"MANWIDTH": "100"})
            self.assertEqual((done.returncode, done.stderr), (0, ""), name)
            self.assertIn(f"{page.upper()}(", done.stdout)


class Markdown(unittest.TestCase):
    def page_of(self, text):
        page = Page("x", 1, "0")
        before = len(page.lines)
        add_markdown(page, text.splitlines())
        return page.lines[before:]

    def test_paragraphs(self):
        self.assertEqual(self.page_of("a `b-c` *d*\n**e** [f](g.md) h\\i\n\n.x"),
                         [".PP", "a \\fBb\\-c\\fR \\fId\\fR \\fBe\\fR f h\\ei", ".PP", "\\&.x"])
        self.assertEqual(self.page_of("`A*` and `B*`"), [".PP", "\\fBA*\\fR and \\fBB*\\fR"])

    def test_lists_and_code(self):
        self.assertEqual(self.page_of("* one\n  more\n* two\n\n  ```\n  'x\n    y\n  ```\nz"),
                         [".IP \\(bu 2", "one more", ".IP \\(bu 2", "two", ".PP", ".RS 4", ".EX", "\\&'x", "  y", ".EE", ".RE", ".PP", "z"])

    def test_tables(self):
        self.assertEqual(self.page_of("| a | b |\n|---|---|\n| `c`, `d\\|e` | f |\n| g | h |"), [".TP", "\\fBc, d|e\\fR", "f", ".TP", "\\fBg\\fR", "h"])


if __name__ == "__main__":
    unittest.main()
