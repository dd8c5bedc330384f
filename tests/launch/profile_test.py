#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Profiling tools (PMPI): linked before libmpi_abi, linked into the program, by LD_PRELOAD; with ranks as processes and
as threads alike. Everything is compiled by the plain C compiler, as a tool's author would."""
import subprocess
import tempfile
from pathlib import Path

import harness
from harness import CC, LIBDIR, MODES, SOURCE, program

SOURCES = Path(__file__).resolve().parent / "programs"


class Profile(harness.Case):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="profile-")
        cls.compile("-shared", "-fPIC", "profile.c", "-o", "libprofile.so")
        cls.compile("-shared", "-fPIC", "profile_next.c", "-o", "libnext.so")
        cls.compile("-shared", "-fPIC", "profiled_work.c", "-o", "libwork.so")
        cls.compile("profiled.c", "-o", "plain", "-lmpi_abi")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name):
        return Path(cls.folder.name) / name

    @classmethod
    def compile(cls, *words):
        words = [SOURCES / word if word.endswith(".c") else word for word in words]
        words[words.index("-o") + 1] = cls.path(words[words.index("-o") + 1])
        common = [CC, f"-I{SOURCE}/include", f"-L{LIBDIR}", f"-L{cls.folder.name}", "-Wl,--no-as-needed"]
        common += [f"-Wl,-rpath,{LIBDIR}", f"-Wl,-rpath,{cls.folder.name}"]
        subprocess.run([str(word) for word in common + words], check=True)

    def profiles(self, *words, **options):
        """The tool counts each rank's calls, in both modes, and says nothing else anywhere."""
        for mode in MODES:
            for n in (1, 3):
                result = self.ok(self.mpiexec(f"--ranks={mode}", "-n", n, *words, **options))
                self.assertEqual(sorted(result.out.splitlines()), [f"profile: rank {r}, {r + 3} sends, 2 reductions" for r in range(n)], mode)
                self.assertEqual(result.err, "")

    def test_linked_before_the_library(self):
        self.compile("profiled.c", "-o", "before", "-lprofile", "-lmpi_abi")
        self.profiles(self.path("before"))

    def test_linked_behind_the_library(self):
        """There the library's own functions come first, as ld.so searches."""
        self.compile("profiled.c", "-o", "behind", "-lmpi_abi", "-lprofile")
        for mode in MODES:
            self.assertEqual(self.ok(self.mpiexec(f"--ranks={mode}", "-n", 3, self.path("behind"))).out, "", mode)

    def test_linked_into_the_program(self):
        self.compile("profiled.c", "profile.c", "-o", "within", "-lmpi_abi")
        self.profiles(self.path("within"))

    def test_calls_of_libraries(self):
        """A library of the application is profiled too, wherever the tool is."""
        self.compile("-DWORK_IN_LIBRARY", "profiled.c", "-o", "before-work", "-lprofile", "-lwork", "-lmpi_abi")
        self.profiles(self.path("before-work"))
        self.compile("-DWORK_IN_LIBRARY", "profiled.c", "-o", "work", "-lwork", "-lmpi_abi")
        self.profiles("-x", f"LD_PRELOAD={self.path('libprofile.so')}", self.path("work"))
        self.compile("-DWORK_IN_LIBRARY", "profiled.c", "profile.c", "-o", "within-work", "-lwork", "-lmpi_abi")
        self.profiles(self.path("within-work"))

    def test_preloaded(self):
        tool = self.path("libprofile.so")
        self.profiles("-x", f"LD_PRELOAD={tool}", self.path("plain"))
        self.profiles("-genv", "LD_PRELOAD", tool, self.path("plain"))
        self.profiles("-wdir", self.folder.name, "-x", "LD_PRELOAD=./libprofile.so", self.path("plain"))
        self.profiles("-x", "LD_PRELOAD=libprofile.so", "-x", f"LD_LIBRARY_PATH={self.folder.name}", self.path("plain"),
                      env={"LD_LIBRARY_PATH": self.folder.name})

    def test_preloaded_for_mpiexec_too(self):
        self.profiles(self.path("plain"), env={"LD_PRELOAD": str(self.path("libprofile.so"))})

    def test_preloaded_and_linked(self):
        self.compile("profiled.c", "-o", "before", "-lprofile", "-lmpi_abi")
        self.profiles("-x", f"LD_PRELOAD={self.path('libprofile.so')}", self.path("before"))

    def test_next_function(self):
        """dlsym(RTLD_NEXT) is the function behind the tool; two tools on top of each other both count."""
        for mode in MODES:
            tools = f"LD_PRELOAD={self.path('libnext.so')}"
            result = self.ok(self.mpiexec(f"--ranks={mode}", "-n", 2, "-x", tools, self.path("plain")))
            self.assertEqual(sorted(result.out.splitlines()), ["next: 4 sends", "next: 5 sends"], mode)
            tools += f":{self.path('libprofile.so')}"
            result = self.ok(self.mpiexec(f"--ranks={mode}", "-n", 2, "-x", tools, self.path("plain")))
            lines = ["next: 4 sends", "next: 5 sends", "profile: rank 0, 3 sends, 2 reductions", "profile: rank 1, 4 sends, 2 reductions"]
            self.assertEqual(sorted(result.out.splitlines()), lines, mode)

    def test_tools_of_two_programs(self):
        """One job, one program with a tool and one without."""
        for mode in MODES:
            tool = f"LD_PRELOAD={self.path('libprofile.so')}"
            result = self.ok(self.mpiexec(f"--ranks={mode}", "-n", 2, self.path("plain"), ":", "-n", 1, "-x", tool, self.path("plain")))
            self.assertEqual(result.out, "profile: rank 2, 5 sends, 2 reductions\n", mode)

    def test_environment_of_ranks(self):
        """What a rank starts gets the user's LD_PRELOAD, and nothing of the launcher's."""
        tool, other = self.path("libprofile.so"), self.path("libwork.so")
        for mode in MODES:
            for preload in (f"{tool}", f"{other}:{tool}"):
                words = ["-x", f"LD_PRELOAD={preload}", program("show"), "LD_PRELOAD", "WEFT_HOST_TOOLS", "WEFT_HOST_USER_PRELOAD"]
                out = self.ok(self.mpiexec(f"--ranks={mode}", "-n", 2, *words)).out
                self.assertEqual(out.count(f"LD_PRELOAD={preload}\n"), 2, out)
                self.assertEqual(out.count("=(unset)"), 4, out)


if __name__ == "__main__":
    harness.main()
