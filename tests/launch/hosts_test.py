#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs on several hosts: mpiexec and its agents. The hosts are this machine under other names: the launch agent
ignores the name it is given (agent_here.sh). Each node has a job segment of its own, and a network between."""
import contextlib
import json
import os
import re
import signal
import struct
import subprocess
import tempfile
import time
from collections import namedtuple
from pathlib import Path

import hang_test
import harness
from harness import MODES, PATIENCE, program

HANG = Path(__file__).resolve().parent / "hang"
AGENT = str(Path(__file__).resolve().parent / "agent_here.sh")
# As in spawn_test.
PROVIDER = ("--genv", "WEFT_NET_PROVIDER", "tcp;ofi_rxm")
HEARD = str(Path(__file__).resolve().parent / "agent_heard.sh")
# What has to be over after a failure; the machine has few cores and much to start.
SOON = 2 * PATIENCE
# Kinds of frames (launch/frames.h): of ranks that come to know each other, and those which carry others.
HELLO, ADDRESSES, ORDER, BEGUN, GROW = WIRE_UP = (1, 2, 8, 16, 18)
RELAYED, FOR_ALL = 17, 26


def frame(kind, payload=b"", length=None):
    return struct.pack("<IB3s", len(payload) if length is None else length, kind, b"wf1") + payload


Heard = namedtuple("Heard", "kind bytes payload")


def heard(stream):
    """The frames; of one that carries another, the other's kind and payload."""
    at, found = 0, []
    while at < len(stream):
        length, kind, mark = struct.unpack_from("<IB3s", stream, at)
        assert mark == b"wf1"
        payload = stream[at + 8:at + 8 + length]
        if kind in (RELAYED, FOR_ALL):
            kind, payload = payload[4 + 4], payload[4 + 8:]
        found.append(Heard(kind, 8 + length, payload))
        at += 8 + length
    return found


def texts(addresses):
    """A frame's payload: how many, then of each rank its number, a length and a text."""
    at, found = 8, {}
    for _ in range(*struct.unpack_from("<Q", addresses)):
        rank, length = struct.unpack_from("<iQ", addresses, at)
        found[rank] = addresses[at + 12:at + 12 + length]
        at += 12 + length
    assert at == len(addresses)
    return found


