# shellcheck shell=bash
# LACP partner: the bonding PMD of DPDK in testpmd, mode 4, with a tap behind it as its host. It is always active and
# always asks for slow PDUs. It sends its own only when it has something else to send: a trickle of frames from its host,
# to nobody, sees to that.
need dpdk-testpmd
peer_can_be_passive=false
# net_af_packet says "up" whatever happens: for half of its flows the partner goes on with a dead link until 90 s are over.
peer_sees_carrier=false

peer_links() {
  host peer
  cable port0 peer end0
  cable port1 peer end1
  # The partner's ends are the partner's alone: its host's stack must not answer there.
  local end
  for end in end0 end1; do on peer sysctl -qw "net.ipv4.conf.$end.arp_ignore=8" "net.ipv4.conf.$end.rp_filter=1"; done
}

peer_start() {
  mkfifo testpmd 2>/dev/null || true
  exec 8<>testpmd
  exec_on peer dpdk-testpmd --no-huge -m 256 --no-shconf --no-pci --iova-mode=va --file-prefix=peer -l 0,1 \
    --vdev=net_af_packet0,iface=end0 --vdev=net_af_packet1,iface=end1 --vdev=net_tap0,iface=host0 \
    -- -i --total-num-mbufs=4096 --rxd=256 --txd=256 <testpmd >>testpmd.log 2>&1 &
  peer_pid=$!
  local line
  for line in "port stop all" "create bonded device 4 0" "add bonding slave 0 3" "add bonding slave 1 3" \
    "set bonding balance_xmit_policy 3 l34" "port start all" "set portlist 3,2" "set fwd io" "start"; do
    echo "$line" >&8
  done
  wait_for 20 "the partner's tap" ip -n peer link show host0
  on peer ethtool -K host0 tx off >/dev/null 2>&1 || true
  ip -n peer address add 10.1.1.2/24 dev host0
  ip -n peer link set host0 up
  ip -n peer neigh replace 10.1.1.250 lladdr 02:00:00:00:00:fe dev host0
  exec_on peer "$tools/flow.py" send 10.1.1.250 9 100000 50 trickle.sent & trickle=$!
}

peer_stop() {
  kill -KILL "$peer_pid" "$trickle"
  wait "$peer_pid" 2>/dev/null || true
  exec 8>&-
}

peer_carrier() { ip -n peer link set "end$1" "$2"; }
peer_serve() { serve_on peer; }
