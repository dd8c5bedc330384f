#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the programs of a testlist under a launcher, as processes and as threads, and says what failed.

A line of the list is `chapter/name key=value ...` with the keys
  ranks=1,2,4      the numbers of ranks to run with (default 1,2,4)
  mode=both        process, thread or both
  arg=WORD         one argument of the program (repeatable)
  env=NAME=VALUE   one environment variable (repeatable); "env=NAME=words with blanks" in quotes
  timeout=20       seconds
  xfail=words      is known to fail, and why (underscores for spaces); a pass is then a failure
  one-node         is about what ranks of one node share
  one-host         is about what does not work on several hosts (--agent)
  several-nodes    is about nodes: only with --nodes
  smoke            also runs under the sanitizers, where everything is slow (--smoke selects these)
  threads          a rank has several threads, also as a process (--threads selects these)
  big              needs much memory or time: only with --big
A run passes when the launcher returns 0 and exactly one line `ok: N checks, P ranks` with N > 0 and the right P came.
"""
import argparse
import concurrent.futures
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

OK_LINE = re.compile(rb"^ok: (\d+) checks, (\d+) ranks$", re.M)


class Run:
    """One program, one number of ranks, one mode."""

    def __init__(self, name, ranks, mode, args, env, timeout, xfail, nodes):
        self.name, self.ranks, self.mode, self.nodes = name, ranks, mode, nodes
        self.args, self.env, self.timeout, self.xfail = args, env, timeout, xfail
        self.why, self.output, self.seconds = "", b"", 0.0

    def title(self):
        nodes = f" on {self.nodes} nodes" if self.nodes > 1 else ""
        return f"{self.name} n={self.ranks} {self.mode}{nodes}" + "".join(f" {word}" for word in self.args)


def read_list(path, options):
    """All runs of the list that the options select."""
    runs = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = shlex.split(line, comments=True)
        if not words:
            continue
        name, ranks, modes, args, env, timeout, xfail = words[0], [1, 2, 4], ["process", "thread"], [], {}, 30, ""
        big = smoke = threads = one_node = one_host = several = False
        for word in words[1:]:
            key, _, value = word.partition("=")
            if key == "ranks":
                ranks = [int(n) for n in value.split(",")]
            elif key == "mode" and value in ("process", "thread", "both"):
                modes = ["process", "thread"] if value == "both" else [value]
            elif key == "arg":
                args.append(value)
            elif key == "env" and "=" in value:
                env.update([value.split("=", 1)])
            elif key == "timeout":
                timeout = float(value)
            elif key == "xfail" and value:
                xfail = value.replace("_", " ")
            elif word == "big":
                big = True
            elif word == "smoke":
                smoke = True
            elif word == "threads":
                threads = True
            elif word == "one-node":
                one_node = True
            elif word == "one-host":
                one_host = True
            elif word == "several-nodes":
                several = True
            else:
                sys.exit(f"{path}:{number}: '{word}' is not known; see the head of run.py for the keys")
        if (big and not options.big) or (options.smoke and not smoke) or (options.threads and not threads) or (one_node and options.nodes > 1) \
                or (one_host and options.agent) or (several and options.nodes == 1):
            continue
        if options.chapter and name.split("/")[0] not in options.chapter:
            continue
        if options.names and not any(re.search(pattern, name) for pattern in options.names):
            continue
        for mode in modes:
            if options.mode not in ("both", mode):
                continue
            runs += [Run(name, n, mode, args, env, timeout, xfail, options.nodes) for n in ranks if n in (options.ranks or ranks) and n >= options.nodes]
    return runs


def launcher(run, options):
    """mpiexec and the options that say how and where the ranks run."""
    command = [options.mpiexec]
    if not options.plain_launcher:
        command.append(f"--ranks={run.mode}")
    if run.nodes > 1 and options.agent:
        command += ["--launch-agent", options.agent, "-H", ",".join(f"n{i + 1}" for i in range(run.nodes))]
    elif run.nodes > 1:
        command.append(f"--pretend-nodes={run.nodes}")
    return command


def execute(run, options):
    command = launcher(run, options)
    command += ["-n", str(run.ranks), str(options.bindir / run.name)] + run.args
    # Jobs of several tests may publish the same names at once.
    env = {**os.environ, "WEFT_SPAWN_NAMES": "job", **dict(pair.split("=", 1) for pair in options.env), **run.env, "TEST_NODES": str(run.nodes)}
    begin = time.monotonic()
    limit = run.timeout * options.timeout_scale
    with tempfile.TemporaryFile() as log:
        child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=env, start_new_session=True)
        try:
            code = child.wait(limit)
            run.why = f"exit code {code}" if code else ""
        except subprocess.TimeoutExpired:
            run.why = f"no end after {limit:g} s"
            stop(child)
        log.seek(0)
        run.output = log.read()
    run.seconds = time.monotonic() - begin
    told = OK_LINE.findall(run.output)
    if not run.why:
        if len(told) != 1:
            run.why = f"{len(told)} lines 'ok: N checks, P ranks', expected one"
        elif int(told[0][1]) != run.ranks:
            run.why = f"ran with {int(told[0][1])} ranks, expected {run.ranks}"
        elif int(told[0][0]) == 0:
            run.why = "checked nothing"
    return run


def stop(child):
    """Ends the launcher's whole session: politely, then not."""
    for what, patience in ((signal.SIGTERM, 2), (signal.SIGKILL, 5)):
        try:
            os.killpg(child.pid, what)
        except ProcessLookupError:
            pass
        try:
            child.wait(patience)
            if what == signal.SIGTERM:
                continue
            return
        except subprocess.TimeoutExpired:
            continue


