#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# farm_test.sh <build folder>: every image is made gray once, whoever copies it, in turn and on
# demand, as processes and as threads, with more ranks than CPUs.
set -euo pipefail
build=$1
failed=0
for ranks in 3 6; do
  for mode in process thread; do
    for variant in in-place no-kt kt-w kt-specialized kt-generalized; do
      for demand in "" --demand; do
        # shellcheck disable=SC2086
        line=$("$build/bin/mpiexec" --ranks=$mode -n $ranks "$build/examples/farm" --images 40 --size 60 $demand $variant) ||
          { echo "$mode $ranks $variant $demand: exit $?"; failed=1; }
        [[ $line == "farm: $variant, $((ranks - 2)) workers, 40 images of 60 x 60: "*" ms each, 0 missing, 0 wrong" ]] ||
          { echo "$mode $ranks $variant $demand: $line"; failed=1; }
      done
    done
  done
done
exit $failed
