#!/usr/bin/env bash
# Frames that a program redirects leave by the port or the bond of its map, to one or to all; a program of the entry
# runs there; another worker takes over those of a CPU map. What can't leave is counted as the kernel's tracepoints name
# it.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
frames=400
"$tools/pcap.py" frames in.pcap $frames

# playing TARGET PROGRAM: frames come in by net_pcap0; out0.pcap to out3.pcap are what leaves. bond0 holds net_pcap2 and
# net_pcap3. The map of the program is empty and nothing runs yet.
playing() {
  start_xbond --vdev=net_pcap0,rx_pcap=in.pcap,tx_pcap=out0.pcap --vdev=net_pcap1,tx_pcap=out1.pcap \
    --vdev=net_pcap2,tx_pcap=out2.pcap --vdev=net_pcap3,tx_pcap=out3.pcap -- "${bond_at[@]}" \
    --xdp "$1=$objects/xdp_redirect.o:$2"
  target=$1
}
outside=(--port "net_pcap0,host=off" --port "net_pcap1,host=off" --bond "bond0,mode=balance-rr,member=net_pcap2,member=net_pcap3")
inside=(--port "net_pcap1,host=off" --bond "bond0,mode=balance-rr,member=net_pcap0,member=net_pcap2,member=net_pcap3")

entry() { # MAP KEY WORD...
  local map=$1 key=$2
  shift 2
  same "bpf map update $map" "$(console bpf map update "$target:$map" key u32 "$key" value "$@")" ""
}
received() { [[ $(console show stats json | json "sum(p['rx'] for p in d['ports'])") == "$frames" ]]; }
play() {
  console start >/dev/null
  wait_for 10 "all frames received" received
}
dropped() { console show drops json | json "sum(device['drops'].get('$1', 0) for device in d)"; }
no_other_drops() { # REASON...
  same "drops for other reasons than '$*'" \
    "$(console show drops json | json "sum(n for device in d for reason, n in device['drops'].items() if reason not in '$*'.split())")" 0
}
left() { # WANTED...: how many frames each capture holds
  stop_xbond
  local i=0 wanted
  for wanted in "$@"; do
    same "frames in out$i.pcap" "$("$tools/pcap.py" count "out$i.pcap")" "$wanted"
    i=$((i + 1))
  done
}

step "given an entry for a port, every frame leaves by it, in order"
bond_at=("${outside[@]}")
playing net_pcap0 to_port
entry ports 0 if net_pcap1
play
no_other_drops
left 0 $frames 0 0
same "what left by net_pcap1" "$("$tools/pcap.py" same in.pcap out1.pcap)" "$frames equal"

step "given an entry for a bond, it picks the member for each frame"
playing net_pcap0 to_port
entry ports 0 if bond0
play
no_other_drops
left 0 0 $((frames / 2)) $((frames / 2))

step "given no entry, the action in the flags holds: PASS, and here no host takes it"
playing net_pcap0 to_port
play
same "frames passed" "$(dropped no_host)" $frames
no_other_drops no_host
left 0 0 0 0

step "given the number of an interface, bpf_redirect does the same; of none it counts xdp_redirect_einval"
playing net_pcap0 to_interface
entry onward 0 u32 2
play
no_other_drops
left 0 $frames 0 0
playing net_pcap0 to_interface
entry onward 0 u32 77
play
same "drops" "$(dropped xdp_redirect_einval)" $frames
left 0 0 0 0

step "given a target that is down, frames count as xdp_redirect_enetdown"
playing net_pcap0 to_port
entry ports 0 if bond0
console set bond bond0 down >/dev/null
play
same "drops" "$(dropped xdp_redirect_enetdown)" $frames
no_other_drops xdp_redirect_enetdown
left 0 0 0 0

step "given all entries as the target, each gets every frame once, and the bond by its own choice"
playing net_pcap0 to_all
entry by_number 10 if net_pcap1
entry by_number 20 if bond0
entry by_number 30 if net_pcap0
play
no_other_drops
left $frames $frames $((frames / 2)) $((frames / 2))
same "what left by net_pcap1" "$("$tools/pcap.py" same in.pcap out1.pcap)" "$frames equal"

step "given all but the ingress, the member that received and its bond get nothing, the other members do"
bond_at=("${inside[@]}")
playing bond0 to_others
entry by_number 1 if net_pcap0
entry by_number 2 if bond0
entry by_number 3 if net_pcap1
entry by_number 4 if net_pcap2
play
no_other_drops
left 0 $frames $frames 0

step "given nobody but the ingress, the frames end, counted"
playing bond0 to_others
entry by_number 1 if net_pcap0
play
same "drops" "$(dropped xdp_no_destination)" $frames
left 0 0 0 0

step "given programs at the entries, each sees its own copy"
bond_at=("${outside[@]}")
playing net_pcap0 to_all
entry by_number 1 if net_pcap1 prog marking
entry by_number 2 if net_pcap0
entry by_number 3 if bond0 prog refusing
play
same "drops" "$(dropped xdp_devmap_drop)" $frames
no_other_drops xdp_devmap_drop
left $frames $frames 0 0
same "what no program wrote to" "$("$tools/pcap.py" same in.pcap out0.pcap)" "$frames equal"
[[ $("$tools/pcap.py" same in.pcap out1.pcap 2>&1) != "$frames equal" ]] || fail "the program's mark is missing in out1.pcap"

step "given a CPU map, the frames come by its ring, and its program sends them on"
playing net_pcap0 to_worker
entry workers 0 qsize 192 prog arrived
entry onward 0 u32 2
play
no_other_drops
left 0 $frames 0 0
same "what left by net_pcap1" "$("$tools/pcap.py" same in.pcap out1.pcap)" "$frames equal"

step "given two workers, the second one takes over what the first one received"
if (($(nproc) < 2)); then
  note "one processor: not shown"
  exit 0
fi
start_xbond --vdev=net_null0 --vdev=net_ring0 -l 0,1 -- --port net_null0,host=off --port net_ring0,host=off --nb-cores 2 \
  --xdp "net_null0=$objects/xdp_redirect.o:to_second_worker"
target=net_null0
entry workers 1 qsize 16
console start >/dev/null
over() { (($(dropped no_host) > 10000)); } # passed by the second worker, where nobody takes it
wait_for 10 "frames passed by the other worker" over
console stop >/dev/null
console show stats json >stats.json
same "each frame is accounted for" "$(json "d['ports'][0]['rx'] - sum(d['ports'][0]['drops'].values())" <stats.json)" 0
note "of $(json "d['ports'][0]['rx']" <stats.json) frames $(dropped xdp_cpumap_enqueue) found the queue full"
stop_xbond
