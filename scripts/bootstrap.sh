#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Makes sure that everything needed to build and test weft is there; quick and silent when it is.
# Each line of `wanted` is a Debian package and a probe that succeeds when the package's content is
# there (however it came). As root the missing ones are installed with apt; otherwise the one line
# to run is printed.
set -euo pipefail

header() { printf '#if !__has_include(<%s>)\n#error\n#endif\n' "$1" | ${CXX:-g++} -E -x c++ -; }
has() { command -v "$1" >/dev/null 2>&1; }

wanted=(
  "g++              has g++"
  "cmake            has cmake"
  "ninja-build      has ninja"
  "pkg-config       has pkg-config"
  "python3          has python3"
  "python3-venv     python3 -c 'import venv, ensurepip'"
  "libfabric-dev    header rdma/fabric.h"
  "libhwloc-dev     pkg-config --exists hwloc"
  "libpmix-dev      pkg-config --exists pmix"
  "libcli11-dev     header CLI/CLI.hpp"
  "nlohmann-json3-dev header nlohmann/json.hpp"
  "libgtest-dev     header gtest/gtest.h"
)
# A developer's tools; whoever only runs weft need not have them.
[ -z "${CI:-}" ] || wanted+=("clang-format-16 has clang-format-16" "spin has spin"
  "clang-16 has clang-16" "libomp-16-dev test -e /usr/lib/llvm-16/lib/libomp.so.5")

missing=()
for line in "${wanted[@]}"; do
  read -r package probe <<<"$line"
  eval "$probe" >/dev/null 2>&1 || missing+=("$package")
done

# Without a Fortran compiler all but Fortran's modules is built. One is installed where that asks nobody.
if ! has "${FC:-gfortran}" && ! has gfortran && ! has flang && ! has flang-new && ! has ifx; then
  if has apt-get && [ "$(id -u)" = 0 ]; then
    missing+=(gfortran)
  else
    echo "no Fortran compiler (gfortran, flang, ifx): Fortran's modules are not built, and its tests not run"
  fi
fi

if ((${#missing[@]})); then
  if ! has apt-get; then
    echo "weft needs these (Debian names): ${missing[*]}; install them and try again" >&2
    exit 1
  elif [ "$(id -u)" != 0 ]; then
    echo "weft needs a few packages. Run this once, then try again:" >&2
    echo "  sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  echo "installing: ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  install=(apt-get install -y -qq --no-install-recommends "${missing[@]}")
  log=$(mktemp)
  trap 'rm -f "$log"' EXIT
  # Package lists may be absent (a fresh container) or old: fetch them only when needed.
  "${install[@]}" >"$log" 2>&1 || { apt-get update -qq && "${install[@]}"; } >"$log" 2>&1 || {
    cat "$log" >&2
    echo "apt could not install: ${missing[*]}" >&2
    exit 1
  }
fi

major=$(g++ -dumpversion | cut -d. -f1)
if ((major < 12)); then
  echo "weft needs g++ 12 or newer (C++20); this is g++ $(g++ -dumpfullversion)" >&2
  exit 1
fi
