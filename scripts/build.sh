#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# build.sh <preset> [cmake --build options]: configure (first time only) and build. CMake itself runs again when needed.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true
[ -f "build/$preset/build.ninja" ] || cmake --preset "$preset" >"/dev/null"
cmake --build --preset "$preset" -j "${JOBS:-$(nproc)}" "$@"
