#!/usr/bin/env bash
# What the host sends leaves by the members that the bond's mode names: real frames at the far ends of two cables.
#
#   spread.sh MODE [OPTION=VALUE]
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
need ethtool python3
mode=$1
flows=32
count=20

step "given bond0 in $mode${2:+ with $2} over two cables, and 32 flows of UDP from the host"
host peer
cable port0 peer end0
cable port1 peer end1
start_bond_alone "mode=$mode,xmit_hash_policy=layer3+4${2:+,$2}"
for last in {2..9}; do # balance-alb spreads by destination
  ip neighbour replace "10.1.1.$last" lladdr "02:00:00:00:00:0$last" dev bond0
done
for end in end0 end1; do
  on peer ip link set "$end" promisc on
  exec_on peer "$tools/capture.py" listen "$end" "$end.log" &
  wait_for 10 "a listener" grep -q listening "$end.log"
done

step "when they are sent"
"$tools/capture.py" flows 10.1.1. $flows $count
sleep 0.3

step "then each member has sent its share, every flow in order and no frame twice"
verdict=$("$tools/capture.py" judge "$mode" $flows $count end0.log end1.log) || fail "$verdict"
note "$verdict"
same "dropped frames" "$(console show drops json | json "sum(sum(device['drops'].values()) for device in d)")" 0
stop_xbond
