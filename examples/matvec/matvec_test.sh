#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# matvec_test.sh <build folder>: every iteration checks itself, and the result must be the same for
# any number of ranks and any way to sum, as processes and as threads.
set -euo pipefail
build=$1

matvec() {  # <mode> <ranks> <way>: its line with the checksum
  "$build/bin/mpiexec" --ranks="$1" -n "$2" "$build/examples/matvec" -q -n 301 -i 20 -c "$3"
}

expected=$(matvec process 1 reduce)
[[ $expected == "checksum "*", 0 of 20 iterations wrong" ]] || { echo "one rank: $expected"; exit 1; }
failed=0
for ranks in 2 3 4 8; do
  for mode in process thread; do
    for way in reduce reduce_scatter allreduce; do
      line=$(matvec $mode $ranks $way) || { echo "$mode $ranks $way: exit $?"; failed=1; }
      [ "$line" = "$expected" ] || { echo "$mode $ranks $way: $line, expected $expected"; failed=1; }
    done
  done
done
if "$build/bin/mpiexec" -n 2 "$build/examples/matvec" -c nonsense 2> /dev/null; then
  echo "a way that does not exist was taken"
  failed=1
fi
exit $failed
