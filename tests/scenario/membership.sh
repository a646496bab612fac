#!/usr/bin/env bash
# Bonds and members at run time: made, joined, left and deleted while traffic flows; what a member was before comes back,
# and what is refused changes nothing.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
need ping ethtool python3

members() { console show bond bond0 json | json "' '.join(m['name'] for m in d[0]['members'])"; }
mac_of() { console show port info "$1" json | json "d[0]['mac']"; }
mtu_of() { console show port info "$1" json | json "d[0]['mtu']"; }
ping_through() {
  local report
  report=$(ping -c 20 -i 0.02 -W 1 10.1.1.2) || fail "ping: $report"
  matches "ping" "$report" "20 packets transmitted, 20 received, 0% packet loss"
}

step "given two ports by themselves, running"
two_members
start_xbond --vdev=net_af_packet0,iface=port0 --vdev=net_af_packet1,iface=port1 \
  -- --port net_af_packet0 --port net_af_packet1 --auto-start
own0=$(mac_of net_af_packet0)
own1=$(mac_of net_af_packet1)
[[ $own0 != "$own1" ]] || fail "the ports have one MAC address"

step "when a bond is made of them"
same "create" "$(console create bond bond0 mode active-backup miimon 50 primary net_af_packet0)" ""
same "members" "$(members)" ""
console add bond member bond0 net_af_packet0 >/dev/null
console port config mtu net_af_packet1 1400 >/dev/null
console add bond member bond0 net_af_packet1 >/dev/null
same "members" "$(members)" "net_af_packet0 net_af_packet1"
same "the bond's option" "$(console show bond bond0 json | json "d[0]['miimon']")" 50

step "then both carry its MAC and MTU, their taps are gone, and the host reaches the peer by the bond's"
same "MAC of the second" "$(mac_of net_af_packet1)" "$own0"
same "MTU of the second" "$(mtu_of net_af_packet1)" 1500
[[ ! -e /sys/class/net/net_af_packet1 ]] || fail "a member's tap is still there"
ip link set bond0 up
ip address add 10.1.1.1/24 dev bond0
wait_for 10 "the peer answers" ping -c 1 -W 1 10.1.1.2
ping_through

step "when changes are refused, then all is as before"
before=$(console show bond bond0 json)
matches "twice" "$(console add bond member bond0 net_af_packet1)" "is a member of bond0 already"
matches "no port" "$(console add bond member bond0 net_af_packet7)" "no bond or port"
matches "bond there" "$(console create bond bond0 mode 0)" "already"
matches "bad option" "$(console create bond bond1 mode 0 miimon x)" "option miimon: invalid value \(x\)"
matches "mode" "$(console set bond bond0 mode balance-rr)" "unable to set option because the bond device has slaves"
same "the bond" "$(console show bond bond0 json)" "$before"
[[ ! -e /sys/class/net/bond1 ]] || fail "a refused bond has a tap"

step "when the active member leaves under traffic, then the other one carries on within 60 ms"
ping -c 100 -i 0.01 -W 1 10.1.1.2 >pings &
pings=$!
sleep 0.3
console remove bond member bond0 net_af_packet0 >/dev/null
wait "$pings" || fail "$(tail -n 3 pings)"
matches "pings" "$(cat pings)" " (100|9[4-9]) received"
same "members" "$(members)" net_af_packet1
same "its own MAC" "$(mac_of net_af_packet0)" "$own0"
[[ -e /sys/class/net/net_af_packet0 ]] || fail "the port by itself has no tap"

step "when it comes back under traffic, then it is the primary again"
console add bond member bond0 net_af_packet0 >/dev/null
wait_for 5 "the primary" active_is net_af_packet0
ping_through

step "when a program is on a port, then the bond with one does not take it; a member does not take its own"
console remove bond member bond0 net_af_packet1 >/dev/null
same "its own MTU" "$(mtu_of net_af_packet1)" 1400
same "its own MAC" "$(mac_of net_af_packet1)" "$own1"
console xdp attach bond0 "$objects/xdp_pass.o" >/dev/null
console xdp attach net_af_packet1 "$objects/xdp_pass.o" >/dev/null
matches "enslave" "$(console add bond member bond0 net_af_packet1)" "Slave has XDP program loaded"
console xdp detach net_af_packet1 >/dev/null
console add bond member bond0 net_af_packet1 >/dev/null
matches "attach" "$(console xdp attach net_af_packet1 "$objects/xdp_pass.o")" "an upper device already has a program"
ping_through
matches "policy" "$(console set bond bond0 mode broadcast)" "slaves|XDP program"

step "when the bond is deleted, then its tap is gone and its ports are as before"
console delete bond bond0 >/dev/null
matches "no bond" "$(console show bond bond0)" "no bond or port"
[[ ! -e /sys/class/net/bond0 ]] || fail "the bond's tap is still there"
same "MAC" "$(mac_of net_af_packet0) $(mac_of net_af_packet1)" "$own0 $own1"
[[ -e /sys/class/net/net_af_packet1 ]] || fail "the port by itself has no tap"

step "and a bond in a mode without XDP takes no program"
console create bond bond0 mode broadcast >/dev/null
matches "attach" "$(console xdp attach bond0 "$objects/xdp_pass.o")" "No native XDP support for the current bonding mode"
stop_xbond
