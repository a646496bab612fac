#!/usr/bin/env bash
# An operator at a terminal: help, TAB completion, every show command with its json form, starting and stopping, options,
# programs; and the ways to end it.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
need tmux python3
[[ -x $xbond ]] || fail "no xbond at $xbond"
cp "$objects/xdp_count.o" "$objects/xdp_pass.o" .
arguments=(--vdev=net_ring0 --vdev=net_ring1 --vdev=net_null0)
arguments+=(-- --bond "bond0,mode=active-backup,member=net_ring0,member=net_ring1" --port net_null0)

terminals=0
terminal() { tmux -S "$work/terminal$terminals" "$@"; }
screen() { terminal capture-pane -p -J -S -500; }
shows() { screen | grep -qE -- "$1"; }
press() { terminal send-keys "$@"; }

# open: xbond on a terminal of its own
open() {
  rm -f status
  terminals=$((terminals + 1)) # a server of its own: an ending one must not meet its successor
  terminal -f /dev/null new-session -d -x 200 -y 50 "$(printf '%q ' "$xbond" "${arguments[@]}" -i); echo \$? >status; sleep 60"
  wait_for 15 "a prompt" shows '^xbond> *$'
}

# types LINE... then REGEX: a line, and what must come up
types() {
  press -l "$1"
  press Enter
  wait_for 5 "'$2' after '$1'; the screen is: $(screen)" shows "$2"
}

closed_with() {
  wait_for 10 "end of xbond" test -s status
  same "exit status" "$(<status)" "$1"
  ! ip link show bond0 >/dev/null 2>&1 || fail "the tap outlives xbond"
}

step "given xbond on a terminal"
open

step "then help lists the commands, and a word's own"
types "help" "show bond"
types "help xdp" "xdp attach TARGET OBJ"

step "then TAB completes commands, names and paths"
press -l "show bo"
press Tab
wait_for 5 "completion of the command; the screen is: $(screen)" shows '^xbond> show bond'
press -l " "
press Tab
press Enter
wait_for 5 "completion of the name" shows 'Ethernet Channel Bonding Driver'
press -l "xdp attach bond0 xdp_c"
press Tab
press Enter
wait_for 5 "completion of the path" shows '^xbond> xdp attach bond0 xdp_count\.o'

step "then a mistake is told in one line"
types "shwo bond" "unknown command"

step "then it starts and stops"
types "start" "xbond>"
types "stop" "xbond>"
types "set bond bond0 primary net_ring1" "xbond>"
types "show bond bond0" "Primary Slave: net_ring1"

step "then quit ends it, with statistics and nothing left over"
types "quit" "rx"
closed_with 0

for signal in INT TERM; do
  step "then SIG$signal ends it likewise"
  open
  types "start" "xbond>"
  pkill "-$signal" -x -P "$(terminal display-message -p '#{pane_pid}')" xbond
  wait_for 10 "statistics; the screen is: $(screen)" shows "net_ring0.*[0-9]"
  closed_with 0
done
step "given xbond with its console on a pipe, every json form is what its schema says"
start_xbond "${arguments[@]}" --xdp bond0=xdp_count.o --auto-start
schemas=$top/tests/data/schema
# fits SCHEMA COMMAND...
fits() {
  local schema=$1
  shift
  console "$@" | "$tools/schema.py" "$schemas/$schema.json" || fail "$*"
}
fits show_bond show bond bond0 json
fits show_bond show bond json
fits show_xdp show xdp json
fits show_xdp show xdp bond0 json
fits show_stats show stats json
fits show_drops show drops json
for kind in info summary; do
  fits show_port_info show port $kind json
  fits show_port_info show port $kind net_null0 json
done
fits show_port_stats show port stats json
fits show_port_xstats show port xstats json
fits bond_hash bond hash bond0 ffffffffffff020000000001080045 json
fits map_list bpf map list json
fits map_dump bpf map dump bond0:counts json
fits map_dump bpf map dump bond0:percpu_counts nonzero json

step "then the text forms say the same"
matches "show port info" "$(console show port info net_null0)" "net_null"
matches "show port summary" "$(console show port summary)" "net_ring0"
matches "show port stats" "$(console show port stats net_null0)" "RX"
console show port xstats net_null0 >/dev/null
matches "show stats" "$(console show stats)" "net_null0"
matches "show drops" "$(console show drops)" "."
matches "bond hash" "$(console bond hash bond0 ffffffffffff020000000001080045)" "net_ring"
stop_xbond
