#!/usr/bin/env bash
# lacp_timing.sh [SECONDS]: LACP PDUs leave once a second, whatever the rest of the appliance does, and no member
# flaps: for as long as said each (default 60) idle, with a saturated worker, with forwarding stopped, and while the
# control thread and the machine's processors are busy compiling. Then the limit is measured: members that overflow lose
# the partner's PDUs with the rest. The partner is Open vSwitch.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
need ethtool python3 g++ clang
seconds=${1:-60}
# shellcheck source=tests/scenario/peers/ovs.sh
source "$tools/peers/ovs.sh"

# --- what is asked of xbond

# shellcheck source=tests/scenario/peers/words.sh
source "$tools/peers/words.sh"
received() { console show stats json | json "sum(p['rx'] for p in d['ports'] if 'af_packet' in p['name'])"; }
wall_ns() { date +%s%N; }

# evenly WHAT COMMAND...: while the command runs, PDUs leave evenly and the mux machines stay where they are. The
# spacing that the phase's beginning falls into belongs to it.
evenly() {
  local what=$1 from to before
  shift
  before=$(flaps)
  from=$(wall_ns)
  "$@"
  to=$(wall_ns)
  note "$what:"
  "$tools/pdus.py" judge 1 "$from" "$to" port0.pdus port1.pdus || fail "$what: PDUs"
  same "$what: moves of the mux machines" "$(flaps)" "$before"
  same "$what: members in use" "$(in_use)" "0 1"
}

# --- the four loads

idle() { sleep "$seconds"; }

# A port that always has full bursts keeps the worker busy; the members get their share beside it, and lose nothing.
saturated() {
  local target before sent got mac rate=5000
  for target in net_null0 bond0; do
    matches "attach" "$(console xdp attach "$target" "$objects/xdp_drop.o")" "attached"
  done
  mac=$(console show bond bond0 json | json "d[0]['mac']")
  before=$(received)
  exec_on peer "$tools/flow.py" flood end0 "$mac" "$rate" "$seconds" >sent0 &
  local first=$!
  exec_on peer "$tools/flow.py" flood end1 "$mac" "$rate" "$seconds" >sent1 &
  wait "$first" $!
  sleep 0.2
  sent=$(($(<sent0) + $(<sent1)))
  got=$(($(received) - before))
  note "$sent frames sent to the members, $got received"
  ((got * 1000 >= sent * 999)) || fail "more than 0.1 % of the members' frames were lost"
  for target in net_null0 bond0; do console xdp detach "$target" >/dev/null; done
}

stopped() {
  console stop
  sleep "$seconds"
  console start
}

# Two compilers at a time on the machine, and objects opened, attached and dumped without pause in the control thread.
compiling() {
  local until=$((SECONDS + seconds)) compilers=() _
  for _ in 1 2; do
    (while ((SECONDS < until)); do
      g++ -std=c++20 -O2 -x c++ -c -o /dev/null - <<<'#include <regex>
        bool f(const char* s) { return std::regex_match(s, std::regex("a*b")); }'
    done) & compilers+=($!)
  done
  local replaced=0
  while ((SECONDS < until)); do
    matches "attach" "$(console xdp attach bond0 "$distribution_objects/xdpfilt_alw_all.o" force)" "attached"
    matches "attach" "$(console xdp attach bond0 "$objects/xdp_count.o" force)" "attached"
    console bpf map dump bond0:counts >/dev/null
    replaced=$((replaced + 2))
  done
  note "$replaced programs opened and attached"
  console xdp detach bond0 >/dev/null
  wait "${compilers[@]}"
}

# More frames than the worker can take, for 15 s. What is lost is lost before anybody knows what it is, PDUs as well;
# our own still leave.
overloaded() {
  local before pdus sent got mac pids=() end
  mac=$(console show bond bond0 json | json "d[0]['mac']")
  matches "attach" "$(console xdp attach net_null0 "$objects/xdp_slow.o")" "attached"
  before=$(received) pdus=$(lacp "d[0]['counters']['lacpdu_rx']")
  for end in end0 end1; do
    exec_on peer "$tools/flow.py" flood "$end" "$mac" 60000 15 >"sent.$end" &
    pids+=($!)
  done
  wait "${pids[@]}"
  sent=$(($(<sent.end0) + $(<sent.end1)))
  got=$(($(received) - before))
  note "$sent frames sent to the members, $got received: $(((sent - got) * 100 / sent)) % lost"
  note "$(($(lacp "d[0]['counters']['lacpdu_rx']") - pdus)) of some 30 PDUs of the partner received," \
    "mux machines moved $(($(flaps) - $1)) times, members in use now: $(in_use)"
  ((sent - got > sent / 10)) || fail "that was no overload"
  console xdp detach net_null0 >/dev/null
}

# --- the story

step "given a partner and a bond that have converged"
peer_links
peer_start active
listen_to_pdus
# Rings that hold what arrives while a busy machine lets the worker wait.
start_xbond --vdev=net_af_packet0,iface=port0,framecnt=4096 --vdev=net_af_packet1,iface=port1,framecnt=4096 \
  --vdev=net_null0 -- \
  --bond bond0,mode=802.3ad,lacp_rate=fast,member=net_af_packet0,member=net_af_packet1 \
  --port net_null0,host=off --auto-start
ip link set bond0 up
wait_for 40 "both members in use" in_use_are "0 1"
sleep 3

step "then PDUs leave once a second: idle"
evenly idle idle
step "and with a saturated worker"
evenly saturated saturated
step "and with forwarding stopped"
evenly stopped stopped
step "and during a large compile"
evenly compiling compiling

step "and this is what an overload costs without a queue for slow protocols"
overloaded "$(flaps)"
wait_for 40 "both members in use again" in_use_are "0 1"
stop_xbond
