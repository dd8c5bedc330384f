#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""mpiexec on a terminal: rank 0 has one too, in place of mpiexec's own. The test is the person at the keyboard."""
import fcntl
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time

import harness
from harness import MODES, PATIENCE, program, show

CONTROL_C, CONTROL_D, CONTROL_Z = b"\x03", b"\x04", b"\x1a"


class Screen:
    """A command whose terminal we are."""

    def __init__(self, case, *words, redirect="", size=(24, 80)):
        self.case, self.shown, self.code = case, b"", None
        command = [str(word) for word in words]
        if redirect:  # of a shell, such as 2>/dev/null
            command = ["/bin/sh", "-c", f'exec "$@" {redirect}', "sh", *command]
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.execvpe(command[0], command, case.env())
        self.resize(*size)
        case.screens.append(self)

    def close(self):
        if self.fd >= 0:
            os.close(self.fd)  # hangs up
        self.fd = -1
        if self.code is None:
            self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def resize(self, rows, columns):
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def settings(self):
        flags = termios.tcgetattr(self.fd)[3]
        return bool(flags & termios.ICANON), bool(flags & termios.ECHO)

    def type(self, text):
        os.write(self.fd, text if isinstance(text, bytes) else text.encode())

    def read(self, seconds):
        """What comes within so much time; False at the end."""
        if not harness.select.select([self.fd], [], [], seconds)[0]:
            return True
        try:
            part = os.read(self.fd, 65536)
        except OSError:
            part = b""
        self.shown += part
        return part != b""

    def wait_for(self, text, seconds=10):
        """Until it is shown; what was shown up to its end, which is then taken away."""
        wanted = text if isinstance(text, bytes) else text.encode()
        deadline = time.monotonic() + seconds * PATIENCE
        while wanted not in self.shown:
            if time.monotonic() > deadline or not self.read(0.05):
                self.case.fail(f"{text!r} was not shown, but\n{self.shown!r}")
        before, _, self.shown = self.shown.partition(wanted)
        return before + wanted

    def finish(self, seconds=10):
        """All that is still shown, and the exit code."""
        deadline = time.monotonic() + seconds * PATIENCE
        while self.read(0.05):
            self.case.assertLess(time.monotonic(), deadline, f"no end: {self.shown!r}")
        self.code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self.shown, self.code


