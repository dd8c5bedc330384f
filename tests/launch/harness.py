# SPDX-License-Identifier: Apache-2.0
"""What the launch tests share: where things are, how to run mpiexec, what may not be left behind."""
import os
import secrets
import select
import shutil
import signal
import subprocess
import sys
import time
import unittest
from collections import namedtuple
from pathlib import Path

BUILD = Path(os.environ.get("TEST_BUILD", "build/release")).resolve()
SOURCE = Path(__file__).resolve().parents[2]
MPIEXEC = str(BUILD / "bin" / "mpiexec")
LIBDIR = BUILD / os.environ.get("TEST_LIBDIR", "lib")
PROGRAMS = BUILD / "tests" / "launch" / "programs"
CC = os.environ.get("CC", "cc")
MODES = ("process", "thread")
# Sanitized builds and busy machines are slower; the factor is for patience, never for what is promised.
PATIENCE = float(os.environ.get("TEST_TIMEOUT_SCALE", "1"))

Result = namedtuple("Result", "code out err seconds")


def program(name):
    return str(PROGRAMS / name)


class Case(unittest.TestCase):
    """A test whose processes carry a mark in their environment, so that one left behind is found."""

    def setUp(self):
        self.mark = secrets.token_hex(8)
        self.files_before = leftovers()

    def tearDown(self):
        # Zombies of nobody take a moment to vanish.
        deadline = time.monotonic() + 2
        while self.marked() and time.monotonic() < deadline:
            time.sleep(0.02)
        left = self.marked()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(left, {}, "processes were left behind")
        self.assertEqual(leftovers() - self.files_before, set(), "files or sockets were left behind")

    def env(self, extra=None):
        return dict(os.environ, MARK_OF_TEST=self.mark) | (extra or {})

    def run_command(self, command, env=None, stdin=b"", timeout=30, cwd=None):
        begin = time.monotonic()
        child = subprocess.Popen([str(word) for word in command], env=self.env(env), cwd=cwd, stdin=subprocess.PIPE,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        try:
            out, err = child.communicate(stdin, timeout * PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
            self.fail(f"no end after {timeout} s: {' '.join(map(str, command))}\n{show(out, err)}")
        return Result(child.returncode, out.decode(errors="replace"), err.decode(errors="replace"), time.monotonic() - begin)

    def mpiexec(self, *words, **options):
        return self.run_command([MPIEXEC, *words], **options)

    def ok(self, result):
        self.assertEqual(result.code, 0, show(result.out, result.err))
        return result

    def all_end(self):
        """Within three seconds, by themselves."""
        deadline = time.monotonic() + 3 * PATIENCE
        while self.marked() and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(self.marked(), {})

    def marked(self):
        """Living processes that carry this test's mark: pid and command."""
        found, needle = {}, f"MARK_OF_TEST={self.mark}".encode()
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or int(entry) == os.getpid():
                continue
            try:
                if needle not in Path("/proc", entry, "environ").read_bytes():
                    continue
                command = Path("/proc", entry, "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found[int(entry)] = command
            except OSError:
                continue
        return found


class ClusterCase(Case):
    """On hosts of their own, n1 to nN, that scripts/cluster makes; left out where it cannot."""
    HOSTS, OPTIONS = 3, ()

    @classmethod
    def setUpClass(cls):
        cls.words = [str(SOURCE / "scripts" / "cluster"), "--name", f"test{os.getpid()}"]
        made = subprocess.run([*cls.words, str(cls.HOSTS), *cls.OPTIONS], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if made.returncode != 0:
            print(f"skipped: {made.stderr.strip()}", flush=True)
            raise unittest.SkipTest(made.stderr.strip())

    @classmethod
    def tearDownClass(cls):
        subprocess.run([*cls.words, "down"], check=True)

    def cluster(self, *words):
        return subprocess.run([*self.words, *map(str, words)], check=True, stdout=subprocess.PIPE, text=True).stdout

    def on_hosts(self):
        """(host, process, command) of what runs on the hosts; the switch counts too."""
        found = [line.split(" ", 2) for line in self.cluster("ps").splitlines()]
        return [(host, int(pid), command) for host, pid, command in found]

    def agent_and_worker(self, where):
        """Of a host, as far as they are there. The numbers of processes begin again now and then: the worker's may be the lower one."""
        pids = [pid for host, pid, command in self.on_hosts() if host == where and command.startswith(MPIEXEC)]
        return sorted(pids, key=lambda pid: parent_of(pid) in pids)

    def job(self, where, *words, **options):
        """mpiexec on these hosts, with a mark; not waited for."""
        command = [MPIEXEC, "--launch-agent", " ".join([*self.words, "exec"]), "-H", where, *map(str, words)]
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
        return subprocess.Popen(command, env=self.env(), start_new_session=True, text=True, **streams)

    def files_on_hosts(self):
        """What lies in each host's own /dev/shm."""
        return [name for i in range(self.HOSTS) for name in self.cluster("exec", f"n{i + 1}", "ls /dev/shm").split()]


def can_unshare(*flags):
    return shutil.which("unshare") and subprocess.run(["unshare", *flags, "true"], stderr=subprocess.DEVNULL).returncode == 0


def parent_of(pid):
    """The parent's process id; 0 if there is no such process."""
    try:
        return int(Path("/proc", str(pid), "stat").read_text().rsplit(")", 1)[1].split()[1])
    except OSError:
        return 0


def host_of(pid):
    """The host that an agent of agent_here.sh is on; process numbers begin again, so their order says nothing."""
    environment = Path("/proc", str(pid), "environ").read_bytes().split(b"\0")
    return next((entry[9:].decode() for entry in environment if entry.startswith(b"HOSTNAME=")), "")


def leftovers():
    """Names that a job could leave: in /dev/shm, weft's in the temporary directory, weft's sockets."""
    names = {f"/dev/shm/{name}" for name in os.listdir("/dev/shm")} if os.path.isdir("/dev/shm") else set()
    names = {name for name in names if "mpich" not in name}  # another library's jobs may run beside the tests
    temporary = os.environ.get("TMPDIR", "/tmp")
    names |= {f"{temporary}/{name}" for name in os.listdir(temporary) if name.startswith("weft")}
    try:
        names |= {line.split()[-1] for line in Path("/proc/net/unix").read_text().splitlines() if "weft" in line}
    except OSError:
        pass
    return names


def cpu_list(text):
    """[0, 1, 2, 8] of "0-2,8"."""
    ends = [part.split("-") for part in text.split(",")]
    return [cpu for part in ends for cpu in range(int(part[0]), int(part[-1]) + 1)]


def show(out, err):
    text = lambda part: part if isinstance(part, str) else part.decode(errors="replace")
    return f"--- stdout\n{text(out)[-4000:]}\n--- stderr\n{text(err)[-4000:]}"


def main():
    if not os.path.exists(MPIEXEC):
        sys.exit(f"{MPIEXEC} is missing: build first, or set TEST_BUILD")
    unittest.main(verbosity=1)
