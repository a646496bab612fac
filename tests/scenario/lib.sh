# shellcheck shell=bash
# What every scenario stands on. A scenario sources this file first; it then runs in a sandbox of its own: a process, a
# mount and a network namespace, with a private /run. Whatever it starts or makes ends with it, also when it is killed,
# and scenarios can run side by side. Exit status: 0 it holds, 77 it can't be shown here (the reason is printed), else
# it does not hold.
#
# XBOND    the binary                XBOND_OBJECTS    directory of the XDP objects built from tests/data/bpf
# TRACE=1  prints the console's traffic
set -euo pipefail

# shellcheck disable=SC2034  # some of these are for the scenarios
{
  top=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
  tools=$top/tests/scenario
  xbond=${XBOND:-$top/build/app/xbond/xbond}
  objects=${XBOND_OBJECTS:-$top/build/tests/data/bpf}
  distribution_objects=/usr/lib/$(uname -m)-linux-gnu/bpf # where Debian's libxdp1 keeps its objects
}
export PYTHONDONTWRITEBYTECODE=1

skip() {
  echo "SKIP: $*"
  exit 77
}

need() {
  local command
  for command in "$@"; do
    command -v "$command" >/dev/null || skip "$command is not installed"
  done
}

# --- sandbox -----------------------------------------------------------------------------------------------------------

sandbox_flags=(--mount --net --pid --fork --kill-child --mount-proc)
((EUID == 0)) || sandbox_flags+=(--user --map-root-user)

# Runs the script itself again, inside. A death of the outer shell takes all with it.
enter_sandbox() {
  unshare "${sandbox_flags[@]}" true 2>/dev/null || skip "no permission to make namespaces (run as root)"
  local status=0
  IN_SANDBOX=1 setpriv --pdeathsig KILL unshare "${sandbox_flags[@]}" "$(realpath "$0")" "$@" || status=$?
  exit "$status"
}
if [[ -z ${IN_SANDBOX:-} ]]; then
  need unshare setpriv ip
  enter_sandbox "$@"
fi

mount -t tmpfs -o mode=755 none /run
mount -t sysfs none /sys 2>/dev/null || true # so that /sys/class/net shows this namespace's interfaces
work=/run/scenario
mkdir -p "$work" /run/netns
cd "$work"
ip link set lo up
# No packet that nobody sent: neighbour and multicast discovery would disturb counts.
sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1

xbond_pid=
finish() {
  local status=$?
  trap - EXIT
  if ((status != 0 && status != 77 && status < 128)) && [[ -s $work/xbond.log ]]; then
    echo "--- last lines of xbond:"
    tail -n 40 "$work/xbond.log" | cut -c 1-300
  fi
  exit "$status" # process 1 of its namespace ends: the kernel ends all others
}
trap finish EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# --- telling and judging -----------------------------------------------------------------------------------------------

step() { printf '* %s\n' "$*"; }
note() { printf '    %s\n' "$*"; }

fail() {
  printf 'FAILED: %s\n' "$*" >&2
  exit 1
}

# same WHAT GOT WANTED
same() {
  [[ $2 == "$3" ]] || fail "$1: got '$2', wanted '$3'"
}

# matches WHAT TEXT REGEX
matches() {
  [[ $2 =~ $3 ]] || fail "$1: '$2' does not match '$3'"
}

# wait_for SECONDS WHAT COMMAND...: until the command succeeds. XBOND_PATIENCE times as long, where scripts share the
# machine; what is promised to be soon is measured by those that run alone.
wait_for() {
  local deadline=$((SECONDS + $1 * ${XBOND_PATIENCE:-1})) what=$2
  shift 2
  until "$@" >/dev/null 2>&1; do
    ((SECONDS < deadline)) || fail "not within time: $what"
    sleep 0.02
  done
}

# json EXPRESSION <<<TEXT: a Python expression over the document `d`; prints true/false, numbers and words plainly
json() {
  python3 -c '
import json, sys
d = json.load(sys.stdin)
value = eval(sys.argv[1])
print(value if isinstance(value, str) else json.dumps(value))' "$1"
}

now_ns() { python3 -c 'import time; print(time.monotonic_ns())'; }

# --- hosts and links ---------------------------------------------------------------------------------------------------

# host NAME: a kernel host of its own
host() {
  ip netns add "$1"
  ip -n "$1" link set lo up
  on "$1" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
}

# on HOST COMMAND...
on() { ip netns exec "$@"; }
# exec_on HOST COMMAND... &: the same in the background; $! is then the command's own process
exec_on() { exec ip netns exec "$@"; }

