# SPDX-License-Identifier: Apache-2.0
"""What the tests of the ABI share: where things are, and the reference data from PyPI."""

import os
import pathlib
import re
import subprocess
import sys
import venv

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADER = ROOT / "include" / "mpi.h"
REFERENCES = ["pympistandard==0.2.0", "mpich==5.0.2"]
SKIP = 77

sys.path.insert(0, str(ROOT / "tools" / "bindgen"))


def library():
    """The libmpi_abi.so.1 under test."""
    return pathlib.Path(os.environ["WEFT_LIB"])


def references():
    """A venv that has the standard's data and a library of the standard ABI; skips if offline."""
    path = pathlib.Path(os.environ["WEFT_VENV"])
    done = path / "complete"
    if not done.exists():
        venv.create(path, with_pip=True, clear=True)
        pip = subprocess.run([path / "bin" / "python", "-m", "pip", "install", "-q",
                              "--disable-pip-version-check", *REFERENCES],
                             capture_output=True, text=True)
        if pip.returncode != 0:
            print(f"skipped: cannot install {' '.join(REFERENCES)}; is there a network?\n{pip.stderr}")
            sys.exit(SKIP)
        done.touch()
    return path


def prototypes(text):
    """{function: (return type, parameter types)} of the declarations in a C header."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    found = {}
    for m in re.finditer(r"^(\w[\w ]*?[ *]+)(P?MPI_\w+)\(([^;{}]*)\);", text, re.M):
        if "typedef" not in m[1]:
            found[m[2]] = (m[1].strip(), tuple(parameter_type(p) for p in m[3].split(",")))
    return found


def parameter_type(text):
    """The type of a parameter: without its name, arrays as pointers."""
    text = " ".join(text.split())
    if text not in ("void", "..."):
        text = re.sub(r"\s*\b\w+((\[\d*\])*)$", lambda m: m[1], text)
    text = re.sub(r"\[\](\[\d+\])?$", r"*\1", text)
    return text.replace(" ", "").replace("const", "const ")


def exported(path):
    """{symbol: nm's letter} of a shared library's defined dynamic symbols."""
    out = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True,
                         check=True).stdout
    return {line.split()[-1].split("@")[0]: line.split()[-2] for line in out.splitlines()}
