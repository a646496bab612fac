#!/usr/bin/env bash
# active-backup: when the active member loses carrier, the other takes over; only frames that were under way before the
# kernel told of the loss are gone, none comes twice and none overtakes another. The same on the way back.
#
# FLAPS (default 1) repeats it; scripts/soak asks for many.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
need ping ethtool python3
flaps=${FLAPS:-1}
# Under way is also what waits in a queue at that moment, and a notice takes time to be acted on: some milliseconds, more
# when the machine is busy. So xbond comes first here.
slack_ns=$((${SLACK_MS:-20} * 1000000))
! nice -n -15 true 2>/dev/null || run_as=(nice -n -15)

# start_flows MILLISECONDS: one datagram a millisecond in each direction. Each flow has a port of its own: what
# net_af_packet could not send on a dead cable it keeps, and sends it when the cable is back.
port=7000
start_flows() {
  port=$((port + 1))
  rm -f in.received out.received
  "$tools/flow.py" receive $port in.received & receivers=($!)
  exec_on peer "$tools/flow.py" receive $port out.received & receivers+=($!)
  wait_for 20 "receivers" test -e in.received -a -e out.received
  "$tools/flow.py" send 10.1.1.2 $port "$1" 1 out.sent & senders=($!)
  exec_on peer "$tools/flow.py" send 10.1.1.1 $port "$1" 1 in.sent & senders+=($!)
  wait_for 20 "traffic" test -s in.received -a -s out.received
}

end_flows() {
  wait "${senders[@]}"
  sleep 0.3
  kill "${receivers[@]}"
  wait "${receivers[@]}" || true
}

# judge FROM-NS TO-NS: the rule, for both directions
judge() {
  local way verdict
  for way in out in; do
    verdict=$("$tools/flow.py" judge "$way.sent" "$way.received" $(($1 - slack_ns)) $(($2 + slack_ns))) ||
      fail "flow $way of the host: $verdict"
    note "$way: ${verdict//$'\n'/; }"
  done
}

notice() { awk -v state="$1" '$1 == state { print $2 }' carrier.log | tail -n 1; }

for ((flap = 1; flap <= flaps; flap++)); do
  if ((flap == 1)); then
    step "given bond0 in active-backup over two cables, net_af_packet0 primary, and a datagram a millisecond both ways"
    two_members
    start_bond "mode=active-backup,miimon=100,primary=net_af_packet0"
  fi
  same "the active member" "$(active_member)" net_af_packet0
  rm -f carrier.log
  "$tools/flow.py" carrier port0 carrier.log & watcher=$!
  wait_for 20 "carrier watch" grep -q watching carrier.log

  step "when the active member's cable is cut at the far end"
  start_flows 2000
  sleep 0.5
  cut=$(now_ns)
  ip -n peer link set end0 down
  wait_for 5 "the kernel's notice" grep -q down carrier.log
  wait_for 5 "net_af_packet1 active" active_is net_af_packet1
  end_flows
  note "the kernel told of it after $((($(notice down) - cut) / 1000)) us"

  step "then the other one is active, and only what was under way is lost"
  judge "$cut" "$(notice down)"
  matches "show bond" "$(console show bond bond0)" "Currently Active Slave: net_af_packet1"
  matches "show bond" "$(console show bond bond0)" "Slave Interface: net_af_packet0"$'\n'"MII Status: down"

  step "when the cable is back"
  start_flows 2000
  sleep 0.5
  back=$(now_ns)
  ip -n peer link set end0 up
  wait_for 5 "net_af_packet0 active" active_is net_af_packet0
  moved=$(now_ns)
  end_flows

  step "then the primary is active again, and only what was under way is lost"
  judge "$back" "$moved"
  kill "$watcher"
  same "failures counted" "$(console show bond bond0 json | json "[m['failures'] for m in d[0]['members']]")" "[$flap, 0]"
done
stop_xbond
