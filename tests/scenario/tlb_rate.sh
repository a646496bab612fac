#!/usr/bin/env bash
# balance-tlb: two peers that much is sent to, and that share a member by their hash, are parted by the measured rate.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
need ethtool python3

# Frames as the host would send them to 10.1.1.10 to 10.1.1.60, a line each
frames() {
  python3 - "$(cat /sys/class/net/bond0/address)" <<'PYTHON'
import struct, sys
own = bytes.fromhex(sys.argv[1].replace(":", ""))
for to in range(10, 61):
    ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 92, 0, 0, 64, 17, 0, bytes([10, 1, 1, 1]), bytes([10, 1, 1, to]))
    print((bytes([2, 0, 0, 0, to, 7]) + own + b"\x08\x00" + ip + bytes(72)).hex())
PYTHON
}
# The last of the 10.1.1.N that has the first one's member, but another channel: prints it, and that member
companion() {
  console bond hash bond0 "@$work/frames.hex" json | python3 -c '
import json, sys
answers = [json.loads(line) for line in sys.stdin]
same = [n for n, a in enumerate(answers) if a["member"] == answers[0]["member"] and a["channel"] != answers[0]["channel"]]
print(10 + same[-1], answers[0]["member"])'
}
members() { # of the two
  console bond hash bond0 "@$work/frames.hex" json | sed -n "1p;$((second - 9))p" | grep -o '"member":"[^"]*"'
}
sent() { ip -n peer -s -j link show "$1" | json "d[0]['stats64']['rx']['packets']"; } # by xbond's member

step "given bond0 in balance-tlb with layer2+3 over two cables"
host peer
cable port0 peer end0
cable port1 peer end1
start_bond_alone "mode=balance-tlb,xmit_hash_policy=layer2+3"
for to in {10..60}; do ip neighbour replace "10.1.1.$to" lladdr "$(printf 02:00:00:00:%02x:07 "$to")" dev bond0; done

step "when two peers that share a member get all the traffic"
frames >frames.hex
read -r second shared <<<"$(companion)"
note "10.1.1.10 and 10.1.1.$second, both by $shared"
for to in 10 "$second"; do "$tools/flow.py" send "10.1.1.$to" 9000 14000 1 "sent.$to" & done
sleep 0.5
before=("$(sent end0)" "$(sent end1)")
sleep 1
after=("$(sent end0)" "$(sent end1)")
share=("$((after[0] - before[0]))" "$((after[1] - before[1]))")
note "in a second before the load is measured: ${share[0]} frames by the first member, ${share[1]} by the second"

step "then after the next measurement each has a member of its own"
parted() { [[ $(members | sort -u | wc -l) == 2 ]]; }
wait_for 12 "they are parted" parted
before=("$(sent end0)" "$(sent end1)")
sleep 1
after=("$(sent end0)" "$(sent end1)")
share=("$((after[0] - before[0]))" "$((after[1] - before[1]))")
note "in a second: ${share[0]} frames by the first member, ${share[1]} by the second"
sum=$((share[0] + share[1]))
((sum > 500)) || fail "only $sum frames in a second"
for member in 0 1; do
  ((share[member] * 10 > sum * 4)) || fail "member $member carries ${share[member]} of $sum frames"
done
matches "bond hash" "$(console bond hash bond0 "@$work/frames.hex" | head -n 1)" "channel [0-9]+ of 256, by load"
stop_xbond
