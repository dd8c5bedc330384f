#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# fi_pingpong.sh PROVIDER TIMES BYTES...: libfabric's own ping-pong between two processes of this
# machine, one line of its table for each size.
set -euo pipefail
provider=$1 times=$2
shift 2
port=$((20000 + $$ % 20000))
server=
trap '[ -z "$server" ] || kill "$server" 2>/dev/null || true' EXIT
for bytes; do
  fi_pingpong -p "$provider" -e rdm -I "$times" -S "$bytes" -B "$port" >/dev/null 2>&1 &
  server=$!
  for try in 1 2 3 4 5 6 7 8 9 10; do
    sleep 0.1
    if fi_pingpong -p "$provider" -e rdm -I "$times" -S "$bytes" -P "$port" 127.0.0.1; then break; fi
    [ "$try" -lt 10 ] || exit 1
  done
  wait "$server"
  server=
  port=$((port + 1))
done
