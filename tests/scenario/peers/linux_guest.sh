#!/bin/bash
# The first process of the user-mode-linux guest: a bond of both links, then what its console says.
exec 2>&1
export PATH=/usr/sbin:/usr/bin:/sbin:/bin PYTHONDONTWRITEBYTECODE=1
stty -echo
mount -t proc none /proc
mount -t sysfs none /sys
mount -t tmpfs none /run
mkdir -p /run/root/lib/modules
mount --bind /usr/lib/uml/modules /run/root/lib/modules
for module in veth sch_ingress cls_matchall act_mirred; do modprobe -d /run/root "$module"; done
modprobe -d /run/root bonding max_bonds=0
ip link set lo up

# The links tell no speed, without which the bonding driver does no LACP: a veth, which has one, is wired to each.
wire() {
  ip link add "nic$1" type veth peer name "wire$1"
  # It leaves checksums to hardware that is not there.
  ethtool -K "nic$1" tx off tso off gso off >/dev/null
  local end
  for end in "vec$1" "wire$1"; do
    ip link set "$end" up promisc on
    tc qdisc add dev "$end" clsact
  done
  tc filter add dev "vec$1" ingress matchall action mirred egress redirect dev "wire$1"
  tc filter add dev "wire$1" ingress matchall action mirred egress redirect dev "vec$1"
}

start_bond() {
  ip link add bond0 type bond mode 802.3ad miimon 100 lacp_rate fast lacp_active "$1" xmit_hash_policy layer3+4
  ip link set nic0 master bond0
  ip link set nic1 master bond0
  ip address add 10.1.1.2/24 dev bond0
  ethtool -K bond0 tx off tso off gso off >/dev/null
  ip link set bond0 up
  echo "bond is up"
}

wire 0
wire 1
echo "guest is ready"
while read -r line; do eval "$line"; done
