#!/usr/bin/env bash
# LACP's long timers, with Open vSwitch as the partner: the slow rate, a partner that never gets in sync (churn), and a
# silence that the long timeout outlasts. Nine minutes: for scripts/soak.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
need ethtool python3
# shellcheck source=tests/scenario/peers/ovs.sh
source "$tools/peers/ovs.sh"

# shellcheck source=tests/scenario/peers/words.sh
source "$tools/peers/words.sh"
churn() { lacp "' '.join(d[0]['members'][1][who + '_churn'] for who in ('actor', 'partner'))"; }
churn_is() { [[ $(churn) == "$1" ]]; }
elapsed_since() { echo $((SECONDS - $1)); }

step "given a partner and a bond at the slow rate"
peer_links
peer_start active
ovs set port bond0 other_config:lacp-time=slow
listen_to_pdus
start_xbond --vdev=net_af_packet0,iface=port0 --vdev=net_af_packet1,iface=port1 -- \
  --bond bond0,mode=802.3ad,lacp_rate=slow,member=net_af_packet0,member=net_af_packet1 --auto-start
wait_for 100 "both members in use" in_use_are "0 1"
wait_for 70 "no churn" churn_is "none none"

step "then PDUs leave every 30 s"
sleep 31
from=$(date +%s%N)
sleep 95
"$tools/pdus.py" judge 30 "$from" "$(date +%s%N)" port0.pdus port1.pdus || fail "PDUs"
same "members in use" "$(in_use)" "0 1"

step "when a link falls silent, its member stays for the long timeout, 90 s after the last PDU"
ip link set port0 xdp object "$objects/xdp_drop.o" section xdp
since=$SECONDS
sleep 50
same "members in use after 50 s" "$(in_use)" "0 1"
wait_for 60 "one member" in_use_are 1
note "given up after $(elapsed_since $since) s"
ip link set port0 xdp off
wait_for 60 "both members in use again" in_use_are "0 1"

step "when the partner hears nothing of us on a link, it leaves us out of sync after its long timeout: churn after 60 s"
ip -n peer link set end1 xdp object "$objects/xdp_drop.o" section xdp
wait_for 130 "the partner out of sync" in_use_are 0
since=$SECONDS
wait_for 75 "the partner's churn" churn_is "none churned"
note "seen after $(elapsed_since $since) s"
same "members in use" "$(in_use)" 0
ip -n peer link set end1 xdp off
wait_for 100 "no churn" churn_is "none none"
same "members in use" "$(in_use)" "0 1"
stop_xbond
