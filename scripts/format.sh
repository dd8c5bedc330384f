#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# format.sh [--check]: format all hand-written C and C++ files, or say which are not formatted.
# Exits 77 ("skipped", for ctest) when clang-format 16 is not there: other versions differ.
set -euo pipefail
cd "$(dirname "$0")/.."
tool=${CLANG_FORMAT:-clang-format-16}
if ! command -v "$tool" >/dev/null; then
  echo "skipped: $tool is not installed (apt-get install clang-format-16)"
  exit 77
fi
options=(-i)
[ "${1:-}" = --check ] && options=(--dry-run --Werror)
find src fortran launch tools tests bench examples include/weft -type f \
  \( -name '*.cc' -o -name '*.h' -o -name '*.c' \) -not -path '*/gen/*' -print0 2>/dev/null |
  xargs -0 -r -P "$(nproc)" -n 16 "$tool" "${options[@]}"
