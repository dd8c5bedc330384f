#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# heat_f08_test.sh <build folder>: the Fortran program gives the bits of the C program, for any number of ranks, as
# processes and as threads.
set -euo pipefail
build=$1

words() {  # <mode> <ranks> <program>: checksum, and the residual in one form of writing
  "$build/bin/mpiexec" --ranks="$1" -n "$2" "$build/examples/$3" -q -n 61 -s 103 | awk '{ printf "%s %.17g\n", $2, $4 }'
}

expected=$(words process 1 heat)
[[ $expected =~ ^[0-9a-f]{16}\ 0\. ]] || { echo "heat printed: $expected"; exit 1; }
failed=0
for ranks in 1 2 3 4 6 8; do
  for mode in process thread; do
    line=$(words $mode $ranks heat_f08) || { echo "$mode $ranks: exit $?"; failed=1; continue; }
    [ "$line" = "$expected" ] || { echo "$mode $ranks: $line, expected $expected"; failed=1; }
  done
done
exit $failed
