#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# ctest.sh <preset> [ctest options]: run the tests of one build. Sanitizer builds get the options
# that make a finding fatal; TSan additionally needs address space randomisation as it used to be.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=${1:-release}
shift || true
run=(ctest --preset "$preset" -j "${JOBS:-$(nproc)}" --timeout 120 "$@")
case $preset in
  asan)
    export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1}
    export LSAN_OPTIONS=${LSAN_OPTIONS:-suppressions=$PWD/tests/leaks.txt:print_suppressions=0}
    export UBSAN_OPTIONS=${UBSAN_OPTIONS:-halt_on_error=1:print_stacktrace=1}
    ;;
  tsan)
    export TSAN_OPTIONS=${TSAN_OPTIONS:-halt_on_error=1:second_deadlock_stack=1}
    # gcc 12's TSan cannot place its shadow under vm.mmap_rnd_bits > 28.
    if setarch -R true 2>/dev/null; then run=(setarch -R "${run[@]}"); fi
    ;;
esac
exec "${run[@]}"
