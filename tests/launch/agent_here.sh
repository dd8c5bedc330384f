#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A launch agent for tests: HOST COMMAND... runs the command on this machine, whatever the host is
# called; but nobody reaches a host named "off", and "deaf" never answers.
case $1 in
  off) echo "agent_here: no route to host off" >&2; exit 255 ;;
  deaf) exec sleep 1000 ;;
esac
export HOSTNAME="$1"  # an agent keeps it
shift
exec "$@"
