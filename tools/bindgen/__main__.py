# SPDX-License-Identifier: Apache-2.0
"""bindgen: writes mpi.h, the entry points for C and Fortran and the coverage tables from spec/.

  python3 tools/bindgen           write all generated files
  python3 tools/bindgen --check   write nothing; fail if a generated file is not up to date
"""

import argparse
import difflib
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from coverage import coverage_md, readme  # noqa: E402
from fortran_text import fortran_files  # noqa: E402
from header import mpi_h  # noqa: E402
from spec import Spec, SpecError  # noqa: E402
from stubs import stub_files  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]


def generate(root):
    """{path relative to the root: text} of every generated file."""
    spec = Spec(root / "spec")
    files = {"include/mpi.h": mpi_h(spec), "docs/coverage.md": coverage_md(spec)}
    files.update({f"src/abi/gen/{name}": text for name, text in stub_files(spec).items()})
    files.update(fortran_files(spec))
    if (root / "README.md").exists():
        files["README.md"] = readme((root / "README.md").read_text(), spec)
    return files


def main():
    parser = argparse.ArgumentParser(prog="bindgen", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    args = parser.parse_args()
    try:
        files = generate(ROOT)
    except SpecError as error:
        sys.exit(f"bindgen: {error}")
    stale = 0
    for name, text in files.items():
        path = ROOT / name
        old = path.read_text() if path.exists() else ""
        if old == text:
            continue
        if args.check:
            stale += 1
            sys.stdout.writelines(list(difflib.unified_diff(
                old.splitlines(True), text.splitlines(True), name, "generated from spec/"))[:40])
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            print(f"wrote {name}")
    if stale:
        sys.exit(f"bindgen: {stale} files are not up to date; run python3 tools/bindgen")


if __name__ == "__main__":
    main()
