#!/usr/bin/env bash
# A host behind the bond: what no program takes goes by PASS to the kernel's tap of the bond's name, and what the kernel
# sends there leaves by the bond. Two kernels talk through it, with and without a program, in each mode.
#
#   pass_ping.sh active-backup|balance-rr|balance-xor|balance-tlb|balance-alb
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
need ping nc ethtool python3
mode=$1

# ping_through FROM... TO: 20 echo requests, each answered once
ping_through() {
  local report
  report=$("${@:1:$#-1}" ping -c 20 -i 0.02 -W 1 "${!#}") || fail "ping: $report"
  matches "ping" "$report" "20 packets transmitted, 20 received, 0% packet loss"
  [[ $report != *DUP!* ]] || fail "ping: duplicates: $report"
}

both_ways() {
  ping_through 10.1.1.2
  ping_through on peer 10.1.1.1
  note "ping: 20 of 20 answered, in both directions"
}

# transfer SENDER RECEIVER ADDRESS: a megabyte by TCP to the receiver's port 5000 arrives unharmed ("" is this host)
# shellcheck disable=SC2086  # an empty word is no word
transfer() {
  local sender=$1 receiver=$2 address=$3
  rm -f received
  $receiver nc -l -p 5000 -w 5 >received &
  local listener=$!
  wait_for 5 "a listener" listening "$receiver"
  $sender nc -N -w 5 "$address" 5000 <megabyte || fail "TCP to $address"
  wait "$listener"
  cmp megabyte received || fail "TCP to $address changed the data"
}
# shellcheck disable=SC2086  # an empty word is no word
listening() { $1 ss -ltnH | grep -q :5000; }

udp_answers() {
  exec_on peer "$tools/flow.py" echo 6000 &
  local server=$!
  wait_for 5 "UDP answers" "$tools/flow.py" ping-udp 10.1.1.2 6000
  kill "$server"
}

step "given bond0 in $mode over two cables to a kernel host, no program"
head -c 1000000 /dev/urandom >megabyte
two_members
start_bond "mode=$mode"

step "then the hosts reach each other"
both_ways
transfer "" "on peer" 10.1.1.2
transfer "on peer" "" 10.1.1.1
udp_answers
note "a megabyte by TCP in both directions and UDP"

if [[ $mode == balance-[ta]lb ]]; then
  step "then a program is refused: Linux has no native XDP in this mode"
  matches "attach" "$(console xdp attach bond0 "$objects/xdp_count.o")" "No native XDP support for the current bonding mode"
  stop_xbond
  exit 0
fi

step "when a program that passes everything is attached"
note "$(console xdp attach bond0 "$objects/xdp_count.o")"

step "then they still do, and the program has seen the frames"
both_ways
transfer "" "on peer" 10.1.1.2
transfer "on peer" "" 10.1.1.1
udp_answers
ipv4=$(console bpf map dump bond0:counts json | json "int.from_bytes(bytes.fromhex(d[2]['value']), 'little')")
note "IPv4 frames counted by the program: $ipv4"
# A megabyte in is 685 full segments, and 40 frames of the pings; how many acknowledgements come for the megabyte out is
# the peer's choice.
((ipv4 >= 685 + 40)) || fail "the program counted only $ipv4 IPv4 frames"

step "when it is detached, they still do"
console xdp detach bond0 >/dev/null
both_ways

step "then the tap carried it all, in both directions"
taps=$(console show stats json | json "' '.join(str(n) for t in d['taps'] for n in (t['to_kernel'], t['from_kernel']))")
read -r to_kernel from_kernel <<<"$taps"
note "to the kernel $to_kernel frames, from it $from_kernel"
((to_kernel > 1000 && from_kernel > 1000)) || fail "the tap carried too little"
stop_xbond
! ip link show bond0 >/dev/null 2>&1 || fail "the tap outlives xbond"
