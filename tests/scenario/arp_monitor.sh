#!/usr/bin/env bash
# ARP monitoring: a path that is dead behind a living cable is found by its silence.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
need ping ethtool python3

blocked() { on peer bridge link set dev "$1" state 0; } # the cable keeps its carrier
open() { on peer bridge link set dev "$1" state 3; }
failures() { console show bond bond0 json | json "[m['failures'] for m in d[0]['members']]"; }

step "given bond0 in active-backup with arp_interval 100, arp_validate all and the peer as target"
two_members
# Members hear each other here: a backup is judged by the active one's requests.
on peer bridge link set dev end0 isolated off
on peer bridge link set dev end1 isolated off
start_bond "mode=active-backup,arp_interval=100,arp_ip_target=10.1.1.2,arp_validate=all,primary=net_af_packet0"
matches "show bond" "$(console show bond bond0)" "ARP IP target/s \(n.n.n.n form\): 10.1.1.2"
wait_for 5 "the primary" active_is net_af_packet0
sleep 1
same "failures while all is well" "$(failures)" "[0, 0]"

step "when the switch behind the active member forwards nothing any more"
blocked end0
began=${EPOCHREALTIME/./} # starting a program to ask for the time would take longer than the failover
# (Asking the console takes longer than the failover.)
wait_for 5 "the other one active" grep -q "net_af_packet1): making interface the new active one" xbond.log
took=$(((${EPOCHREALTIME/./} - began) / 1000))
note "after $took ms"
# 350 ms at most by the rules; the rest is for a busy machine.
((took < 1000)) || fail "it took $took ms, with an interval of 100 ms and arp_missed_max 2"
same "the active member" "$(active_member)" net_af_packet1

step "then the host reaches the peer by the other one"
wait_for 3 "the peer answers" ping -c 1 -W 1 10.1.1.2
matches "show bond" "$(console show bond bond0)" "Slave Interface: net_af_packet0"$'\n'"MII Status: down"

step "when it forwards again, then the primary is active again"
open end0
wait_for 5 "the primary" active_is net_af_packet0
ping -c 3 -i 0.05 -W 1 10.1.1.2 >/dev/null || fail "the peer does not answer"

step "when the target is another one that nobody is, then no member is active; and MII monitoring takes over when asked"
console set bond bond0 arp_ip_target 10.1.1.77 >/dev/null
console set bond bond0 arp_ip_target -10.1.1.2 >/dev/null
wait_for 5 "none active" active_is none
console set bond bond0 miimon 100 >/dev/null
wait_for 5 "the primary" active_is net_af_packet0
stop_xbond
