#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# As agent_here.sh; what mpiexec and the agent say to each other is kept in FRAMES_FOLDER.
folder=$FRAMES_FOLDER
host=$1
tee "$folder/$host.down" | "$(dirname "$0")/agent_here.sh" "$@" | tee "$folder/$host.up"