class Hosts(harness.Case):
    def hosts(self, where, *words, **options):
        return self.mpiexec("--launch-agent", AGENT, "-H", where, *words, **options)

    def start(self, where, *words, env=None, **options):
        return subprocess.Popen([harness.MPIEXEC, "--launch-agent", AGENT, "-H", where, *map(str, words)], env=self.env(env),
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, text=True, **options)

    def one_message(self, result, *words):
        lines = [line for line in result.err.splitlines() if line.strip()]
        self.assertEqual(len(lines), 1, result.err)
        self.assertTrue(lines[0].startswith("weft: "), result.err)
        for word in words:
            self.assertIn(word, lines[0])

    def nothing_is_left(self, since):
        while self.marked() and time.monotonic() < since + SOON:
            time.sleep(0.01)
        self.assertEqual(self.marked(), {}, "still there after 2 s")

    def busy(self, mode):
        """A job whose ranks send each other messages for long."""
        child = self.start("a:2,b:2", f"--ranks={mode}", program("busy"), 100)
        self.wait_for("busy", 4 if mode == "process" else 2)
        return child

    def wait_for(self, name, n):
        """Until a program's processes are there and have had the time to come to MPI."""
        deadline = time.monotonic() + 20 * PATIENCE
        while time.monotonic() < deadline:
            found = [command for command in self.marked().values() if program(name) in command and not command.startswith(harness.MPIEXEC)]
            if len(found) == n:
                return time.sleep(0.5 * PATIENCE)
            time.sleep(0.02)
        self.fail(f"no {n} processes of {name}: {self.marked()}")

    # --- what ranks get and give

    def test_messages(self):
        for mode in MODES:
            for where, sizes in (("a:2,b:2", (2, 2)), ("a:3,b:1", (3, 1)), ("a,b,c", (1, 1, 1)), ("localhost:2,b:1", (2, 1)), ("a:3", (3,))):
                n = sum(sizes)
                wanted, rank = [], 0
                for size in sizes:
                    for i in range(size):
                        wanted.append(f"{rank}: rank {i} of {size} on its node, left {(rank - 1) % n}, sum {n * (n - 1) // 2}")
                        rank += 1
                result = self.ok(self.hosts(where, f"--ranks={mode}", program("nodes")))
                self.assertEqual(sorted(result.out.splitlines()), wanted, f"{mode} {where}")
                self.assertEqual(result.err, "")

    def test_traffic(self):
        for mode in MODES:
            self.assertEqual(self.ok(self.hosts("a:2,b:2", f"--ranks={mode}", program("traffic"), timeout=100)).out, "traffic ok 4\n")

    def test_variables(self):
        script = ("echo $WEFT_RANK $WEFT_SIZE $WEFT_LOCAL_RANK $WEFT_LOCAL_SIZE $OMPI_COMM_WORLD_LOCAL_RANK $MPI_LOCALNRANKS "
                  "$OWN $GIVEN \"$PASSED\" $SSH_TTY $PWD")
        with tempfile.TemporaryDirectory() as folder:
            folder = os.path.realpath(folder)
            result = self.ok(self.hosts("a:2,b:1", "-x", "GIVEN=given", "-x", "PASSED", "sh", "-c", script, cwd=folder,
                                        env={"OWN": "own", "PASSED": "passed  on"}))
            rest = f"own given passed  on {folder}"
            self.assertEqual(sorted(result.out.splitlines()), [f"0 3 0 2 0 2 {rest}", f"1 3 1 2 1 2 {rest}", f"2 3 0 1 0 1 {rest}"])
            result = self.ok(self.hosts("a,b", "-wdir", folder, "pwd"))
            self.assertEqual(result.out.splitlines(), [folder] * 2)

    def test_local_ranks_of_threads(self):
        result = self.ok(self.hosts("a:1,b:2", "--ranks=thread", program("show"), "WEFT_LOCAL_RANK", "WEFT_LOCAL_SIZE"))
        self.assertEqual(sorted(re.findall(r"(\d) WEFT_LOCAL_RANK=(\d)", result.out)), [("0", "0"), ("1", "0"), ("2", "1")])
        self.assertEqual(sorted(re.findall(r"(\d) WEFT_LOCAL_SIZE=(\d)", result.out)), [("0", "1"), ("1", "2"), ("2", "2")])

    def test_programs(self):
        result = self.ok(self.hosts("a:2,b:2", "-n", 1, program("hello"), "first", ":", "-n", 3, program("hello"), "second"))
        self.assertEqual(sorted(result.out.splitlines()), ["first 0 of 4, sum 6"] + [f"second {r} of 4, sum 6" for r in (1, 2, 3)])

    def test_hosts_from_elsewhere(self):
        with tempfile.NamedTemporaryFile("w", suffix=".hosts") as file:
            file.write("# two\na slots=1\nb:2\n")
            file.flush()
            result = self.ok(self.mpiexec("--launch-agent", AGENT, "--hostfile", file.name, program("nodes")))
            self.assertEqual(len(result.out.splitlines()), 3)
        result = self.ok(self.mpiexec("--launch-agent", AGENT, program("nodes"), env={"SLURM_JOB_NODELIST": "n[1-2]", "SLURM_TASKS_PER_NODE": "2(x2)"}))
        self.assertEqual(result.out.count("of 2 on its node"), 4)

    def test_output(self):
        result = self.ok(self.hosts("a:2,b:2", "-l", "sh", "-c", "echo out $WEFT_RANK; echo err $WEFT_RANK >&2"))
        self.assertEqual(sorted(result.out.splitlines()), [f"[{r}] out {r}" for r in range(4)])
        self.assertEqual(sorted(result.err.splitlines()), [f"[{r}] err {r}" for r in range(4)])
        # More than any window or pipe holds, in whole lines.
        result = self.ok(self.hosts("a:2,b:2", "sh", "-c", "for i in $(seq 40000); do echo \"$WEFT_RANK $i abcdefghijklmnopqrstuvwxyz\"; done", timeout=60))
        lines = result.out.splitlines()
        self.assertEqual(len(lines), 160000)
        for rank in range(4):
            own = [line for line in lines if line.startswith(f"{rank} ")]
            self.assertEqual(own, [f"{rank} {i} abcdefghijklmnopqrstuvwxyz" for i in range(1, 40001)])

    def test_nobody_reads_the_output(self):
        begin = time.monotonic()
        child = self.start("a:2,b:2", "yes")
        self.assertEqual(child.stdout.readline(), "y\n")
        child.stdout.close()
        self.assertEqual(child.wait(10 * PATIENCE), 128 + signal.SIGPIPE)
        self.assertEqual(child.stderr.read(), "")
        child.stderr.close()
        self.nothing_is_left(time.monotonic())
        self.assertLess(time.monotonic() - begin, 10 * PATIENCE)

    def test_slow_reader_does_not_hold_back_the_end(self):
        # Rank 0 floods, nobody reads; rank 3 on the other host fails, and the job ends all the same.
        child = self.start("a:2,b:2", "sh", "-c", "if [ $WEFT_RANK = 3 ]; then sleep 1; exit 5; fi; exec yes 0123456789012345678901234567890123456789")
        deadline = time.monotonic() + 10 * PATIENCE
        while time.monotonic() < deadline and any(b for b in self.marked().values() if b.startswith("yes")) or time.monotonic() < deadline - 9 * PATIENCE:
            time.sleep(0.05)
        self.assertFalse([c for c in self.marked().values() if c.startswith("yes")])
        child.communicate()
        self.assertEqual(child.returncode, 5)

    def test_input(self):
        text = os.urandom(3_000_000)
        for mode in MODES:
            alone = self.ok(self.mpiexec("-n", 1, program("input"), stdin=text)).out
            for where, reader in (("a:2,b:2", 0), ("a:2,b:2", 3), ("a,localhost", 0), ("a,localhost", 1)):
                result = self.ok(self.hosts(where, f"--ranks={mode}", "-stdin", reader, program("input"), stdin=text, timeout=60))
                lines = sorted(result.out.splitlines())
                self.assertEqual(lines[reader], alone.strip().replace("rank 0", f"rank {reader}"), f"{mode} {where} {reader}")
                others = lines[:reader] + lines[reader + 1:]
                self.assertTrue(all("read 0 bytes" in line for line in others), lines)
            for where in ("a:2,b:2", "a,localhost:2"):
                result = self.ok(self.hosts(where, f"--ranks={mode}", "-stdin", "all", program("input"), stdin=text, timeout=60))
                n = len(result.out.splitlines())
                self.assertEqual(sorted(result.out.splitlines(True)), [alone.replace("rank 0", f"rank {r}") for r in range(n)], where)
        # Nobody reads it to its end.
        self.assertEqual(self.ok(self.hosts("a,b", "true", stdin=text)).out, "")
        self.assertEqual(self.ok(self.hosts("a,b", "-stdin", "all", "true", stdin=text)).out, "")

    def test_slow_reader_holds_up_the_others(self):
        """What waits for it is bounded; when it has gone the others get all."""
        total, most = 8 << 20, 4 << 20
        for where in ("a:2,b:1", "a,b,c", "localhost:3"):
            with tempfile.TemporaryDirectory() as folder:
                script = f"if [ $WEFT_RANK = 1 ]; then while [ ! -e {folder}/end ]; do sleep 0.05; done; else wc -c; fi"
                child = self.start(where, "-stdin", "all", "sh", "-c", script, stdin=subprocess.PIPE)
                pipe = child.stdin.fileno()
                os.set_blocking(pipe, False)
                taken = 0
                while taken < total and harness.select.select([], [pipe], [], 1.5 * PATIENCE)[1]:
                    taken += os.write(pipe, bytes(min(65536, total - taken)))
                self.assertLess(taken, most, where)
                Path(folder, "end").touch()
                os.set_blocking(pipe, True)
                os.write(pipe, bytes(total - taken))
                out, err = child.communicate(timeout=30 * PATIENCE)
                self.assertEqual((child.returncode, err, out.split()), (0, "", [str(total)] * 2), where)

    def test_verbose(self):
        result = self.ok(self.hosts("a:2,b:1", "-v", program("hello")))
        self.assertIn("2 hosts: a (ranks 0-1), b (rank 2)", result.err)
        self.assertIn("on a: ranks 0-1", result.err)
        self.assertIn("on b: rank 2 ", result.err)

    # --- how jobs end

    def test_exit_codes(self):
        for mode in MODES:
            self.assertEqual(self.hosts("a:2,b:2", f"--ranks={mode}", program("act"), 3, "finish", 7).code, 7)
            self.assertEqual(self.hosts("a:2,b:2", f"--ranks={mode}", program("act"), 3, "finish", 0).code, 0)
        self.assertEqual(self.hosts("a,b", "sh", "-c", "exit $WEFT_RANK").code, 1)

    def test_failing_ranks(self):
        for mode in MODES:
            for rank in (0, 3):
                host = "ab"[rank // 2]
                for what, value, code, words in (("abort", 42, 42, ("42",)), ("signal", 9, 137, ("signal 9",)), 
                                                 ("segv", 16, 139, ("signal 11",)), ("return", 3, 3, ("3",)), ("_exit", 0, 1, ("MPI_Finalize",)), ("fatal", 0, None, ("MPI_Send",))):
                    result = self.hosts("a:2,b:2", f"--ranks={mode}", program("act"), rank, what, value)
                    if code is not None:
                        self.assertEqual(result.code, code, f"{mode} {rank} {what}\n{result.err}")
                    self.assertNotEqual(result.code, 0)
                    self.one_message(result, f"rank {rank}", *words, *([] if what in ("return", "_exit") and mode == "thread" else [f"on {host}"]))
                    self.assertIn(f"rank {rank} does {what}", result.out)
                    self.assertLess(result.seconds, 4 * PATIENCE)

    def test_a_rank_without_init(self):
        for who in (0, 3):
            result = self.hosts("a:2,b:2", "sh", "-c", f"[ $WEFT_RANK = {who} ] || exec {program('hello')}")
            self.assertEqual(result.code, 1, result.err)
            self.one_message(result, f"rank {who}", "MPI_Init")

    def test_programs_that_are_not_there(self):
        result = self.hosts("a:2,b:2", "./no/such/program")
        self.assertEqual(result.code, 127)
        self.one_message(result, "no/such/program")
        self.assertEqual(self.hosts("a:2,b:2", "/etc/hostname").code, 126)

    def test_hosts_that_cannot_be_used(self):
        result = self.hosts("a:2,off:2", program("hello"))
        self.assertEqual((result.code, result.out), (1, ""))
        self.one_message(result, "host off", "255", "no route to host off")
        self.assertLess(result.seconds, SOON)
        result = self.mpiexec("--launch-agent", "/no/such/agent", "-H", "a,b", "true")
        self.assertEqual(result.code, 1)
        self.one_message(result, "host ", "/no/such/agent", "127")
        result = self.mpiexec("--launch-agent", "echo Welcome to", "-H", "a,b", "true")
        self.assertEqual(result.code, 1)
        self.one_message(result, "host ", "Welcome to")
        result = self.mpiexec("-H", "no-such-host.invalid:2", "true")  # ssh's own words
        self.assertEqual(result.code, 1)
        self.one_message(result, "no-such-host.invalid")

    def test_terminals_are_refused(self):
        for result in (self.hosts("a,b", "--pty", "true"), self.mpiexec("--pty", "true", env={"SLURM_JOB_NODELIST": "n[1-2]"})):
            self.assertEqual(result.code, 2)
            self.one_message(result, "--pty", "one machine", "--outfile-pattern")
        self.ok(self.mpiexec("-H", "localhost:2", "--pty", "true"))

    def test_timeout(self):
        result = self.hosts("a:2,b:2", "--timeout", 1, program("act"), 9, "hang")
        self.assertEqual(result.code, 124)
        self.one_message(result, "1 s")
        self.assertLess(result.seconds, 1 + SOON)
        # A host that never answers.
        result = self.hosts("a:2,deaf:2", "--timeout", 1, program("hello"))
        self.assertEqual(result.code, 124)
        self.one_message(result, "1 s")

    def test_interrupt(self):
        for mode in MODES:
            for number, code in ((signal.SIGINT, 130), (signal.SIGTERM, 143)):
                child = self.busy(mode)
                child.send_signal(number)
                begin = time.monotonic()
                out, err = child.communicate(timeout=20)
                self.assertEqual((child.returncode, err), (code, ""), mode)
                self.nothing_is_left(begin)

    def test_signals_reach_all_ranks(self):
        script = "trap 'echo got $WEFT_RANK; exit 0' USR2; echo ready; while :; do sleep 0.05; done"
        child = self.start("a:2,b:2", "sh", "-c", script)
        for _ in range(4):
            self.assertEqual(child.stdout.readline(), "ready\n")
        child.send_signal(signal.SIGUSR2)
        out, err = child.communicate(timeout=20)
        self.assertEqual(sorted(out.splitlines()), [f"got {r}" for r in range(4)], err)
        self.assertEqual(child.returncode, 0)

    def test_state_report(self):
        child = self.start("a:2,b:2", program("act"), 9, "hang")
        self.wait_for("act", 4)
        time.sleep(2 * PATIENCE)
        child.send_signal(signal.SIGUSR1)
        time.sleep(1)
        child.send_signal(signal.SIGTERM)
        out, err = child.communicate(timeout=20)
        self.assertEqual(err.count("ranks 0-3 wait in MPI_Recv"), 1, err)  # of all hosts, in one report

    # --- what dies

    def processes(self, child):
        """mpiexec's processes by what they are, and the agents'."""
        by_parent = {}
        for pid, command in self.marked().items():
            by_parent.setdefault(harness.parent_of(pid), []).append((pid, command))
        worker = by_parent[child.pid][0][0]
        agents = [pid for pid, command in by_parent[worker] if "--agent" in command]
        return worker, agents, {agent: by_parent[agent][0][0] for agent in agents}

    def test_killed_head(self):
        for mode in MODES:
            for victim in ("supervisor", "worker", "both"):
                child = self.busy(mode)
                worker, _, _ = self.processes(child)
                begin = time.monotonic()
                for pid in {"supervisor": [child.pid], "worker": [worker], "both": [child.pid, worker]}[victim]:
                    os.kill(pid, signal.SIGKILL)
                child.communicate(timeout=20)
                self.assertNotEqual(child.returncode, 0)
                self.nothing_is_left(begin)

    def test_killed_agent(self):
        for mode in MODES:
            for which in (0, 1):
                for of in ("agent", "its worker", "both"):
                    child = self.busy(mode)
                    _, agents, workers = self.processes(child)
                    self.assertEqual(len(agents), 2)
                    agent = sorted(agents, key=harness.host_of)[which]
                    victims = {"agent": [agent], "its worker": [workers[agent]], "both": [workers[agent], agent]}[of]
                    begin = time.monotonic()
                    for pid in victims:
                        with contextlib.suppress(ProcessLookupError):  # an agent ends soon without its worker
                            os.kill(pid, signal.SIGKILL)
                    out, err = child.communicate(timeout=20)
                    about = f"{mode} {which} {of}\n{err}"
                    self.assertNotEqual(child.returncode, 0, about)
                    lines = [line for line in err.splitlines() if line]
                    self.assertEqual(len(lines), 1, about)
                    self.assertIn("signal 9", lines[0], about)
                    self.assertIn(" ab"[1 + which], lines[0].replace("agent_here.sh", ""), about)
                    self.nothing_is_left(begin)

    def test_stopped_agent(self):
        """It does not answer; the user wants an end, and gets it."""
        child = self.busy("process")
        _, agents, _ = self.processes(child)
        os.kill(agents[0], signal.SIGSTOP)
        child.send_signal(signal.SIGTERM)
        time.sleep(0.2)
        child.send_signal(signal.SIGTERM)
        begin = time.monotonic()
        child.communicate(timeout=20)
        self.assertNotEqual(child.returncode, 0)
        self.nothing_is_left(begin)

    def test_hosts_fall_silent_one_after_the_other(self):
        """Who says nothing about the first loss does not go on without it: one message, and it is true."""
        for mode in MODES:
            child = self.busy(mode)
            _, agents, _ = self.processes(child)
            for agent in sorted(agents, key=harness.host_of):
                os.kill(agent, signal.SIGSTOP)
                time.sleep(1)
            out, err = child.communicate(timeout=20 * PATIENCE)
            self.assertEqual(len(err.splitlines()), 1, err)
            self.assertRegex(err, "^weft: host a is lost, and with it ranks 0-1: nothing has been heard of its agent for 3 s")
            self.assertNotIn("go on", err)
            self.assertEqual(child.returncode, 1)

    def test_again_and_again(self):
        for i in range(20):
            result = self.hosts("a:1,b:1,c:1,d:1", f"--ranks={MODES[i % 2]}", program("nodes"))
            self.ok(result)
            self.assertEqual(len(result.out.splitlines()), 4)

    # --- the agent alone

    def agent(self, text):
        return self.run_command([harness.MPIEXEC, "--agent"], stdin=text)

    def test_frames_that_are_none(self):
        hello = self.agent(b"")
        self.assertEqual((hello.code, hello.err), (0, ""))
        for text in (b"GET / HTTP/1.1\r\n\r\n", b"\0" * 100, frame(1), frame(99), frame(8), frame(8, b"x" * 1000), frame(8, length=1 << 31),
                     frame(10), frame(12), frame(11, b"\2"), frame(2), frame(9, b"abc"), frame(14, b"\1\0\0\0\0\0\0\0"), frame(8, b"abc", 100),
                     frame(13), frame(25, b"\0\0\0\0"), frame(26), frame(26, b"\0\0\0\0"), frame(26, b"\0\0\0\0" + frame(8, b"x")),
                     frame(26, b"\0\0\0\0" + frame(26, b"\0\0\0\0" + frame(15))), os.urandom(5000)):
            result = self.agent(text)
            self.assertEqual(result.code, 1, text[:40])
            self.one_message(result, "agent")
        self.assertEqual(self.marked(), {})

    def test_a_hang_is_one_report(self):
        """As on one machine, whatever hosts the ranks are on; the same at once, by SIGUSR1."""
        for mode, name, where in (("process", "receive_circle", "a:2,b:1"), ("thread", "receive_circle", "a:2,b:1"), ("process", "wrong_tag", "a,b")):
            golden = (HANG / f"{name}.txt").read_text()
            with self.subTest(mode=mode, program=name):
                result = self.hosts(where, f"--ranks={mode}", "--hang=abort", hang_test.program(name), env=hang_test.LIMIT, timeout=60)
                self.assertEqual(result.code, 125, harness.show(result.out, result.err))
                self.assertEqual(hang_test.normal(result.err), golden)
        result = self.hosts("a:2", "--timeout", 5 * PATIENCE, hang_test.program("wrong_tag"), env=hang_test.LIMIT)  # one host, where nobody else says it
        self.assertEqual(result.err.count("the job hangs"), 1, result.err)
        child = self.start("a:2,b:1", hang_test.program("receive_circle"))
        time.sleep(3 * PATIENCE)
        child.send_signal(signal.SIGUSR1)
        time.sleep(PATIENCE)
        child.terminate()
        out, err = child.communicate(timeout=30)
        self.assertEqual(err.count("rank 0 waits in MPI_Recv"), 1, err)
        self.assertEqual(err.count("rank 2 waits in MPI_Recv"), 1, err)

    def test_spawned_ranks_that_hang(self):
        """The report says who they are and where, also of hosts where no rank of the start is."""
        golden = (HANG / "spawned_circle.txt").read_text()
        line = "    ranks 1 and 2 are ranks 0 and 1 of 2 spawned"
        self.assertIn(line, golden)
        for where, lines in (("a:1,b:2", line + ", on b"), ("a:3,b:1", line + ", on a"), ("a:3", line + ", on a"),
                             ("a:2,b:1", "    rank 1 is rank 0 of 2 spawned, on a\n    rank 2 is rank 1 of 2 spawned, on b")):
            for mode in MODES:
                with self.subTest(mode=mode, where=where):
                    result = self.hosts(where, *PROVIDER, f"--ranks={mode}", "--hang=abort", "-n", 1, hang_test.program("spawned_circle"),
                                        env=hang_test.LIMIT, timeout=60)
                    self.assertEqual(result.code, 125, harness.show(result.out, result.err))
                    self.assertEqual(hang_test.normal(result.err), golden.replace(line, lines))

    def test_spawned_ranks_that_compute(self):
        """Others wait for them for longer than the limit, which is no hang."""
        for mode in MODES:
            for where, n in (("a:1,b:2", 1), ("a:2,b:2", 3)):
                result = self.ok(self.hosts(where, *PROVIDER, f"--ranks={mode}", "--hang=abort", "-n", n, hang_test.program("slow_spawned"), 2.5,
                                            env=hang_test.LIMIT, timeout=120))
                self.assertEqual(result.err, "")

    def said_by_gdb(self, where, processes, *options, program="receive_circle"):
        """By host, of a job in which all ranks hang."""
        hang_test.needs_gdb(self)
        child = self.start(where, *options, "--hang=gdb", "--timeout", 60 * PATIENCE, hang_test.program(program), env=hang_test.LIMIT)
        text = hang_test.read_until(child, " detached]", processes)
        child.terminate()
        child.communicate(timeout=20)
        self.assertEqual((child.returncode, text.count("the threads of rank")), (143, processes), text)
        return re.findall(r"(?m)^\[pid \d+ on (\w)\] .* in PMPI_Recv ", text)

    def test_gdb_on_all_hosts(self):
        for mode, where, processes in (("process", "a:2,b:1", 3), ("thread", "a:2,b:1", 2), ("process", "a:3", 3)):
            hosts = self.said_by_gdb(where, processes, f"--ranks={mode}")
            self.assertEqual(sorted(hosts), ["a", "a", "b" if "b" in where else "a"])
        self.assertEqual(sorted(self.said_by_gdb("a:2,b:1", 3, "-n", 1, *PROVIDER, program="spawned_circle")), ["a", "a", "b"])

    def test_no_gdb_is_left(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "gdb").write_text("#!/bin/sh\necho this is gdb $*; exec sleep 1000\n")
            Path(folder, "gdb").chmod(0o755)
            for victim in ("nobody", "mpiexec", "an agent", "its worker"):
                child = self.start("a:2,b:1", "--hang=gdb", hang_test.program("receive_circle"),
                                   env=hang_test.LIMIT | {"PATH": folder + ":" + os.environ["PATH"]})
                self.assertEqual(hang_test.read_until(child, "this is gdb -p ", 3).count("this is gdb"), 3)
                worker, agents, workers = self.processes(child)
                begin = time.monotonic()
                for pid in {"nobody": [], "mpiexec": [child.pid, worker], "an agent": agents[:1], "its worker": [workers[agents[0]]]}[victim]:
                    os.kill(pid, signal.SIGKILL)
                if victim == "nobody":
                    child.terminate()
                child.communicate(timeout=20)
                self.nothing_is_left(begin)

    def test_ranks_that_wait_leave_the_cpus(self):
        """8 ranks on 2 hosts: what a process takes of 3 s in which its ranks wait for another host's."""
        for mode in MODES:
            with self.subTest(mode=mode):
                result = self.ok(self.hosts("a:4,b:4", f"--ranks={mode}", program("idle")))
                cpu_ms, switches = map(float, result.out.split())
                print(f"{mode}: {cpu_ms} ms of CPU, {switches:.0f} switches", flush=True)
                self.assertLess(cpu_ms, 150)
                self.assertLess(switches, 1000)


class Tree(Hosts):
    """Eleven hosts; agents start others. Everything else is as without."""
    NAMES = "abcdefghijk"
    WHERE = ",".join(NAMES)

    def tree(self, width, *words, where=None, **options):
        return self.hosts(where or self.WHERE, "--tree-width", width, *words, **options)

    def busy_tree(self, mode):
        child = self.start(self.WHERE, "--tree-width", "2", f"--ranks={mode}", program("busy"), 100)
        self.wait_for("busy", 11)
        return child

    def agents(self):
        """Agents that talk to their parents, and the processes that each of them, or mpiexec, has started as agents."""
        commands = self.marked()
        below = {}
        for pid, command in commands.items():
            parent = harness.parent_of(pid)
            if "--agent" in command and not ("--agent" in commands.get(parent, "") and self.is_worker(pid, commands)):
                below.setdefault(parent, []).append(pid)
        return below

    def is_worker(self, pid, commands):
        """Of an agent: the ranks are its children."""
        return any(harness.parent_of(other) == pid and program("busy") in command and "--agent" not in command for other, command in commands.items())

    def test_nobody_has_many_children(self):
        child = self.busy_tree("process")
        below = self.agents()
        self.assertEqual(sum(map(len, below.values())), 11, below)
        self.assertEqual(max(map(len, below.values())), 2, below)
        child.terminate()
        child.communicate(timeout=20)
        self.assertEqual(child.returncode, 143)

    def test_messages(self):
        for mode in MODES:
            for width in (1, 2, 4, 32):
                result = self.ok(self.tree(width, f"--ranks={mode}", program("nodes"), timeout=60))
                wanted = [f"{r}: rank 0 of 1 on its node, left {(r - 1) % 11}, sum 55" for r in range(11)]
                self.assertEqual(sorted(result.out.splitlines()), sorted(wanted))
                self.assertEqual(result.err, "")

    def wire_up(self, width, ranks, mode):
        """All frames by which ranks come to know each other, for each host: what its agent got, and what it said."""
        with tempfile.TemporaryDirectory() as folder:
            where = ",".join(f"{name}:{ranks}" for name in self.NAMES)
            self.ok(self.mpiexec("--launch-agent", HEARD, "-H", where, "--tree-width", width, f"--ranks={mode}", program("nodes"),
                                 timeout=60, env={"FRAMES_FOLDER": folder}))
            return [[[f for f in heard(Path(folder, f"{name}.{way}").read_bytes()) if f.kind in WIRE_UP] for name in self.NAMES]
                    for way in ("down", "up")]

    def test_what_is_for_all_comes_once(self):
        for mode in MODES:
            down, _ = self.wire_up(2, 2, mode)
            for kind in (ORDER, ADDRESSES):
                blocks = [[f.payload for f in frames if f.kind == kind] for frames in down]
                self.assertEqual([len(block) for block in blocks], [1] * 11)
                self.assertEqual(len({block[0] for block in blocks}), 1, "all get the same")
            self.assertEqual(sorted(texts(blocks[0][0])), list(range(22)))

    def test_wire_up_is_as_simulated(self):
        for mode, width, ranks in (("process", 2, 1), ("thread", 3, 2), ("process", 32, 2)):
            down, up = ([f for frames in way for f in frames] for way in self.wire_up(width, ranks, mode))
            simulated = json.loads(self.ok(self.run_command([
                harness.BUILD / "bin" / "weft", "simulate", "barrier", "--nodes", 11, "--ppn", ranks, "--tree-width", width, "--json"])).out)["wire_up"]
            # Addresses leave an agent in two frames at most; in one, if there is one rank, or all have told them when it looks.
            told = [f.kind for f in up].count(ADDRESSES)
            grown = [f.kind for f in down].count(GROW)
            most = 11 * 2 if ranks > 1 else 11 + grown
            self.assertTrue(11 <= told <= most, told)
            self.assertEqual(len(down) + len(up) - told + most, simulated["messages"], f"{mode} {width} {ranks}")
            for block in (f for f in down if f.kind == ADDRESSES):
                longer = sum(len(text) - simulated["address_bytes"] for text in texts(block.payload).values())
                self.assertEqual(block.bytes, simulated["bytes_of_addresses"] + longer)
            self.assertEqual(simulated["bytes_from_mpiexec"], min(11, width) * simulated["bytes_of_addresses"])

    def test_output(self):
        result = self.ok(self.tree(2, "-l", "sh", "-c", "for i in $(seq 20000); do echo \"$i abcdefghijklmnopqrstuvwxyz\"; done; echo err >&2", timeout=100))
        lines = result.out.splitlines()
        self.assertEqual(len(lines), 220000)
        for rank in range(11):
            own = [line for line in lines if line.startswith(f"[{rank}] ")]
            self.assertEqual(own, [f"[{rank}] {i} abcdefghijklmnopqrstuvwxyz" for i in range(1, 20001)])
        self.assertEqual(sorted(result.err.splitlines()), sorted(f"[{r}] err" for r in range(11)))

    def test_input(self):
        text = os.urandom(3_000_000)
        alone = self.ok(self.mpiexec("-n", 1, program("input"), stdin=text)).out.strip()
        for reader in (0, 5, 10):
            result = self.ok(self.tree(2, "-stdin", reader, program("input"), stdin=text, timeout=60))
            self.assertIn(alone.replace("rank 0", f"rank {reader}"), result.out.splitlines())

    def test_exit_codes(self):
        for rank in (0, 4, 10):
            self.assertEqual(self.tree(2, program("act"), rank, "finish", 7).code, 7)

    def test_failing_ranks(self):
        for mode in MODES:
            for rank in (1, 10):
                for what, value, code, words in (("abort", 42, 42, ("42",)), ("segv", 16, 139, ("signal 11",))):
                    result = self.tree(2, f"--ranks={mode}", program("act"), rank, what, value)
                    self.assertEqual(result.code, code, result.err)
                    self.one_message(result, f"rank {rank}", f"on {self.NAMES[rank]}", *words)

    def test_hosts_that_cannot_be_used(self):
        for position in (0, 1, 5, 10):
            names = list(self.NAMES)
            names[position] = "off"
            result = self.tree(2, program("nodes"), where=",".join(names))
            self.assertEqual((result.code, result.out), (1, ""))
            self.one_message(result, "host off cannot be used", "255", "no route to host off")

    def test_signals_reach_all_ranks(self):
        script = "trap 'echo got $WEFT_RANK; exit 0' USR2; echo ready; while :; do sleep 0.05; done"
        child = self.start(self.WHERE, "--tree-width", "2", "sh", "-c", script)
        for _ in range(11):
            self.assertEqual(child.stdout.readline(), "ready\n")
        child.send_signal(signal.SIGUSR2)
        out, err = child.communicate(timeout=20)
        self.assertEqual(sorted(out.splitlines()), sorted(f"got {r}" for r in range(11)), err)

    def test_gdb_on_the_first_hosts(self):
        self.assertEqual(sorted(self.said_by_gdb(self.WHERE, 8, "--tree-width", 2)), list(self.NAMES[:8]))

    def test_killed_agent(self):
        for mode in MODES:
            for which in ("starts others", "starts none"):
                child = self.busy_tree(mode)
                below = self.agents()
                agents = [pid for pids in below.values() for pid in pids]
                victim = next(pid for pid in agents if (pid in below) == (which == "starts others"))
                begin = time.monotonic()
                os.kill(victim, signal.SIGKILL)
                _, err = child.communicate(timeout=20)
                self.assertEqual(len(err.splitlines()), 1, f"{mode} {which}\n{err}")
                self.assertRegex(err, r"^weft: host [a-k] is lost, and with it rank.*signal 9")
                self.assertEqual("ranks" in err, which == "starts others", err)
                self.nothing_is_left(begin)

    def test_killed_head(self):
        child = self.busy_tree("process")
        begin = time.monotonic()
        child.kill()
        child.communicate(timeout=20)
        self.nothing_is_left(begin)


# What Tree does not say itself has been tried with one agent beside the other.
for name in [name for name in dir(Tree) if name.startswith("test_") and name not in vars(Tree)]:
    setattr(Tree, name, None)


if __name__ == "__main__":
    harness.main()
