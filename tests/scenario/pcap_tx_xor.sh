#!/usr/bin/env bash
# A bond of three members in balance-xor runs a program that sends every frame back (XDP_TX). Each frame leaves by the
# member that Linux would choose: the hashes were recorded from a kernel (tests/data/golden/hash32.csv).
#
#   pcap_tx_xor.sh layer2|layer2+3|layer3+4
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
policy=$1
golden=$top/tests/data/golden/hash32.csv

step "a capture with every golden frame"
"$tools/pcap.py" golden "$golden" in.pcap
frames=$("$tools/pcap.py" count in.pcap)
note "$frames frames"

step "given a bond of three capture ports in balance-xor, $policy, with xdp_tx.o; all frames come in by the first"
start_xbond \
  --vdev=net_pcap0,rx_pcap=in.pcap,tx_pcap=out0.pcap --vdev=net_pcap1,tx_pcap=out1.pcap --vdev=net_pcap2,tx_pcap=out2.pcap \
  -- --bond "bond0,mode=balance-xor,xmit_hash_policy=$policy,member=net_pcap0,member=net_pcap1,member=net_pcap2" \
  --xdp "bond0=$objects/xdp_tx.o" --auto-start

step "when all have gone out"
sent() { [[ $(console show stats json | json "sum(port['tx'] for port in d['ports'])") == "$frames" ]]; }
wait_for 10 "$frames frames sent" sent

step "then each member has sent the frames that golden names for it, in order, and nothing was dropped"
same "dropped frames" "$(console show drops json | json "sum(sum(device['drops'].values()) for device in d)")" 0
stop_xbond
"$tools/pcap.py" by-member "$golden" "$policy" out0.pcap out1.pcap out2.pcap
