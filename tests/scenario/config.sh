#!/usr/bin/env bash
# Options may come from files: --config holds the command line's options, one a line, --cmdline-file console commands.
# --check says whether all of it is good and runs nothing.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
[[ -x $xbond ]] || fail "no xbond at $xbond"
cp "$objects/xdp_count.o" .

cat >xbond.conf <<'EOF'
# two rings as one link
bond = bond0,mode=balance-xor,xmit_hash_policy=layer3+4,member=net_ring0,member=net_ring1
xdp = bond0=xdp_count.o
EOF
cat >start.commands <<'EOF'
# the first thing an operator looks at
set bond bond0 xmit_hash_policy layer2+3
bpf map update bond0:counts key u32 3 value u64 77
start
EOF
rings=(--vdev=net_ring0 --vdev=net_ring1)

step "given a configuration that is good, --check says so and makes nothing"
"$xbond" "${rings[@]}" -- --config xbond.conf --check </dev/null >out 2>&1 || fail "--check: $(cat out)"
! ip link show bond0 2>/dev/null || fail "--check left a tap"

step "given one that is not, it says where and why, with status 1"
sed 's/balance-xor/balance-foo/' xbond.conf >bad.conf
status=0
"$xbond" "${rings[@]}" -- --config bad.conf --check </dev/null >out 2>&1 || status=$?
same "exit status" "$status" 1
same "lines of complaint ($(cat out))" "$(wc -l <out)" 1
matches "complaint" "$(cat out)" "balance-foo"
printf 'bond = bond0,member=net_ring0\nno-such-option = 1\n' >bad.conf
status=0
"$xbond" "${rings[@]}" -- --config bad.conf --check </dev/null >out 2>&1 || status=$?
same "exit status" "$status" 1
matches "complaint" "$(cat out)" "no-such-option"

step "when it runs with configuration and start commands"
start_xbond "${rings[@]}" -- --config xbond.conf --cmdline-file start.commands

step "then the bond is as configured, and as the start commands changed it"
matches "show bond" "$(console show bond bond0)" "Transmit Hash Policy: layer2\+3"
matches "show xdp" "$(console show xdp bond0)" "xdp_count"
matches "map" "$(console bpf map lookup bond0:counts key u32 3)" "4d|77"
same "members" "$(console show bond bond0 json | json "[m['name'] for m in d[0]['members']]")" '["net_ring0", "net_ring1"]'
stop_xbond