# cable PORT HOST END: a veth from here (PORT, which DPDK takes) to END on HOST
cable() {
  # Both ends are made here and one is moved, so that their ifindexes differ: with equal ones the kernel is slow to
  # report a lost carrier.
  ip link add "$1" type veth peer name "$3"
  ip link set "$3" netns "$2"
  # This side's stack must not answer what belongs to the appliance: no ARP, no packet whose way back is not this very
  # interface.
  sysctl -qw "net.ipv4.conf.$1.arp_ignore=8" "net.ipv4.conf.$1.rp_filter=1"
  ip link set "$1" up
  # A veth leaves checksums to hardware that is not there.
  on "$2" ethtool -K "$3" tx off tso off gso off >/dev/null 2>&1
  ip -n "$2" link set "$3" up
}

# bridge HOST ADDRESS/LEN END...: the ends become ports of a bridge that has the address: a switch and a host in one.
# Frames go between the host and a port, never from port to port: two members of a bond must not hear each other.
bridge() {
  local on=$1 address=$2 end
  shift 2
  ip -n "$on" link add br0 type bridge stp_state 0 forward_delay 0
  for end in "$@"; do
    ip -n "$on" link set "$end" master br0
    on "$on" bridge link set dev "$end" isolated on
  done
  # What the bridge's host sends has its checksum computed in software, too.
  on "$on" ethtool -K br0 tx off tso off gso off >/dev/null 2>&1
  ip -n "$on" link set br0 up
  ip -n "$on" address add "$address" dev br0
}

# --- xbond -------------------------------------------------------------------------------------------------------------

run_as=() # a command in front of xbond, such as setpriv

# start_xbond ARGUMENT...: starts it with a console on a pipe and waits until it answers
start_xbond() {
  [[ -x $xbond ]] || fail "no xbond at $xbond"
  rm -f console
  mkfifo console
  exec 9<>console
  : >xbond.log
  "${run_as[@]}" "$xbond" "$@" -i <console >>xbond.log 2>&1 9>&- &
  xbond_pid=$!
  console_line "" >/dev/null
}

running() { kill -0 "$xbond_pid" 2>/dev/null; }

# console_line LINE: sends one line and prints what comes until it is done. A second line, which no command has, marks
# the end: its complaint comes when all of the first one's output is out.
console_line() {
  local from mark=end-of-answer deadline=$((SECONDS + 20))
  from=$(stat -c %s xbond.log)
  printf '%s\n%s\n' "$1" "$mark" >&9
  until tail -c "+$((from + 1))" xbond.log | grep -q "$mark"; do
    running || fail "xbond ended while it was asked '$1'"
    ((SECONDS < deadline)) || fail "no answer to '$1'"
    sleep 0.01
  done
  tail -c "+$((from + 1))" xbond.log | grep -v "$mark" || true
}

# console COMMAND...: as one would type it; prints the answer
console() {
  [[ -z ${TRACE:-} ]] || printf '    xbond> %s\n' "$*" >&2
  local answer
  answer=$(console_line "$*")
  [[ -z ${TRACE:-} ]] || printf '    %s\n' "${answer//$'\n'/$'\n'    }" >&2
  [[ -z $answer ]] || printf '%s\n' "$answer"
}

# stop_xbond: as a user leaves; it must end by itself, with status 0
stop_xbond() {
  printf 'quit\n' >&9
  ended_with 0
}

# ended_with STATUS: it ends within 10 s, with this status
ended_with() {
  local deadline=$((SECONDS + 10)) status=0
  while running; do
    ((SECONDS < deadline)) || fail "xbond does not end"
    sleep 0.02
  done
  wait "$xbond_pid" || status=$?
  exec 9>&-
  same "xbond's exit status" "$status" "$1"
}

# --- the usual place ---------------------------------------------------------------------------------------------------

#   this namespace: xbond                      host `peer`
#   tap bond0 10.1.1.1/24 ─ bond0 ┬ port0 ════ end0 ┐
#                                 └ port1 ════ end1 ┴ br0 10.1.1.2/24
#
# two_members: makes the cables and the peer
two_members() {
  host peer
  cable port0 peer end0
  cable port1 peer end1
  bridge peer 10.1.1.2/24 end0 end1
}

# start_bond_alone OPTIONS [ARGUMENT...]: xbond with bond0 over both cables (OPTIONS as in --bond), its tap with an
# address and a carrier
start_bond_alone() {
  local options=$1
  shift
  start_xbond --vdev=net_af_packet0,iface=port0 --vdev=net_af_packet1,iface=port1 \
    -- --bond "bond0,$options,member=net_af_packet0,member=net_af_packet1" --auto-start "$@"
  ip link set bond0 up
  ip address add 10.1.1.1/24 dev bond0
  wait_for 5 "carrier on the tap" tap_has_carrier
}
tap_has_carrier() { [[ $(cat /sys/class/net/bond0/carrier) == 1 ]]; }

# start_bond OPTIONS [ARGUMENT...]: the same, and the peer answers
start_bond() {
  start_bond_alone "$@"
  wait_for 10 "the peer answers" ping -c 1 -W 1 10.1.1.2
}

active_member() { console show bond bond0 json | json "next((m['name'] for m in d[0]['members'] if m['active']), 'none')"; }
active_is() { [[ $(active_member) == "$1" ]]; }
