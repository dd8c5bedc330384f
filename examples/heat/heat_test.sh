#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# heat_test.sh <build folder>: the field must be the same to the last bit for any number of ranks, as
# processes and as threads, and so must the picture.
set -euo pipefail
build=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

heat() {  # <mode> <ranks> [mpiexec's and heat's further options]: its line with the checksum
  # shellcheck disable=SC2086
  "$build/bin/mpiexec" --ranks="$1" -n "$2" ${3:-} "$build/examples/heat" -q -n 61 -s 103 \
    -o "$folder/$1-$2.png" ${4:-}
}

expected=$(heat process 1)
[[ $expected == "checksum "* ]] || { echo "one rank printed: $expected"; exit 1; }
failed=0
for ranks in 1 2 3 4 6 8; do
  for mode in process thread; do
    line=$(heat $mode $ranks) || { echo "$mode $ranks: exit $?"; failed=1; continue; }
    [ "$line" = "$expected" ] || { echo "$mode $ranks: $line, expected $expected"; failed=1; }
    cmp "$folder/process-1.png" "$folder/$mode-$ranks.png" || failed=1
  done
done
# One-sided: the same bits, on one node and on two.
for ranks in 1 4 6; do
  for mode in process thread; do
    for nodes in "" --pretend-nodes=2; do
      [ "$ranks$nodes" = 1--pretend-nodes=2 ] && continue
      [ -n "$nodes" ] && [[ ${FAR_MODES:-process thread} != *$mode* ]] && continue
      line=$(heat $mode $ranks "$nodes" -w) || { echo "$mode $ranks $nodes -w: exit $?"; failed=1; continue; }
      [ "$line" = "$expected" ] || { echo "$mode $ranks $nodes -w: $line, expected $expected"; failed=1; }
    done
  done
done
exit $failed
