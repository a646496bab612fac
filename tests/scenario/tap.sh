#!/usr/bin/env bash
# What the host sets on a bond's tap, its members follow: MAC address and MTU. A setting that a member can't follow is
# taken back on the tap, with the reason, and no member keeps it.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
need ping ethtool python3

members() { console show port info all json | json "[p['$1'] for p in d]"; }
members_are() { [[ $(members "$1") == "$2" ]]; }
tap() { cat "/sys/class/net/bond0/$1"; }
tap_is() { [[ $(tap "$1") == "$2" ]]; }
reached() { ping -q -c 3 -i 0.05 -W 1 10.1.1.2 >/dev/null; }

step "given bond0 over two cables"
two_members
start_bond "mode=active-backup,miimon=100"
failures() { console show bond bond0 json | json "[m['failures'] for m in d[0]['members']]"; }

step "when the host gives the tap another MAC address, both members have it, and no link was lost for it"
ip link set bond0 address 02:00:00:00:0b:01
wait_for 5 "the members' address" members_are mac '["02:00:00:00:0b:01", "02:00:00:00:0b:01"]'
same "link failures" "$(failures)" "[0, 0]"
wait_for 5 "the peer answers" reached

step "when the host gives the tap another MTU, both members have it"
ip link set bond0 mtu 1400
wait_for 5 "the members' MTU" members_are mtu '[1400, 1400]'
wait_for 5 "the peer answers" reached

step "when no member can have the MTU, the tap has the old one again, and xbond says why"
ip link set bond0 mtu 9000
wait_for 5 "the tap's old MTU" tap_is mtu 1400
same "the members' MTU" "$(members mtu)" '[1400, 1400]'
matches "what xbond says" "$(grep 'MTU set on the host' xbond.log)" "^bond0: the MTU set on the host stays off its ports: net_af_packet0: "
wait_for 5 "the peer answers" reached
stop_xbond

step "given a port by itself, its tap does the same"
start_xbond --vdev=net_af_packet0,iface=port0 -- --port net_af_packet0 --auto-start
ip link set net_af_packet0 address 02:00:00:00:0b:02 mtu 1300
wait_for 5 "the port's address" members_are mac '["02:00:00:00:0b:02"]'
wait_for 5 "the port's MTU" members_are mtu '[1300]'
stop_xbond
