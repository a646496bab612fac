#!/usr/bin/env bash
# An ordinary user runs xbond on null, ring and capture ports: without root, capabilities or hugepages.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
run_as=(setpriv --reuid nobody --regid nogroup --clear-groups --inh-caps=-all --bounding-set=-all
  env HOME=/nonexistent)
"${run_as[@]}" true 2>/dev/null || skip "can't become the user nobody (run as root)"
[[ -x $xbond ]] || fail "no xbond at $xbond"

# The checkout may lie where nobody can't read: nobody gets copies.
cp "$xbond" xbond
cp "$objects/xdp_tx.o" .
"$tools/pcap.py" frames in.pcap 100
chmod a+rwx . && chmod a+r ./*
xbond=./xbond

step "given the user nobody, a bond of a ring and a null port, and a capture port with a program of its own"
start_xbond --vdev=net_ring0 --vdev=net_null0 --vdev=net_pcap0,rx_pcap=in.pcap,tx_pcap=out.pcap \
  -- --bond bond0,mode=balance-rr,member=net_ring0,member=net_null0 --port net_pcap0 --xdp net_pcap0=xdp_tx.o --auto-start
same "its user" "$(stat -c %U "/proc/$xbond_pid")" nobody

step "then all frames of the capture come back, and the bond and the null port's traffic are shown"
counter() { console show stats json | json "next(p['$2'] for p in d['ports'] if p['name'] == '$1')"; }
all_back() { (($(counter net_pcap0 tx) == 100)); }
polled() { (($(counter net_null0 rx) > 1000)); }
wait_for 10 "100 frames sent" all_back
wait_for 10 "frames from the null port" polled
matches "show bond" "$(console show bond)" "Slave Interface: net_ring0"$'\n'"MII Status: up"
matches "why there is no tap" "$(<xbond.log)" "bond0.*(not permitted|CAP_NET_ADMIN|root)"

step "then stop and quit end it cleanly"
same "answer to stop" "$(console stop)" stopped
stop_xbond
same "frames in the capture" "$("$tools/pcap.py" count out.pcap)" 100
