#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# stencil_test.sh <build folder>: the result is that of one rank, bit by bit, for any number of ranks
# and whoever copies the rows, as processes and as threads.
set -euo pipefail
build=$1
failed=0
for ranks in 1 2 3 8; do
  for mode in process thread; do
    for variant in no-kt kt-w skt; do
      text=$("$build/bin/mpiexec" --ranks=$mode -n $ranks "$build/examples/stencil" --size 37 --steps 50 --check $variant) ||
        { echo "$mode $ranks $variant: exit $?"; failed=1; }
      [[ $text == *"stencil: 0 of 1369 points differ from one rank's"* ]] ||
        { echo "$mode $ranks $variant: $text"; failed=1; }
    done
  done
done
exit $failed
