#!/usr/bin/env bash
# LACP with a partner that others wrote: lacp.sh testpmd|ovs|linux (tests/scenario/peers). Both sides converge, traffic
# takes both members both ways, and a link that is cut, by carrier or by silence, costs nothing but the time to notice.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
need ping ethtool python3

# serve_on HOST: a kernel host that lives on when the partner dies answers all the time
server=
serve_on() {
  [[ -z $server ]] || return 0
  exec_on "$1" "$tools/flow.py" echo 7777 & server=$!
}
peer_can_be_passive=false peer_sees_carrier=false # the partner's file says it
# shellcheck source=/dev/null
source "$tools/peers/$1.sh"

# --- what is asked of xbond

# shellcheck source=tests/scenario/peers/words.sh
source "$tools/peers/words.sh"
distributing() { lacp "' '.join(m['name'][-1] for m in d[0]['members'] if m['distributing'])"; }
distributing_are() { [[ $(distributing) == "$1" ]]; }
frames() { console show stats json | json "' '.join(str(p['$1']) for p in d['ports'])"; }

# within SECONDS WHAT COMMAND...: waits for it and tells how long it took
within() {
  local from
  from=$(now_ns)
  wait_for "$@"
  note "$2: $((($(now_ns) - from) / 1000000)) ms"
}

start() {
  start_bond_only "$1"
  ip link set bond0 up
  ip address add 10.1.1.1/24 dev bond0
}
start_bond_only() {
  start_xbond --vdev=net_af_packet0,iface=port0 --vdev=net_af_packet1,iface=port1 -- \
    --bond "bond0,mode=802.3ad,lacp_rate=fast,xmit_hash_policy=layer3+4,miimon=100$1,member=net_af_packet0,member=net_af_packet1" \
    --auto-start
}

# answered: 64 flows ask, and each is answered
answered() {
  local got
  got=$("$tools/flow.py" ask-many 10.1.1.2 7777 64)
  same "flows answered" "$got" 64
}
grew() { python3 -c 'import sys
before, after = (list(map(int, a.split())) for a in sys.argv[1:3])
print(" ".join("yes" if b > a + 5 else "no" for a, b in zip(before, after)))' "$1" "$2"; }

# --- the story

step "given a partner that is active"
peer_links
peer_start active

step "then both members converge"
start ""
within 40 "both members in use" in_use_are "0 1"
peer_serve
wait_for 20 "the partner's host answers" "$tools/flow.py" ping-udp 10.1.1.2 7777
console show lacp json | "$tools/schema.py" "$top/tests/data/schema/show_lacp.json" || fail "show lacp json"
same "one aggregator" "$(lacp "sum(a['ports'] for a in d[0]['aggregators'] if a['active'])")" 2

step "and traffic takes both, both ways"
tx=$(frames tx) rx=$(frames rx)
answered
same "members that sent" "$(grew "$tx" "$(frames tx)")" "yes yes"
same "members that received" "$(grew "$rx" "$(frames rx)")" "yes yes"

step "and the host's ARP leaves by one member, or by each with broadcast_neighbor"
# ask_around LAST...: the host looks for addresses that nobody has
ask_around() {
  local last asking=()
  for last; do ping -c 1 -W 1 "10.1.1.$last" >/dev/null & asking+=($!); done
  wait "${asking[@]}" || true
}
tx=$(frames tx)
ask_around {100..119}
matches "members that sent" "$(grew "$tx" "$(frames tx)")" "^(yes no|no yes)$"
console set bond bond0 broadcast_neighbor on
tx=$(frames tx)
ask_around {120..139}
same "members that sent" "$(grew "$tx" "$(frames tx)")" "yes yes"
console set bond bond0 broadcast_neighbor off

step "when a link is cut by carrier, the other one takes all"
peer_carrier 0 down
within 10 "one member" distributing_are 1
tx=$(frames tx)
if $peer_sees_carrier; then
  wait_for 10 "the partner's host answers" "$tools/flow.py" ping-udp 10.1.1.2 7777
  answered
else
  "$tools/flow.py" ask-many 10.1.1.2 7777 64 >/dev/null
fi
same "members that sent" "$(grew "$tx" "$(frames tx)")" "no yes"
peer_carrier 0 up
within 40 "both members in use again" in_use_are "0 1"
answered

step "when a link falls silent, likewise"
ip link set port0 xdp object "$objects/xdp_drop.o" section xdp
within 10 "one member" distributing_are 1
wait_for 10 "the partner's host answers" "$tools/flow.py" ping-udp 10.1.1.2 7777
answered
ip link set port0 xdp off
within 40 "both members in use again" in_use_are "0 1"
answered

step "when forwarding is stopped for 4 s, longer than the partner waits, no member is lost"
before=$(flaps)
console stop
sleep 4
same "members in use" "$(in_use)" "0 1"
console start
same "moves of the mux machines" "$(flaps)" "$before"
answered

step "when a program drops everything, the link stays"
console xdp attach bond0 "$objects/xdp_drop.o"
sleep 4
same "members in use" "$(in_use)" "0 1"
console xdp detach bond0
answered

step "when the partner dies and comes back"
peer_stop
# Without a partner one port may stay, as a link without LACP: what it heard last is gone, though.
within 15 "no partner" in_use_are ""
peer_start active
within 60 "both members in use again" in_use_are "0 1"
peer_serve
wait_for 20 "the partner's host answers" "$tools/flow.py" ping-udp 10.1.1.2 7777
answered

step "when we end and come back"
stop_xbond
start ""
within 40 "both members in use again" in_use_are "0 1"
wait_for 10 "the partner's host answers" "$tools/flow.py" ping-udp 10.1.1.2 7777
answered
stop_xbond

step "when we are passive"
start ",lacp_active=off"
within 60 "both members in use" in_use_are "0 1"
wait_for 10 "the partner's host answers" "$tools/flow.py" ping-udp 10.1.1.2 7777
answered
stop_xbond

$peer_can_be_passive || exit 0
step "when the partner is passive"
peer_stop
peer_start passive
start ""
within 60 "both members in use" in_use_are "0 1"
peer_serve
wait_for 20 "the partner's host answers" "$tools/flow.py" ping-udp 10.1.1.2 7777
answered
stop_xbond