def report(run, options, command_hint):
    print(f"FAIL {run.title()}: {run.why} ({run.seconds:.1f} s)")
    lines = run.output.decode(errors="replace").splitlines()
    shown = lines if len(lines) <= options.lines else lines[: options.lines] + [f"... and {len(lines) - options.lines} more lines"]
    for line in shown:
        print(f"    {line}")
    print(f"    again: {command_hint}", flush=True)


def main():
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="only tests whose name matches one of these regular expressions")
    parser.add_argument("--mpiexec", default="mpiexec")
    parser.add_argument("--bindir", type=Path, required=True, help="folder with chapter/name programs")
    parser.add_argument("--list", type=Path, default=here / "testlist")
    parser.add_argument("--mode", choices=("process", "thread", "both"), default="both")
    parser.add_argument("--chapter", action="append")
    parser.add_argument("--ranks", type=lambda text: [int(n) for n in text.split(",")], help="only these numbers of ranks")
    parser.add_argument("--jobs", "-j", type=int, default=1)
    parser.add_argument("--smoke", action="store_true", help="only the lines marked smoke")
    parser.add_argument("--threads", action="store_true", help="only the lines marked threads")
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable for all runs")
    parser.add_argument("--big", action="store_true", default=bool(os.environ.get("TEST_BIG")))
    parser.add_argument("--timeout-scale", type=float, default=float(os.environ.get("TEST_TIMEOUT_SCALE", "1")))
    parser.add_argument("--agent", metavar="COMMAND", help="with --nodes: each has an agent of its own, started so (tests/launch/agent_here.sh)")
    parser.add_argument("--nodes", type=int, default=1, metavar="N", help="pretend to have so many nodes; only runs with as many ranks")
    parser.add_argument("--plain-launcher", action="store_true", help="the launcher has no --ranks option (another MPI)")
    parser.add_argument("--lines", type=int, default=25, help="output lines shown per failure")
    parser.add_argument("--slow", type=int, default=0, metavar="N", help="name the N slowest runs at the end")
    options = parser.parse_args()
    if options.plain_launcher:
        options.mode = "process"
    runs = read_list(options.list, options)
    if not runs:
        sys.exit("no test selected")
    passed, failed, known = 0, 0, 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for run in pool.map(lambda item: execute(item, options), runs):
            if run.xfail and run.why:
                known += 1
                print(f"known {run.title()}: {run.xfail}")
                continue
            if run.xfail:
                run.why = f"passes, but the list says xfail: {run.xfail}; take the mark away"
            if run.why:
                failed += 1
                hint = f"TEST_NODES={run.nodes} {' '.join(launcher(run, options))} -n {run.ranks} {options.bindir / run.name} {' '.join(run.args)}"
                report(run, options, hint)
            else:
                passed += 1
    for run in sorted(runs, key=lambda item: -item.seconds)[: options.slow]:
        print(f"{run.seconds:7.2f} s  {run.title()}")
    if known:
        print(f"{known} known failures (xfail)")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
