#!/usr/bin/env bash
# Every verdict has its effect and its counter: DROP, PASS, TX, ABORTED, a return value that is no verdict (42), and a
# program that breaks a rule at run time.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
frames=1000
"$tools/pcap.py" frames in.pcap $frames

# run OBJECT: the frames go through the object on a bond of one capture port
run() { # OBJECT [OPTION...]
  local object=$1
  shift
  start_xbond --vdev=net_pcap0,rx_pcap=in.pcap,tx_pcap=out.pcap \
    -- --bond bond0,mode=active-backup,member=net_pcap0 --xdp "bond0=$objects/$object" "$@"
  ip link set bond0 up
  console start >/dev/null
  wait_for 10 "all frames received" all_of "['rx']"
}
total() { console show stats json | json "sum(p$1 for p in d['ports'])"; }
all_of() { (($(total "$1") == frames)); }

# dropped_as OBJECT REASON VERDICT [REGEX]: all frames were dropped for this reason and no other, and none left; show xdp
# matches REGEX
dropped_as() { # OBJECT REASON VERDICT [SHOWN [OPTION...]]
  step "given $1, every frame is dropped as $2"
  run "$1" "${@:5}"
  same "verdicts" "$(total "['verdicts']['$3']")" $frames
  same "drops for any reason" "$(console show drops json | json "sum(sum(device['drops'].values()) for device in d)")" $frames
  matches "show drops" "$(console show drops)" "net_pcap0 +$2 +$frames"
  [[ $# == 3 ]] || matches "show xdp" "$(console show xdp)" "$4"
  stop_xbond
  same "frames in the capture" "$("$tools/pcap.py" count out.pcap)" 0
}

dropped_as xdp_drop.o xdp_drop drop
dropped_as xdp_aborted.o xdp_aborted aborted
dropped_as xdp_unknown.o xdp_unknown aborted "unknown return values $frames"
dropped_as xdp_oob.o xdp_aborted aborted "fault" --bpf-engine interpreter

step "given xdp_tx.o, every frame leaves as it came"
run xdp_tx.o
wait_for 5 "all frames sent" all_of "['tx']"
stop_xbond
same "frames that came back" "$("$tools/pcap.py" same in.pcap out.pcap)" "$frames equal"

step "given xdp_pass.o, every frame goes to the host"
run xdp_pass.o
passed() { [[ $(console show stats json | json "d['taps'][0]['to_kernel']") == "$frames" ]]; }
wait_for 5 "all frames at the kernel" passed
same "drops for any reason" "$(console show drops json | json "sum(sum(device['drops'].values()) for device in d)")" 0
stop_xbond
