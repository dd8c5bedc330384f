# SPDX-License-Identifier: Apache-2.0
"""Installs weft, moves the tree, and uses it from there: mpicc, mpicxx, CMake, pkg-config, runs.

    install_test.py <build folder> [libdir]
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = Path(sys.argv.pop(1)).resolve()
LIBDIR = sys.argv.pop(1) if len(sys.argv) > 1 else "lib"

PROGRAM = r"""
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("rank %d of %d\n", rank, size);
  MPI_Finalize();
  return 0;
}
"""
CMAKE_PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(user LANGUAGES C CXX)
find_package(MPI REQUIRED)
add_executable(user_c user.c)
target_link_libraries(user_c MPI::MPI_C)
add_executable(user_cxx user.cc)
target_link_libraries(user_cxx MPI::MPI_CXX)
message(STATUS "version ${MPI_C_VERSION}")
"""


INTEGER_SIZE = """program size
use mpi_f08
integer :: of_integer, of_logical
call MPI_Init()
call MPI_Type_size(MPI_INTEGER, of_integer)
call MPI_Type_size(MPI_LOGICAL, of_logical)
print *, kind(of_integer), of_integer, of_logical
call MPI_Finalize()
end program
"""
HAS_FORTRAN = shutil.which("gfortran") and "WEFT_SANITIZE:STRING=\n" in (BUILD / "CMakeCache.txt").read_text()
FORTRAN_PROGRAM = """
program user
  use mpi_f08
  implicit none
  integer :: rank, size
  call MPI_Init()
  call MPI_Comm_rank(MPI_COMM_WORLD, rank)
  call MPI_Comm_size(MPI_COMM_WORLD, size)
  print '(A,I0,A,I0)', 'rank ', rank, ' of ', size
  call MPI_Finalize()
end program
"""
FORTRAN_PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(user LANGUAGES C Fortran)
set(MPI_DETERMINE_Fortran_CAPABILITIES TRUE)
find_package(MPI REQUIRED COMPONENTS Fortran)
add_executable(user user.f90)
target_link_libraries(user MPI::MPI_Fortran)
message(STATUS "has ${MPI_Fortran_HAVE_F77_HEADER} ${MPI_Fortran_HAVE_F90_MODULE} ${MPI_Fortran_HAVE_F08_MODULE}")
"""


def run(*command, **options):
    """stdout of a command; its whole output in the failure if it fails."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          timeout=200, env=clean_environment(), **options)
    if done.returncode:
        raise AssertionError(f"{command} exited {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def words_of(text):
    """The words that a shell makes of it."""
    return run("sh", "-c", f"printf '%s\\n' {text.strip()}").splitlines()


def clean_environment():
    hidden = ("LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH", "WEFT_CC", "WEFT_CXX", "WEFT_FC", "MPICH_FC", "OMPI_FC", "WEFT_JOB")
    env = {key: value for key, value in os.environ.items() if key not in hidden}
    env["ASAN_OPTIONS"] = "detect_leaks=0"
    return env


class Install(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="weft-install-"))
        run("cmake", "--install", BUILD, "--prefix", cls.folder / "first")
        cls.prefix = cls.folder / "moved tree"
        (cls.folder / "first").rename(cls.prefix)
        for name in ("user.c", "user.cc"):
            (cls.folder / name).write_text(PROGRAM)

    @classmethod
    def tearDownClass(cls):
        shutil.rmtree(cls.folder)

    def try_program(self, path):
        """Runs alone without any environment; with mpiexec in both modes when it is installed."""
        self.assertEqual(run(path), "rank 0 of 1\n")
        for mode in ("process", "thread"):
            out = run(self.prefix / "bin/mpiexec", f"--ranks={mode}", "-n", 2, path)
            self.assertEqual(sorted(out.splitlines()), ["rank 0 of 2", "rank 1 of 2"], mode)

    def test_everything_is_there(self):
        for name in ("bin/mpicc", "bin/mpicxx", "bin/mpic++", "bin/mpifort", "bin/mpif90", "bin/mpif77",
                     "bin/mpiexec", "bin/mpirun", "include/mpif.h", f"{LIBDIR}/libmpifort_abi.so.1",
                     "share/weft/fortran/mpi_f08.f90",
                     "bin/weft", "include/mpi.h", f"{LIBDIR}/libmpi_abi.so",
                     f"{LIBDIR}/libmpi_abi.so.1", f"{LIBDIR}/pkgconfig/mpi.pc",
                     f"{LIBDIR}/pkgconfig/weft.pc", "share/doc/weft/launching.md"):
            self.assertTrue((self.prefix / name).exists(), name)

    def test_documentation(self):
        """What messages cite is there: weft docs, manual pages."""
        out = run(self.prefix / "bin/weft", "docs", "coverage")
        self.assertIn("Fortran", out)
        self.assertIn(str(self.prefix), run(self.prefix / "bin/weft", "docs"))
        pages = self.prefix / "share/man"
        if not (BUILD / "share/man").exists():
            self.skipTest("this build makes no manual pages (a sanitizer's)")
        for name in ("man1/mpiexec.1", "man1/mpirun.1", "man1/mpicc.1", "man1/mpicxx.1", "man1/weft.1", "man7/weft-params.7"):
            self.assertTrue((pages / name).exists(), name)
            self.assertNotIn(str(BUILD), (pages / name).read_text())
        if shutil.which("man"):
            for name, word in (("mpiexec", "--ranks HOW"), ("mpirun", "EXIT STATUS"), ("mpicxx", "-showme:compile"), ("weft-params", "WEFT_STATS")):
                self.assertIn(word, run("man", "-M", pages, "-P", "cat", name).replace("\b", ""), name)

    def test_no_installed_file_names_the_build_tree(self):
        for path in self.prefix.rglob("*"):
            if path.is_file() and path.suffix in ("", ".pc", ".h", ".py") and \
                    not path.read_bytes().startswith(b"\x7fELF"):
                self.assertNotIn(str(BUILD), path.read_text(), path)

    def test_wrappers_compile_and_programs_run(self):
        for wrapper, source in (("mpicc", "user.c"), ("mpicxx", "user.cc"), ("mpic++", "user.cc")):
            program = self.folder / f"by-{wrapper}"
            run(self.prefix / "bin" / wrapper, "-O1", self.folder / source, "-o", program)
            self.try_program(program)

    def test_wrapper_compiles_and_links_in_two_steps(self):
        run(self.prefix / "bin/mpicc", "-c", "user.c", "-o", "user.o", cwd=self.folder)
        run(self.prefix / "bin/mpicc", "user.o", "-o", "two", cwd=self.folder)
        self.try_program(self.folder / "two")

    def test_wrapper_through_a_link(self):
        (self.folder / "cc").symlink_to(self.prefix / "bin/mpicc")
        self.assertIn(str(self.prefix), run(self.folder / "cc", "-showme:link"))

    def test_wrapper_answers_questions(self):
        mpicc = self.prefix / "bin/mpicc"
        self.assertIn("-lmpi_abi", run(mpicc, "-show"))
        self.assertNotIn("-lmpi_abi", run(mpicc, "-show", "-c", "x.c"))
        self.assertTrue(run(mpicc, "-cc=other", "-show").startswith("other "))
        self.assertEqual(words_of(run(mpicc, "-showme:incdirs")), [str(self.prefix / "include")])
        self.assertEqual(words_of(run(mpicc, "-showme:libdirs")), [str(self.prefix / LIBDIR)])
        self.assertIn("weft", run(mpicc, "-showme:version"))
        self.assertIn("usage:", run(mpicc, "-help"))
        self.assertEqual(run(mpicc, "-dumpversion"), run(run(mpicc, "-showme:command").strip(),
                                                         "-dumpversion"))
        with self.assertRaises(AssertionError):
            run(mpicc, "-showme:nonsense")

    def test_what_the_wrapper_shows_can_be_run(self):
        """A shell reads back the words, whatever the prefix and the user's words are made of."""
        strange = self.folder / "odd $name's `\"q\" \\ %s"
        shutil.copytree(self.prefix, strange, symlinks=True)
        source = strange / "a b.c"
        source.write_text(PROGRAM.replace("rank %d", "%s rank %d").replace('\\n", rank', '\\n", TEXT, rank'))
        for prefix in (self.prefix, strange):
            mpicc = prefix / "bin/mpicc"
            words = ["-O1", '-DTEXT="$a b"', source, "-o", self.folder / "shown one"]
            shown = run(mpicc, "-show", *words)
            run("sh", "-c", shown)
            self.assertEqual(run(self.folder / "shown one"), "$a b rank 0 of 1\n")
            for ask in ("compile", "link"):
                shown = words_of(run(mpicc, f"-showme:{ask}"))
                self.assertIn({"compile": f"-I{prefix}/include", "link": f"-L{prefix}/{LIBDIR}"}[ask], shown)
            run("sh", "-c", f"{run(mpicc, '-compile_info').strip()} -c user.c -o user.o", cwd=self.folder)
            compiler, *flags = words_of(run(mpicc, "-link_info"))
            run(compiler, "user.o", *flags, "-o", "linked", cwd=self.folder)
            self.assertIn(f"-rpath,{prefix}/{LIBDIR}", " ".join(words_of(run(mpicc, "-show"))))
        # What needs no quotes has none.
        self.assertNotIn('"', run(mpicc, "-show", "-O2", "x.c", "-o", "x").split("-I")[0])

    def test_cmake_finds_it(self):
        project = self.folder / "project"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(CMAKE_PROJECT)
        for name in ("user.c", "user.cc"):
            shutil.copy(self.folder / name, project / name)
        plain = self.folder / "plain"
        shutil.copytree(self.prefix, plain, symlinks=True)
        for prefix in (plain, self.prefix):  # the second has a blank
            build = project / prefix.name
            out = run("cmake", "-S", project, "-B", build,
                      f"-DMPI_C_COMPILER={prefix}/bin/mpicc", f"-DMPI_CXX_COMPILER={prefix}/bin/mpicxx")
            self.assertIn("version 5.0", out)
            run("cmake", "--build", build)
            for name in ("user_c", "user_cxx"):
                self.try_program(build / name)

    @unittest.skipUnless(HAS_FORTRAN, "no gfortran, or a sanitizer's build")
    def test_fortran(self):
        """mpifort in both steps, all interfaces for CMake, modules for a compiler that weft's build did not know."""
        (self.folder / "user.f90").write_text(FORTRAN_PROGRAM)
        mpifort = self.prefix / "bin/mpifort"
        run(mpifort, "-c", "user.f90", "-o", "user_f.o", cwd=self.folder)
        run(mpifort, "user_f.o", "-o", "user_f", cwd=self.folder)
        self.try_program(self.folder / "user_f")
        self.assertIn("-lmpifort_abi -lmpi_abi", run(mpifort, "-showme:link"))
        run("env", f"XDG_CACHE_HOME={self.folder}/cache8", mpifort, "-fdefault-integer-8", "user.f90", "-o", "user_f8", cwd=self.folder)
        self.try_program(self.folder / "user_f8")
        self.assertIn("libmpifort_abi_i8", run("ldd", self.folder / "user_f8"))
        self.assertIn("-lmpifort_abi_i8 -lmpi_abi", run(mpifort, "-i8", "-showme:link"))
        with self.assertRaisesRegex(AssertionError, "use -fdefault-integer-8"):
            run(mpifort, "-finteger-4-integer-8", "-c", "user.f90", cwd=self.folder)
        project = self.folder / "fortran"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(FORTRAN_PROJECT)
        (project / "user.f90").write_text(FORTRAN_PROGRAM)
        out = run("cmake", "-S", project, "-B", project / "build", f"-DMPI_Fortran_COMPILER={mpifort}")
        self.assertIn("has TRUE TRUE TRUE", out)
        run("cmake", "--build", project / "build")
        self.try_program(project / "build/user")
        compiler = self.folder / "another"
        compiler.write_text('#!/bin/sh\n[ "$1" != --version ] || { echo Another 1.0; exit; }\nexec gfortran "$@"\n')
        compiler.chmod(0o755)
        cache = self.folder / "cache"
        run("env", f"XDG_CACHE_HOME={cache}", mpifort, f"-fc={compiler}", "user.f90", "-o", "by another", cwd=self.folder)
        self.try_program(self.folder / "by another")
        self.assertEqual(len(list(cache.glob("weft/mpifort/Another-1.0-*/mpi_f08.mod"))), 1)

    @unittest.skipUnless(HAS_FORTRAN, "no gfortran, or a sanitizer's build")
    def test_fortran_compilers_that_are_not_here(self):
        """Stand-ins: one too old for mpi_f08, and one that says -i8 for default integers of 8 bytes."""
        (self.folder / "old.f90").write_text(FORTRAN_PROGRAM.replace("use mpi_f08", "use mpi"))
        stand_in = '#!/bin/sh\n[ "$1" != --version ] || { echo NAME 1.0; exit; }\n'
        old, eight = self.folder / "old fortran", self.folder / "nvfortran"
        old.write_text(stand_in + 'case " $* " in *mpi_f08*) echo "syntax error" >&2; exit 1 ;; esac\nexec gfortran "$@"\n')
        eight.write_text(stand_in.replace("NAME", "nvfortran") +
                         'for word; do shift; [ "$word" != -i8 ] || word=-fdefault-integer-8; set -- "$@" "$word"; done\nexec gfortran "$@"\n')
        old = old.rename(self.folder / "oldfortran")
        for path in (old, eight):
            path.chmod(0o755)
        weft, cache = self.prefix / "bin/weft", f"XDG_CACHE_HOME={self.folder}/stand-ins"
        done = subprocess.run(["env", cache, weft, "fortran", "--compiler", old], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cannot compile the module mpi_f08, which needs TS 29113", done.stderr)
        self.assertTrue(Path(done.stdout.strip(), "mpi.mod").exists())
        self.assertFalse(Path(done.stdout.strip(), "mpi_f08.mod").exists())
        folder = run("env", cache, weft, "fortran", "--compiler", eight, "--integer-8").strip()
        self.assertTrue(Path(folder, "mpi_f08.mod").exists())
        self.assertTrue(folder.endswith("-i8"), folder)
        (self.folder / "size.f90").write_text(INTEGER_SIZE)
        run("env", cache, f"WEFT_FC={eight}", self.prefix / "bin/mpifort", "-i8", "size.f90", "-o", "size8", cwd=self.folder)
        self.assertEqual(run(self.folder / "size8").split(), ["8", "8", "8"])
        folder = run("env", cache, weft, "fortran", "--compiler", "gfortran", "--integer-8").strip()
        self.assertTrue(Path(folder, "mpi_f08.mod").exists())
        done = subprocess.run([weft, "fortran", "--compiler", "no-such"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("there is no Fortran compiler 'no-such'", done.stderr)

    def test_pkg_config(self):
        env = f"PKG_CONFIG_PATH={self.prefix}/{LIBDIR}/pkgconfig"
        self.assertEqual(run("env", env, "pkg-config", "--modversion", "mpi").strip(), "5.0")
        self.assertIn("-lmpifort_abi -lmpi_abi", run("env", env, "pkg-config", "--libs", "mpi-fort"))
        flags = run("env", env, "pkg-config", "--cflags", "--libs", "weft")
        self.assertIn("-lmpi_abi", flags)
        run("sh", "-c", f"cc user.c -o 'by pkg-config' {flags}", cwd=self.folder)
        self.try_program(self.folder / "by pkg-config")


if __name__ == "__main__":
    unittest.main(verbosity=2)
