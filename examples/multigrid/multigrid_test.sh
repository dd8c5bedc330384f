#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# multigrid_test.sh <build folder>: the residual must fall in every cycle, and the answer must be the same to the last
# bit for any number of ranks and threads, as processes and as threads.
set -euo pipefail
build=$1

multigrid() {  # <mode> <ranks> <threads> <options...>
  OMP_NUM_THREADS=$3 OMP_WAIT_POLICY=passive "$build/bin/mpiexec" --ranks="$1" -n "$2" "$build/examples/multigrid" "${@:4}"
}

line=$(multigrid process 1 1 -n 32 -c 6)
[[ $line =~ "checksum "([0-9a-f]{16})": ok"$ ]] || { echo "one rank: $line"; exit 1; }
expected=${BASH_REMATCH[1]}
failed=0
for ranks in 1 2 3 4 6 8; do
  for threads in 1 2; do
    for mode in process thread; do
      line=$(multigrid $mode $ranks $threads -n 32 -c 6) || { echo "$mode $ranks x $threads: exit $?"; failed=1; }
      [[ $line == *"checksum $expected: ok" ]] || { echo "$mode $ranks x $threads: $line, expected $expected"; failed=1; }
    done
  done
done
if line=$(multigrid process 2 1 -n 32 -c 6 -m 0.01); then
  echo "a residual that falls too slowly was not found: $line"
  failed=1
fi
if multigrid process 1 1 -n 33 2> /dev/null; then
  echo "a grid that cannot be halved was taken"
  failed=1
fi
exit $failed
