#!/usr/bin/env bash
# A bond under a bond: traffic leaves by both modes' choice, what inner members receive is the outer bond's, a program on
# it runs on the lowest members, and a cut at any level is survived.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
need ping ethtool python3

#   this namespace: xbond                                       host `peer`
#   tap upper 10.1.1.1/24 ─ upper ┬ lower ┬ port0 ════ end0 ┐
#     (active-backup)             │       └ port1 ════ end1 ┼ br0 10.1.1.2/24
#                                 └ port2 ════════════ end2 ┘
members() { console show bond "$1" json | json "' '.join(m['name'] for m in d[0]['members'])"; }
active_of() { console show bond "$1" json | json "next((m['name'] for m in d[0]['members'] if m['active']), 'none')"; }
active_in() { [[ $(active_of "$1") == "$2" ]]; }
mac_of() { console show port info "$1" json | json "d[0]['mac']"; }
mtu_of() { console show port info "$1" json | json "d[0]['mtu']"; }
ran_on() { console show stats json | json "next(p['runs'] for p in d['ports'] if p['name'] == '$1')"; }
ping_through() {
  local report
  report=$(ping -c 20 -i 0.02 -W 1 10.1.1.2) || fail "ping: $report"
  matches "ping" "$report" "20 packets transmitted, 20 received, 0% packet loss"
  [[ $report != *DUP!* ]] || fail "ping: duplicates: $report"
}

step "given upper over a bond and a port, and lower over two ports, named before lower is"
host peer
for number in 0 1 2; do cable "port$number" peer "end$number"; done
bridge peer 10.1.1.2/24 end0 end1 end2
lower=(--bond "lower,mode=active-backup,miimon=20,primary=net_af_packet0,member=net_af_packet0,member=net_af_packet1")
upper=(--bond "upper,mode=active-backup,miimon=20,primary=lower,member=lower,member=net_af_packet2")
# shellcheck disable=SC2054 # the commas are the devices' own
devices=(--vdev=net_af_packet0,iface=port0 --vdev=net_af_packet1,iface=port1 --vdev=net_af_packet2,iface=port2)
start_xbond "${devices[@]}" -- "${upper[@]}" "${lower[@]}" --auto-start
same "members" "$(members upper), $(members lower)" "lower net_af_packet2, net_af_packet0 net_af_packet1"
ip link set upper up
ip address add 10.1.1.1/24 dev upper
wait_for 10 "the peer answers" ping -c 1 -W 1 10.1.1.2

step "then all ports carry one address, only the upper bond has a tap, and the hosts reach each other"
same "addresses" "$(mac_of net_af_packet1) $(mac_of net_af_packet2)" "$(mac_of net_af_packet0) $(mac_of net_af_packet0)"
same "the tap's address" "$(cat /sys/class/net/upper/address)" "$(mac_of net_af_packet0)"
[[ ! -e /sys/class/net/lower ]] || fail "the lower bond has a tap"
matches "show bond" "$(console show bond upper)" "Slave Interface: lower"$'\n'"MII Status: up"
ping_through
ip link set upper mtu 1400
wait_for 3 "the MTU on every port" eval "[[ \$(mtu_of net_af_packet0),\$(mtu_of net_af_packet2) == 1400,1400 ]]"
ip link set upper mtu 1500

step "when a program is on the upper bond, then it runs on the lowest members, and none may be on the lower bond"
console xdp attach upper "$objects/xdp_pass.o" >/dev/null
ping_through
(($(ran_on net_af_packet0) >= 20)) || fail "the program ran $(ran_on net_af_packet0) times"
matches "lower" "$(console xdp attach lower "$objects/xdp_pass.o")" "an upper device already has a program"
console xdp detach upper >/dev/null

step "when the cable of the lower bond's active member is cut, then its other member carries on"
ip -n peer link set end0 down
wait_for 5 "net_af_packet1 active" active_in lower net_af_packet1
same "the upper bond's active member" "$(active_of upper)" lower
ping_through

