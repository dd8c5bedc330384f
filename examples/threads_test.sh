#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# threads_test.sh <build tree> <hpccg|bfs>: with blocking and nonblocking calls (bfs: and one-sided ones), ranks as processes and as threads. The
# programs check their results themselves; each run must say so.
set -euo pipefail
build=$1 name=$2
small="-n 9" ways=("-t 1" "-t 4" "-t 4 -b")
[ "$name" = hpccg ] || small="-s 9 -r 2" ways+=("-t 1 -o" "-t 4 -o")
for mode in process thread; do
  for ranks in 1 2 3; do
    for threads in "${ways[@]}"; do
      # shellcheck disable=SC2086
      out=$("$build/bin/mpiexec" --ranks=$mode -n $ranks "$build/examples/$name" $small $threads </dev/null)
      if ! grep -q "^$name: $ranks ranks x .*: ok$" <<<"$out" || grep -q WRONG <<<"$out"; then
        echo "wrong: --ranks=$mode -n $ranks $name $small $threads: $out"
        exit 1
      fi
      echo "$mode: $out"
    done
  done
done
