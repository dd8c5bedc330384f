#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# barnes_hut_test.sh <build folder>: every step checks its tree, and the last tree must be the same
# for any number of ranks, as processes and as threads.
set -euo pipefail
build=$1

barnes_hut() {  # <mode> <ranks>: its line with the checksum
  "$build/bin/mpiexec" --ranks="$1" -n "$2" "$build/examples/barnes_hut" -q -n 20000 -s 3
}

expected=$(barnes_hut process 1)
[[ $expected =~ ^checksum.*\ ([0-9]+)\ leaves.*,\ 0\ errors$ ]] || { echo "one rank: $expected"; exit 1; }
[ "${BASH_REMATCH[1]}" -gt 500 ] || { echo "hardly a tree: $expected"; exit 1; }
failed=0
for ranks in 2 3 5 8; do
  for mode in process thread; do
    line=$(barnes_hut $mode $ranks) || { echo "$mode $ranks: exit $?"; failed=1; }
    [ "$line" = "$expected" ] || { echo "$mode $ranks: $line, expected $expected"; failed=1; }
  done
done
exit $failed
