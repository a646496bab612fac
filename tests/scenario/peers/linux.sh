# shellcheck shell=bash
# LACP partner: the bonding driver of a Linux kernel, in user-mode-linux. Its root is this machine's file system, its
# two links end at taps that xbond takes as port0 and port1. peer_start active|passive
need linux.uml
peer_can_be_passive=true
peer_sees_carrier=true

peer_links() {
  local tap
  for tap in port0 port1; do
    ip tuntap add "$tap" mode tap
    sysctl -qw "net.ipv4.conf.$tap.arp_ignore=8" "net.ipv4.conf.$tap.rp_filter=1"
    ip link set "$tap" up
  done
  mkfifo guest
  exec 8<>guest
}

guest() { printf '%s\n' "$1" >&8; }

peer_start() {
  local active=on
  [[ ${1:-active} == active ]] || active=off
  : >guest.log
  # A process group of its own: the kernel's helpers end with it.
  setsid linux.uml mem=128M root=/dev/root rootfstype=hostfs rootflags=/ ro init="$tools/peers/linux_guest.sh" quiet \
    con=null con0=fd:0,fd:1 umid=linux uml_dir="$work/" vec0:transport=tap,ifname=port0,depth=64 \
    vec1:transport=tap,ifname=port1,depth=64 <guest >>guest.log 2>&1 &
  peer_pid=$!
  wait_for 60 "the guest" grep -q 'guest is ready' guest.log
  guest "start_bond $active"
  wait_for 20 "the guest's bond" grep -q 'bond is up' guest.log
}

peer_stop() {
  kill -KILL -- "-$peer_pid" 2>/dev/null || kill -KILL "$peer_pid"
  wait "$peer_pid" 2>/dev/null || true
  # What was said to the old one is not for the next.
  exec 8>&-
  rm -f guest
  mkfifo guest
  exec 8<>guest
}

peer_carrier() { guest "ip link set vec$1 $2"; }
peer_serve() { guest "$tools/flow.py echo 7777 &"; }
