#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# table_test.sh <build tree>: on one node and on two, ranks as processes and as threads. The program checks its counts
# itself; each run must say so.
set -euo pipefail
build=$1
for mode in process thread; do
  for where in "-n 1" "-n 3" "-n 4 --pretend-nodes=2"; do
    [[ $where == *nodes* && ${FAR_MODES:-process thread} != *$mode* ]] && continue
    # shellcheck disable=SC2086
    out=$("$build/bin/mpiexec" --ranks=$mode $where "$build/examples/table" -w 400 -v 80 </dev/null)
    grep -q "^table: . ranks x .*: ok$" <<<"$out" || { echo "wrong: --ranks=$mode $where: $out"; exit 1; }
    echo "$mode: $out"
  done
done
