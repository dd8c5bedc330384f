#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# demo.sh <build folder>: one program, two ways to run it. The same binary computes the same field
# with 4 ranks as processes and with 4 ranks as threads of one process; the results must agree to
# the last bit.
set -euo pipefail
build=$1
ranks=4
cd "$(dirname "$0")/.."

run() {  # <mode>
  echo "\$ $build/bin/mpiexec --ranks=$1 -n $ranks $build/examples/heat -o $build/heat-$1.png"
  "$build/bin/mpiexec" --ranks="$1" -n $ranks "$build/examples/heat" -o "$build/heat-$1.png" |
    tee "$build/heat-$1.txt"
  echo
}

echo "A heat equation on $ranks ranks, with $(nproc) CPUs (examples/heat/heat.c)."
echo
run process
run thread

field() { sed -n 's/^\(checksum .*\)/\1/p' "$build/heat-$1.txt"; }
seconds() { sed -n 's/^time \(.*\)/\1/p' "$build/heat-$1.txt"; }
if [ -n "$(field process)" ] && [ "$(field process)" = "$(field thread)" ] &&
  cmp -s "$build/heat-process.png" "$build/heat-thread.png"; then
  echo "ranks as processes: $(seconds process)"
  echo "ranks as threads:   $(seconds thread)"
  echo "The results agree to the last bit. The picture: $build/heat-thread.png"
else
  echo "The results differ: process $(field process), thread $(field thread)" >&2
  exit 1
fi
