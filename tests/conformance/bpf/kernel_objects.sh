#!/usr/bin/env bash
# The XDP programs of the kernel's self-tests and samples (package linux-source-6.1), built at each instruction set, given
# to a comparison with the running kernel. Skips where the sources are not there.
#
#   kernel_objects.sh VERSIONS TEST-BINARY [ARGUMENT...]     VERSIONS: "v1 v2 v3", or some of them
set -euo pipefail
versions=$1
program=$(realpath "$2") # from here: the work is done elsewhere
shift 2
# shellcheck source=tests/conformance/bpf/kernel_sources.sh
source "$(dirname "$0")/kernel_sources.sh"
tar xf "$archive" -C "$work" "$top/tools/testing/selftests/bpf" "$top/samples/bpf"
cd "$work"
mkdir objects headers
# What the sources include as the kernel's tree has it
ln -s /usr/include headers/uapi
bpftool btf dump file /sys/kernel/btf/vmlinux format c >headers/vmlinux.h 2>/dev/null || rm -f headers/vmlinux.h
progs=$top/tools/testing/selftests/bpf
samples=$top/samples/bpf
machine=$(uname -m)

# build VERSION SOURCE: samples that use their common part are linked with it
build() {
  local name=${2##*/}
  name=${name%.c}
  local object=objects/${name%.bpf}.$1.o
  compile "$1" "$2" "$object" || return 0
  if grep -q '"xdp_sample.bpf.h"' "$2"; then
    mv "$object" "$object.part"
    bpftool gen object "$object" "$object.part" "sample.$1.o" 2>/dev/null || rm -f "$object"
    rm "$object.part"
  fi
}
compile() {
  clang -O2 -g -target bpf "-mcpu=$1" "-D__${machine}__" -D__TARGET_ARCH_x86 -Iheaders "-I$progs" "-I$progs/progs" \
    "-I$samples" -idirafter "/usr/include/$machine-linux-gnu" -Wno-everything -c "$2" -o "$3" 2>/dev/null
}
export -f build compile
export progs samples machine
mapfile -t wanted < <(grep -lE 'SEC\("\??xdp' "$progs"/progs/*.c "$samples"/*_kern.c "$samples"/*.bpf.c)
for version in $versions; do
  compile "$version" "$samples/xdp_sample.bpf.c" "sample.$version.o" || true
done
for version in $versions; do printf '%s\0' "${wanted[@]}" | sed "s/[^\x00]\+/$version\x00&/g"; done |
  xargs -0 -n 2 -P 2 bash -c 'build "$@"' build
built=(objects/*.o)
echo "sources with XDP programs: ${#wanted[@]}; objects built of them, at $versions: ${#built[@]}"
"$program" "$@" objects
