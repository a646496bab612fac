#!/usr/bin/env bash
# The kernel's own verifier tests (package linux-source-6.1) through our verifier and the running kernel's. Skips where
# the sources are not there.
#
#   kernel_cases.sh TEST-BINARY
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/conformance/bpf/kernel_sources.sh
source "$here/kernel_sources.sh"
tests=$top/tools/testing/selftests/bpf
tar xf "$archive" -C "$work" "$tests/verifier" "$tests/test_verifier.c" "$tests/test_btf.h" \
  "$top/tools/include/linux/filter.h"
tests=$work/$tests
for file in "$tests"/verifier/*.c; do
  echo "#include \"$file\""
done >"$work/tests.h"
sed -n '/^#define BPF_SK_LOOKUP/,/^static struct bpf_test tests/p' "$tests/test_verifier.c" | sed '$d' >"$work/macros.h"
gcc -w -I"$work" -I"$tests" -include "$work/$top/tools/include/linux/filter.h" "$here/kernel_cases.c" -o "$work/cases"
"$work/cases" >"$work/cases.txt"
"$1" "$work/cases.txt"
