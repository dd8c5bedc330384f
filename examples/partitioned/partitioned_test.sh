#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# partitioned_test.sh <build folder>: every number must arrive, with any number of ranks and threads, in both rank modes
# and between two nodes.
set -euo pipefail
build=$1

failed=0
for words in "-n 1" "-n 2" "-n 3" "-n 2 --pretend-nodes=2"; do
  for threads in 1 4; do
    for mode in process thread; do
      # shellcheck disable=SC2086
      line=$(OMP_NUM_THREADS=$threads OMP_WAIT_POLICY=passive \
        "$build/bin/mpiexec" --ranks=$mode $words "$build/examples/partitioned" -s 5) || { echo "$mode $words: exit $?"; failed=1; }
      [[ $line == *" 0 wrong numbers: ok" ]] || { echo "$mode $words, $threads threads: $line"; failed=1; }
    done
  done
done
if "$build/bin/mpiexec" -n 1 "$build/examples/partitioned" -r 3 2> /dev/null; then
  echo "an odd number of rows was taken"
  failed=1
fi
exit $failed