step "when its last cable is cut, then the upper bond's other member does; and back"
ip -n peer link set end1 down
wait_for 5 "net_af_packet2 active" active_in upper net_af_packet2
matches "show bond" "$(console show bond upper)" "Slave Interface: lower"$'\n'"MII Status: down"
ping_through
ip -n peer link set end1 up
wait_for 5 "lower active" active_in upper lower
ping_through

step "when a bond would be below itself, or a member twice, then it is refused and nothing changes"
before=$(console show bond json)
matches "loop" "$(console add bond member lower upper)" "no bond can be below itself"
matches "itself" "$(console add bond member upper upper)" "Cannot enslave bond to itself"
matches "twice" "$(console create bond third mode 0)$(console add bond member third lower)" "is a member of upper already"
matches "in use" "$(console delete bond lower)" "lower is a member of upper"
console delete bond third >/dev/null
same "the bonds" "$(console show bond json)" "$before"
above=upper
for level in 3 4 5 6 7; do
  console create bond "level$level" mode active-backup >/dev/null
  console add bond member "level$level" "$above" >/dev/null
  same "level $level" "$(members "level$level")" "$above"
  above=level$level
done
console create bond level8 mode active-backup >/dev/null
matches "too deep" "$(console add bond member level8 "$above")" "more than 8 levels"
console delete bond level8 >/dev/null
ip link set level7 up
ip address add 10.1.1.1/24 dev level7
wait_for 10 "the peer answers through seven bonds" ping -c 1 -W 1 10.1.1.2
ping_through
for level in 7 6 5 4 3; do console delete bond "level$level" >/dev/null; done
same "bonds" "$(console show bond json | json "' '.join(sorted(b['name'] for b in d))")" "lower upper"

step "when the lower bond leaves, then it has a tap again, and the upper bond goes on with the port"
console remove bond member upper lower >/dev/null
same "members" "$(members upper)" net_af_packet2
[[ -e /sys/class/net/lower ]] || fail "the lower bond has no tap"
ip link set upper up
ip address replace 10.1.1.1/24 dev upper
wait_for 10 "the peer answers" ping -c 1 -W 1 10.1.1.2
ping_through

step "when it comes back under traffic, then that stops for 60 ms at most"
ping -c 100 -i 0.01 -W 1 10.1.1.2 >pings &
pings=$!
sleep 0.3
console add bond member upper lower >/dev/null
wait "$pings" || fail "$(tail -n 3 pings)"
matches "pings" "$(cat pings)" " (100|9[4-9]) received"
wait_for 5 "lower active" active_in upper lower
ping_through
stop_xbond

step "when the lower bond has no member left, what an upper one that does not monitor it gives it is counted"
start_xbond "${devices[@]}" -- --bond "upper,mode=active-backup,miimon=0,primary=lower,member=lower,member=net_af_packet2" \
  "${lower[@]}" --auto-start
ip link set upper up
ip address add 10.1.1.1/24 dev upper
wait_for 10 "the peer answers" ping -c 1 -W 1 10.1.1.2
lost() { console show drops json | json "next(i['drops']['no_member'] for i in d if i['name'] == 'lower')"; }
same "lost before" "$(lost)" 0
ip -n peer link set end0 down
ip -n peer link set end1 down
wait_for 5 "lower without a member" active_in lower none
ping -c 20 -i 0.02 -W 1 10.1.1.2 >/dev/null || true
matches "lost" "$(lost)" "[1-9]"
matches "show drops" "$(console show drops)" "lower +no_member +[1-9]"
console clear stats
same "cleared" "$(lost)" 0
ip -n peer link set end0 up
ip -n peer link set end1 up
stop_xbond

step "and where the upper bond speaks LACP, every port below it is asked for a receive queue for that"
start_xbond "${devices[@]}" -- --bond "upper,mode=802.3ad,member=lower,member=net_af_packet2" "${lower[@]}"
same "ports asked" "$(grep -c "LACP's frames come with the data" xbond.log)" 3
stop_xbond

step "and a configuration whose bonds are in a ring is refused"
ring=(--bond "one,mode=1,member=two" --bond "two,mode=1,member=one")
! "$xbond" "${devices[@]}" -- "${ring[@]}" >ring 2>&1 || fail "a ring was taken"
matches "ring" "$(cat ring)" "within itself"
