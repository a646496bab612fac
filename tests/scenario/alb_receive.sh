#!/usr/bin/env bash
# balance-alb: peers are spread over the members by what the host's ARP tells them; a cut moves those of that member to the
# others, and back when the cable is. The same behind a VLAN tag.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
need ping ethtool python3
clients=(2 3 4 5 6 7)

# The switch between the members and the clients; members don't hear each other.
client() {
  host "client$1"
  ip link add "to$1" type veth peer name eth0
  ip link set "to$1" netns peer
  ip link set eth0 netns "client$1"
  on "client$1" ethtool -K eth0 tx off tso off gso off >/dev/null 2>&1
  ip -n peer link set "to$1" master br0 up
  ip -n "client$1" link set eth0 up
  ip -n "client$1" address add "10.1.1.$1/24" dev eth0
}

mac_of() { console show port info "$1" json | json "d[0]['mac']"; }
# The MAC address by which a client knows the host
knows() { ip -n "client$1" neigh show to 10.1.1.1 | grep -o 'lladdr [^ ]*' | cut -d ' ' -f 2; }
how_many() { # how_many MAC: clients that send to it
  local count=0 client
  for client in "${clients[@]}"; do
    [[ $(knows "$client") != "$1" ]] || count=$((count + 1))
  done
  echo "$count"
}
spread() { [[ $(how_many "$own0") == 3 && $(how_many "$own1") == 3 ]]; } # whoever carries them
all_at() { [[ $(how_many "$1") == "${#clients[@]}" ]]; }
reachable() {
  local client
  for client in "${clients[@]}"; do
    on "client$client" ping -qc 5 -i 0.2 -W 2 10.1.1.1 >/dev/null || fail "client$client does not reach the host"
  done
}
received() { ip -n peer -s -j link show "$1" | json "d[0]['stats64']['tx']['packets']"; } # by xbond's member

step "given bond0 in balance-alb over two cables to a switch, and six clients"
host peer
cable port0 peer end0
cable port1 peer end1
bridge peer 10.1.1.254/24 end0 end1
for number in "${clients[@]}"; do client "$number"; done
start_bond_alone "mode=balance-alb,miimon=50"
# The host's probes of neighbours that it knows already carry the bond's address, and gather clients for a moment: not
# while frames are counted.
sysctl -qw net.ipv4.neigh.bond0.delay_first_probe_time=60
own0=$(mac_of net_af_packet0)
own1=$(mac_of net_af_packet1)
[[ $own0 != "$own1" ]] || fail "the members have one MAC address"

step "when the clients ask for the host, then half of them know it by each member's address"
reachable
wait_for 5 "three clients a member" spread
note "3 know $own0, 3 know $own1"

step "then each member receives from its clients, and each frame reaches the host once"
before=("$(received end0)" "$(received end1)")
for number in "${clients[@]}"; do
  report=$(on "client$number" ping -qc 20 -i 0.01 -W 1 10.1.1.1) || fail "client$number: $report"
  matches "ping" "$report" "20 packets transmitted, 20 received, 0% packet loss"
done
after=("$(received end0)" "$(received end1)")
for member in 0 1; do
  got=$((after[member] - before[member]))
  note "member $member received $got frames"
  ((got >= 60)) || fail "member $member received $got frames of at least 60"
done

step "when the second member's cable is cut"
ip -n peer link set end1 down
began=${EPOCHREALTIME/./}
wait_for 5 "its clients at the first" all_at "$own0"
note "all clients know the first member's address after $(((${EPOCHREALTIME/./} - began) / 1000)) ms"
reachable

step "when the cable is back, then they are spread again"
ip -n peer link set end1 up
wait_for 10 "three clients a member" spread
reachable

step "when the host answers behind a VLAN tag, then clients are spread as well, and a cut is told there too"
on peer ip link set br0 promisc on
for number in 21 22; do
  exec_on peer "$tools/arp.py" heard br0 7 "10.1.7.$number" "heard.$number" &
  wait_for 5 "a listener" grep -q listening "heard.$number"
  "$tools/arp.py" answer bond0 7 "$own0" 10.1.7.1 "02:00:00:00:07:$number" "10.1.7.$number"
done
heard() { sed -n '$p' "heard.$1"; }
both_told() { [[ $(heard 21) == *:* && $(heard 22) == *:* ]]; }
wait_for 3 "their answers" both_told
same "their addresses" "$( (heard 21; heard 22) | sort | tr '\n' ' ')" "$(printf '%s\n' "$own0" "$own1" | sort | tr '\n' ' ')"
ip -n peer link set end1 down
first_told() { [[ $(heard 21) == "$own0" && $(heard 22) == "$own0" ]]; }
wait_for 5 "both at the first member's address" first_told
ip -n peer link set end1 up
wait_for 10 "three clients a member" spread

step "when the active member's cable is cut, then the other one takes the bond's address, and all clients send there"
ip -n peer link set end0 down
wait_for 5 "the other one active" active_is net_af_packet1
has_address() { [[ $(mac_of "$1") == "$2" ]]; }
wait_for 5 "its address" has_address net_af_packet1 "$own0"
wait_for 5 "all at the bond's address" all_at "$own0"
reachable

step "when the host asks all of them anew, then its requests do not gather them at one member for long"
ip -n peer link set end0 up
wait_for 10 "three clients a member" spread
ip neigh flush dev bond0
for number in "${clients[@]}"; do ping -qc 1 -W 2 "10.1.1.$number" >/dev/null || fail "client$number does not answer"; done
wait_for 10 "three clients a member" spread
stop_xbond
