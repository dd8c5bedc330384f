#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks a model with spin: model_test.py park.pml

It must hold in all its states: no assertion fails, nobody waits for ever, and what `ltl` says is so
under a fair scheduler; also with each -DNAME of which the model's head says that it `holds`. And the checker must find a fault with each -DNAME of which the model's head
says that it `shows` something: a model that cannot fail shows nothing.
"""
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

NOT_RUN = 77


def run(*words, folder):
    done = subprocess.run([str(word) for word in words], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def errors(model, folder, defines, claim=None):
    """How many errors the checker finds (it stops at the first), and how many states it has seen."""
    folder.mkdir()
    code, text = run("spin", *defines, "-a", model, folder=folder)
    if code or not (folder / "pan.c").exists():
        sys.exit(f"spin cannot read {model.name} {' '.join(defines)}:\n{text}")
    # To optimize a checker takes longer than it runs: 10 s and 0.7 s of waiting.pml, 1.3 s and 1.4 s as it is.
    code, text = run("cc", "-O0", "-w", "-DNFAIR=3", *([] if claim else ["-DSAFETY", "-DNOCLAIM"]), "-o", "pan", "pan.c", folder=folder)
    if code:
        sys.exit(f"the checker of {model.name} does not compile:\n{text[-2000:]}")
    _, text = run("./pan", "-m1000000", *(["-a", "-f", "-N", claim] if claim else []), folder=folder)
    found, states = re.search(r"errors: (\d+)", text), re.search(r"(\d+) states, stored", text)
    if not found or "max search depth too small" in text or "out of memory" in text:
        sys.exit(f"the check of {model.name} is not complete:\n{text[-2000:]}")
    return int(found[1]), int(states[1])


def main(path):
    if not shutil.which("spin"):
        print("spin is not installed (Debian: spin)")
        return NOT_RUN
    model = Path(path).resolve()
    text = model.read_text()
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="model-") as name:
        folder = Path(name)
        claims = [None] + re.findall(r"^ltl (\w+)", text, re.M)
        forms = [[]] + [[define] for define in re.findall(r"(-D[\w=]+) holds", text)]
        faults = re.findall(r"(-D\w+) shows", text)
        if not faults:
            sys.exit(f"{model.name} names no -DNAME that shows a fault")
        cases = [(form, claim, False) for form in forms for claim in claims] + [([fault], None, True) for fault in faults]
        for number, (defines, claim, is_fault) in enumerate(cases):
            found, states = errors(model, folder / str(number), defines, claim)
            good = bool(found) == is_fault
            wrong += not good
            print(f"{'ok' if good else 'WRONG'}: {model.name} {' '.join([*defines, claim or ''])}: {found} errors, {states} states")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
