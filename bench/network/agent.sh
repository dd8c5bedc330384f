#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Stands in for ssh where other libraries want it: [options] HOST COMMAND..., by the launch agent in BENCH_AGENT.
while [ "${1#-}" != "$1" ]; do shift; done
exec $BENCH_AGENT "$@"
