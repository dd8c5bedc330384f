#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# on_cluster.sh N COMMAND...: runs the command with `--nodes N --agent ...` behind it, on N hosts of scripts/cluster, which
# it makes and ends. 77: there can be none here.
nodes=$1
shift
cluster=$(cd "$(dirname "$0")/../.." && pwd)/scripts/cluster
if ! "$cluster" --name "rank$$" "$nodes" >/dev/null; then
  exit 77
fi
"$@" --nodes "$nodes" --agent "$cluster --name rank$$ exec"
code=$?
"$cluster" --name "rank$$" down
exit $code
