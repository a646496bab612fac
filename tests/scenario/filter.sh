#!/usr/bin/env bash
# A program from a distribution package does its job on the bond: xdp-filter drops one UDP port, which is set in its map
# from the console, and lets everything else pass.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
need ping ethtool python3
object=$distribution_objects/xdpfilt_alw_udp.o
[[ -f $object ]] || skip "package libxdp1 (xdp-filter's objects) is not installed"

step "given bond0 in active-backup with xdp-filter's UDP program (allow what its map does not name), a host behind it with two UDP services"
two_members
start_bond "mode=active-backup" --xdp "bond0=$object"
"$tools/flow.py" echo 5001 &
"$tools/flow.py" echo 5002 &
answers() { on peer "$tools/flow.py" ping-udp 10.1.1.1 "$1"; }
wait_for 10 "service 5001" answers 5001
wait_for 10 "service 5002" answers 5002

step "when port 5001 is denied as a destination in the map filter_ports"
# xdp-filter's layout: the key is the port in network order; of the value, bit 1 says destination, bit 3 UDP, and the
# bits from 6 on count hits. The map is per CPU: a value given once is set for all.
console bpf map update bond0:filter_ports key hex 13 89 00 00 value hex 0a 00 00 00 00 00 00 00

step "then 5001 is silent, 5002 answers and ping goes through"
! answers 5001 || fail "port 5001 still answers"
answers 5002 || fail "port 5002 does not answer"
on peer ping -c 3 -i 0.1 -W 1 10.1.1.1 >/dev/null || fail "ping"

step "then the appliance's counters and the program's own agree"
console show xdp
# sum MAP KEY: over the CPUs, of the first 64-bit word of the value
sum() {
  console bpf map dump "bond0:$1" nonzero json |
    json "sum(int.from_bytes(bytes.fromhex(v['value'])[:8], 'little') for e in d if e['key'] == '$2' for v in e['values'])"
}
same "frames dropped, by show stats" "$(console show stats json | json "sum(p['drops']['xdp_drop'] for p in d['ports'])")" 3
same "frames dropped, by show xdp" "$(console show xdp json | json "d[0]['verdicts']['drop']")" 3
same "frames dropped, by the program (XDP_DROP is 1)" "$(sum xdp_stats_map 01000000)" 3
same "hits of the port, by the program" "$(($(sum filter_ports 13890000) >> 6))" 3

step "when the entry is set to nothing, the port answers again"
console bpf map update bond0:filter_ports key hex 13 89 00 00 value hex 00 00 00 00 00 00 00 00
answers 5001 || fail "port 5001 does not answer"
stop_xbond