class Terminal(harness.Case):
    def setUp(self):
        super().setUp()
        self.screens = []

    def tearDown(self):
        for screen in self.screens:
            screen.close()
        super().tearDown()

    def screen(self, mode, n, what, *options, **details):
        return Screen(self, harness.MPIEXEC, f"--ranks={mode}", *options, "-n", n, program("terminal"), what, **details)

    def until(self, condition, what):
        deadline = time.monotonic() + 10 * PATIENCE
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.01)

    def is_terminal(self, mode, *options, **details):
        """For each rank, which of 0, 1 and 2 are terminals."""
        shown, code = self.screen(mode, 3, "is", *options, **details).finish()
        self.assertEqual(code, 0, shown)
        return dict(re.findall(rb"rank (\d): (\d+)\r\n", shown))

    def test_which_are_terminals(self):
        for mode in MODES:
            self.assertEqual(self.is_terminal(mode), {b"0": b"111", b"1": b"000", b"2": b"000"}, mode)
            self.assertEqual(self.is_terminal(mode, "--pty"), {b"0": b"111", b"1": b"011", b"2": b"011"}, mode)
            self.assertEqual(self.is_terminal(mode, redirect="</dev/null"), {b"0": b"011", b"1": b"000", b"2": b"000"}, mode)
            self.assertEqual(self.is_terminal(mode, redirect="2>/dev/null"), {b"0": b"110", b"1": b"000", b"2": b"000"}, mode)
            self.assertEqual(self.is_terminal(mode, "--pty", redirect="2>/dev/null"), {b"0": b"110", b"1": b"010", b"2": b"010"}, mode)

    def test_redirected_output(self):
        for mode in MODES:
            for redirect, first in ((">{}", "001"), (">{} 2>&1", "000"), (">{} 2>&1 </dev/null", "000")):
                with tempfile.NamedTemporaryFile() as file:
                    self.screen(mode, 3, "is", redirect=redirect.format(file.name)).finish()
                    self.assertEqual(sorted(file.read().decode().split("\n")), ["", f"rank 0: {first}", "rank 1: 000", "rank 2: 000"], mode)

    def test_pager(self):
        """What reads mpiexec's output may want the keys itself: the terminal's settings are not touched."""
        for mode in MODES:
            screen = Screen(self, "/bin/sh", "-c", f"{harness.MPIEXEC} --ranks={mode} -n 2 {program('terminal')} ask | cat")
            screen.type("Ada\n")
            screen.wait_for("Ada\r\n")
            self.until(lambda: len(self.marked()) >= (5 if mode == "process" else 4), "the job has not started")
            self.assertEqual(screen.settings(), (True, True))
            screen.type(CONTROL_D)
            self.assertEqual(screen.finish()[0], b"name? hello Ada!\r\nname? end of input\r\n")
            self.assertEqual(screen.settings(), (True, True))

    def test_no_terminal(self):
        """As without all this, whatever is asked for."""
        for mode in MODES:
            for options in ((), ("--pty",)):
                result = self.ok(self.mpiexec(f"--ranks={mode}", *options, "-n", 2, program("terminal"), "is"))
                self.assertEqual(sorted(result.out.splitlines()), ["rank 0: 000", "rank 1: 000"])

    def test_prompt_and_echo(self):
        """A prompt is there before its answer; what is typed is shown once; lines end once."""
        for mode in MODES:
            for n in (1, 2, 9):
                screen = self.screen(mode, n, "ask")
                self.assertEqual(screen.wait_for("name? "), b"name? ")
                screen.type("Ada\n")
                self.assertEqual(screen.wait_for("name? "), b"Ada\r\nhello Ada!\r\nname? ", mode)
                screen.type("Grace")
                screen.wait_for("Grace")
                screen.type("\x7f\x7fze\n")  # edited by the terminal
                screen.wait_for("hello Graze!\r\nname? ")
                screen.type(CONTROL_D)
                shown, code = screen.finish()
                self.assertEqual((shown, code), (b"end of input\r\n", 0), mode)

    def test_end_of_input_in_a_line(self):
        """The key for it sends what was typed so far, then the end."""
        for mode in MODES:
            screen = self.screen(mode, 2, "ask")
            screen.wait_for("name? ")
            screen.type("Ada")
            screen.wait_for("Ada")
            screen.type(CONTROL_D + CONTROL_D)
            shown, code = screen.finish()
            self.assertEqual((shown, code), (b"hello Ada!\r\nname? end of input\r\n", 0), mode)

    def test_prompt_without_output(self):
        """Only standard input is a terminal: then rank 0's is a pipe, and the answers are echoed as ever."""
        for mode in MODES:
            with tempfile.NamedTemporaryFile() as file:
                screen = self.screen(mode, 2, "ask", redirect=f">{file.name} 2>&1")
                screen.type("Ada\n")
                screen.wait_for("Ada\r\n")
                screen.type(CONTROL_D)
                screen.finish()
                self.assertEqual(file.read(), b"name? hello Ada!\nname? end of input\n", mode)

    def test_progress(self):
        for mode in MODES:
            screen = self.screen(mode, 2, "progress")
            for percent in (0, 50, 100):
                screen.wait_for(f"\r{percent} %")
                screen.type("\n")
            screen.wait_for("\r\ndone\r\n")
            self.assertEqual(screen.finish()[1], 0)

    def test_lines_are_not_held_back(self):
        for mode in MODES:
            screen = self.screen(mode, 2, "lines")
            screen.wait_for("stdout of 0\r\nstderr of 0\r\n")  # in the order they were written
            screen.type("\n")
            screen.wait_for("stderr of 1\r\n")
            self.assertEqual(screen.finish()[1], 0)

    def test_lines_of_all_ranks(self):
        for mode in MODES:
            screen = self.screen(mode, 3, "lines", "--pty")
            shown = screen.wait_for("stderr of 0\r\n")
            screen.type("\n")
            shown += screen.finish()[0]
            self.assertEqual(sorted(shown.split(b"\r\n")), sorted([b"", b"", *(f"std{s} of {r}".encode() for s in ("out", "err") for r in range(3))]), shown)
            for r in range(3):
                self.assertIn(f"stdout of {r}\r\nstderr of {r}\r\n".encode(), shown)

    def test_tags(self):
        for mode in MODES:
            screen = self.screen(mode, 2, "ask", "-l")
            screen.wait_for("[0] name? ")
            screen.type("Ada\n")
            self.assertEqual(screen.wait_for("name? "), b"Ada\r\n[0] hello Ada!\r\n[0] name? ", mode)
            screen.type(CONTROL_D)
            screen.finish()

    def test_each_to_its_own(self):
        """Standard output in a file, standard error on the terminal, and the other way round."""
        for mode in MODES:
            for here, there, redirect in (("stderr", "stdout", ">{}"), ("stdout", "stderr", "2>{}")):
                with tempfile.NamedTemporaryFile() as file:
                    screen = self.screen(mode, 2, "lines", redirect=redirect.format(file.name))
                    screen.wait_for(f"{here} of 0\r\n")
                    screen.type("\n")
                    screen.wait_for(f"{here} of 1\r\n")
                    screen.finish()
                    self.assertEqual(sorted(file.read().decode().splitlines()), [f"{there} of 0", f"{there} of 1"], mode)

    def test_window_size(self):
        for mode in MODES:
            screen = self.screen(mode, 2, "size", size=(33, 99))
            while b"size 33 x 99" not in screen.wait_for("\r\n"):
                pass  # it may have started before we said how large it is
            screen.resize(44, 111)
            screen.wait_for("size 44 x 111\r\n")
            screen.type(CONTROL_D)
            self.assertEqual(screen.finish()[1], 0)

    def test_single_keys(self):
        """A program that takes single keys gets them at once, and nobody else shows them; then lines as before."""
        for mode in MODES:
            screen = self.screen(mode, 2, "keys")
            screen.wait_for("press keys\r\n")
            screen.type("a")
            self.assertEqual(screen.wait_for("key 97\r\n"), b"key 97\r\n", mode)
            screen.type(CONTROL_D)
            screen.wait_for("key 4\r\n")
            screen.type("q")
            self.assertEqual(screen.wait_for("now a line\r\n"), b"key 113\r\nnow a line\r\n", mode)
            screen.type("xyz\n")
            self.assertEqual(screen.finish(), (b"xyz\r\nline xyz\r\n", 0), mode)
            self.assertEqual(screen.settings(), (True, True))

    def test_password(self):
        """A program that switches the echo off."""
        for mode in MODES:
            screen = Screen(self, harness.MPIEXEC, f"--ranks={mode}", "-n", 1, "/bin/sh", "-c",
                            "stty -echo; printf 'password? '; read word; stty echo; echo; echo $word; read word; echo $word")
            screen.wait_for("password? ")
            screen.type("secret\n")
            self.assertEqual(screen.wait_for("secret\r\n"), b"\r\nsecret\r\n", mode)
            screen.type("public\n")
            self.assertEqual(screen.finish()[0], b"public\r\npublic\r\n", mode)

    def test_line_editor(self):
        """Python's, with what it shows itself."""
        if subprocess.run(["python3", "-c", "import readline"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("python3 has no readline")
        screen = Screen(self, harness.MPIEXEC, "-n", 1, "python3", "-c", "import readline; print(input('? ')); print(input('! '))")
        screen.wait_for("? ")
        screen.type("abd\x7fc")
        screen.wait_for("c")  # as it shows them
        screen.type("\n")
        screen.wait_for("\r\nabc\r\n")
        screen.wait_for("! ")
        screen.type("\x1b[A\n")  # the line before
        self.assertEqual(screen.finish()[1], 0)
        self.assertIn(b"abc\r\nabc\r\n", screen.shown.replace(b"\r\r", b"\r"))

    def test_interrupt(self):
        """Also while a program takes single keys: the terminal is as before, whoever is killed."""
        for mode in MODES:
            for what in ("ask", "raw"):
                screen = self.screen(mode, 2, what)
                screen.wait_for("name? " if what == "ask" else "press keys")
                screen.type(CONTROL_C)
                self.assertEqual(screen.finish()[1], 128 + signal.SIGINT)
                self.assertEqual(screen.settings(), (True, True))

    def test_settings_after_a_kill(self):
        for mode in MODES:
            for victim in ("rank", "worker", "supervisor"):
                screen = self.screen(mode, 2, "raw")
                screen.wait_for("press keys")
                self.assertEqual(screen.settings(), (False, False))
                worker = next(pid for pid in self.marked() if harness.parent_of(pid) == screen.pid)
                rank = next(pid for pid in self.marked() if harness.parent_of(pid) == worker)
                os.kill({"rank": rank, "worker": worker, "supervisor": screen.pid}[victim], signal.SIGKILL)
                screen.finish()
                self.assertEqual(screen.settings(), (True, True), f"{mode} {victim}")

    def test_rank_0_ends_first(self):
        """Nobody reads what is typed then; it must not disturb."""
        for mode in MODES:
            screen = Screen(self, harness.MPIEXEC, f"--ranks={mode}", "-n", 1, "echo", "short", ":", "-n", 1, "sleep", "1")
            screen.wait_for("short\r\n")
            screen.type("anybody there?\n" * 10)
            self.assertEqual(screen.finish()[1], 0)

    def test_hang_up(self):
        """The terminal goes away: the job ends as it does without one (tearDown looks)."""
        for mode in MODES:
            screen = self.screen(mode, 2, "ask")
            screen.wait_for("name? ")
            screen.close()

    def test_started_in_the_background(self):
        """It shows its prompt, but what is typed is the shell's until the job comes to the foreground."""
        if not shutil.which("bash"):
            self.skipTest("needs bash")
        for mode in MODES:
            screen = Screen(self, "bash", "--norc", "--noediting", "-i")
            screen.type("PS1='$ '\n")
            screen.wait_for("$ ")
            screen.type(f"{harness.MPIEXEC} --ranks={mode} -n 2 {program('terminal')} ask &\n")
            screen.wait_for("name? ")
            screen.type("echo the shell\n")
            screen.wait_for("\r\nthe shell\r\n")
            screen.type("fg\n")
            screen.wait_for(b" ask\r\n")  # bash says what it brings to the foreground
            self.until(lambda: screen.settings() == (False, False), "the terminal is rank 0's")
            screen.type("Ada\n")
            screen.wait_for("hello Ada!\r\nname? ")
            screen.type(CONTROL_D)
            screen.wait_for("end of input\r\n$ ")
            screen.type("exit\n")
            screen.finish()

    def test_stop_and_continue(self):
        """In a shell with job control: stopped in the middle of single keys, the terminal is the shell's; then the ranks' again."""
        if not shutil.which("bash"):
            self.skipTest("needs bash")
        for mode in MODES:
            screen = Screen(self, "bash", "--norc", "--noediting", "-i")
            screen.type("PS1='$ '\n")
            screen.wait_for("$ ")
            for what, first in (("keys", "press keys\r\n"), ("ask", "name? ")):
                screen.type(f"{harness.MPIEXEC} --ranks={mode} -n 2 {program('terminal')} {what}\n")
                screen.wait_for(first)
                screen.type(CONTROL_Z)
                screen.wait_for("$ ")
                self.assertEqual(screen.settings(), (True, True), f"{mode} {what}")
                screen.type("echo the shell\n")
                screen.wait_for("\r\nthe shell\r\n$ ")
                screen.type("fg\n")
                if what == "keys":
                    screen.type("q")
                    screen.wait_for("key 113\r\nnow a line\r\n")
                screen.type("Ada\n")
                screen.wait_for("line Ada\r\n" if what == "keys" else "hello Ada!\r\nname? ")
                if what == "ask":
                    screen.type(CONTROL_D)
                screen.wait_for("$ ")
            screen.type("exit\n")
            screen.finish()


if __name__ == "__main__":
    harness.main()
