# shellcheck shell=bash
# LACP partner: Open vSwitch with its userspace datapath. peer_start ACTIVE-OR-PASSIVE
need ovs-vswitchd ovsdb-server ovsdb-tool ovs-vsctl
peer_can_be_passive=true
peer_sees_carrier=true

peer_links() {
  host peer
  cable port0 peer end0
  cable port1 peer end1
  # The partner's ends are the partner's alone: its host's stack must not answer there.
  local end
  for end in end0 end1; do on peer sysctl -qw "net.ipv4.conf.$end.arp_ignore=8" "net.ipv4.conf.$end.rp_filter=1"; done
  mkdir -p /run/openvswitch
}

ovs() { ovs-vsctl --db="unix:$work/ovs.sock" --timeout=20 "$@"; }

peer_start() {
  rm -f ovs.db ovs.sock
  ovsdb-tool create ovs.db /usr/share/openvswitch/vswitch.ovsschema
  exec_on peer ovsdb-server "$work/ovs.db" --remote="punix:$work/ovs.sock" --unixctl="$work/ovsdb.ctl" \
    >>ovs.log 2>&1 & ovs_pids=($!)
  wait_for 10 "ovsdb-server" test -S ovs.sock
  ovs --no-wait init
  exec_on peer ovs-vswitchd "unix:$work/ovs.sock" --unixctl="$work/ovs.ctl" --disable-system >>ovs.log 2>&1 &
  ovs_pids+=($!)
  # A bridge takes another address with each port unless it is told its own.
  ovs add-br br0 -- set bridge br0 datapath_type=netdev other_config:hwaddr=02:00:00:00:b0:02
  ovs add-bond br0 bond0 end0 end1 "lacp=${1:-active}" bond_mode=balance-tcp other_config:lacp-time=fast \
    -- set interface br0 type=internal
  wait_for 20 "the partner's interface" ip -n peer link show br0
  on peer ethtool -K br0 tx off tso off gso off >/dev/null 2>&1 || true
  ip -n peer address replace 10.1.1.2/24 dev br0
  ip -n peer link set br0 up
}

peer_stop() {
  kill -KILL "${ovs_pids[@]}"
  wait "${ovs_pids[@]}" 2>/dev/null || true
}

peer_carrier() { ip -n peer link set "end$1" "$2"; }
peer_serve() { serve_on peer; }
