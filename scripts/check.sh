#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check.sh [--full]: what `make check` does. Every preset is built and tested even when an earlier
# one failed; the closing lines of each come last.
#   release   all tests but those labelled `long` (--full runs these too)
#   asan      unit tests and the rank tests labelled `smoke`, under ASan and UBSan
#   tsan      the same under ThreadSanitizer
set -uo pipefail
cd "$(dirname "$0")/.."
full=0
[ "${1:-}" = --full ] && full=1
summary=()
failed=0

step() {  # <preset> <ctest options...>
  local preset=$1 log="build/check-$1.log" started=$SECONDS status=0 verdict
  shift
  echo "== $preset: build"
  if scripts/build.sh "$preset"; then
    echo "== $preset: test"
    scripts/ctest.sh "$preset" --no-tests=error "$@" 2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    verdict=$(sed -n '/tests passed/,$p' "$log")
  else
    status=1
    verdict="the build failed"
  fi
  [ "$status" = 0 ] || failed=1
  summary+=("== $preset ($((SECONDS - started)) s)" "$verdict")
}

mkdir -p build
if ((full)); then step release; else step release -LE long; fi
step asan -L 'unit|smoke' -LE long
step tsan -L 'unit|smoke' -LE long

echo
printf '%s\n' "${summary[@]}"
if ((failed)); then echo "check: FAILED"; else echo "check: passed"; fi
exit "$failed"
