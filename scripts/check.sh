#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# check.sh [--full]: what `make check` does. Every preset is built and tested even when an earlier
# one failed; the closing lines of each come last.
#   release   all tests but those labelled `long` (--full runs these too)
#   asan      unit tests and the tests labelled `smoke`, and what these need, under ASan and UBSan
#   tsan      the same under ThreadSanitizer
# CHECK_SECONDS=n: tests that have not ended by then fail (release has the first 60 % of it, asan 80 %).
set -uo pipefail
cd "$(dirname "$0")/.."
full=0
[ "${1:-}" = --full ] && full=1
summary=()
failed=0
begun=$(date +%s)

step() {  # <preset> <percent of the time by which it must end> <what to build> <ctest options...>
  local preset=$1 target=$3 log="build/check-$1.log" started=$SECONDS status=0 verdict
  local end=$((begun + ${CHECK_SECONDS:-86000} * $2 / 100))
  shift 3
  echo "== $preset: build"
  if ! timeout $((end > $(date +%s) ? end - $(date +%s) : 1)) flock "build/$preset.lock" scripts/build.sh "$preset" --target "$target"; then
    status=1
    verdict="the build failed or took too long"
  else
    [ "$preset" != release ] || build_ahead
    echo "== $preset: test"
    scripts/ctest.sh "$preset" --no-tests=error --stop-time "$(date -d "@$end" +%H:%M:%S)" "$@" \
      2>&1 | tee "$log"
    status=${PIPESTATUS[0]}
    verdict=$(sed -n '/tests passed/,$p' "$log")
  fi
  [ "$status" = 0 ] || failed=1
  summary+=("== $preset ($((SECONDS - started)) s)" "$verdict")
}

# Tests wait for timers and for each other half of their time. Sanitizer builds take that half: at the lowest
# priority, also among sessions (autogroup), because each job of a test is one. Their steps find them built.
build_ahead() {
  setsid nice -n 19 bash -c 'echo 19 2>/dev/null >/proc/self/autogroup
    for preset in asan tsan; do flock "build/$preset.lock" scripts/build.sh "$preset" --target smoke; done' >build/ahead.log 2>&1 &
  local builds=$!
  trap "kill -- -$builds 2>/dev/null" EXIT
}

mkdir -p build
if ((full)); then step release 60 all; else step release 60 all -LE long; fi
step asan 80 smoke -L 'unit|smoke' -LE long
step tsan 100 smoke -L 'unit|smoke' -LE long

echo
printf '%s\n' "${summary[@]}"
if ((failed)); then echo "check: FAILED"; else echo "check: passed"; fi
exit "$failed"
