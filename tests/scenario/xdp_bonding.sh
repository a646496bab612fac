#!/usr/bin/env bash
# The kernel's own test of XDP on bonds (tools/testing/selftests/bpf/prog_tests/xdp_bonding.c), case by case with the
# results that it expects. What it sends by a bond of its own comes from captures here; bond2 is under test.
#
#   xdp_bonding.sh own      with objects of ours
#   xdp_bonding.sh kernel   with the test's programs, built from the kernel's sources (package linux-source-6.1)
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
case $1 in
  own)
    pass=$objects/xdp_pass.o tx=$objects/xdp_tx.o multi=$objects/xdp_redirect_multi.o
    ;;
  kernel)
    need clang
    archives=(/usr/src/linux-source-*.tar.xz)
    [[ -e ${archives[0]} ]] || skip "no kernel sources in /usr/src (package linux-source-6.1)"
    source_top=$(basename "${archives[0]}" .tar.xz)/tools/testing/selftests/bpf/progs
    names=(xdp_dummy.c xdp_redirect_multi_kern.c xdp_tx.c)
    # The archive is long: --occurrence ends the reading behind the last of them.
    tar -xJf "${archives[0]}" --occurrence=1 "${names[@]/#/$source_top/}"
    for name in "${names[@]}"; do
      clang -O2 -g -target bpf "-D__$(uname -m)__" -idirafter "/usr/include/$(uname -m)-linux-gnu" -c "$source_top/$name" -o "${name%.c}.o"
    done
    pass=xdp_dummy.o tx=xdp_tx.o multi=xdp_redirect_multi_kern.o
    ;;
  *) fail "own or kernel?" ;;
esac
packets=100

attached() { matches "answer to 'xdp attach $*'" "$(console xdp attach "$@")" "^$1: attached"; }
refused() { # REGEX COMMAND...
  local pattern=$1
  shift
  matches "answer to '$*'" "$(console "$@")" "$pattern"
}
# Bonds tell what becomes of them; everything else is a complaint.
accepted() {
  local answer
  answer=$(console "$@" | grep -vE '^(bond[a-z0-9_]*|dull): (\(slave |Setting |Adding |.*active interface|.*link status)' || true)
  same "answer to '$*'" "$answer" ""
}
upper_has="Cannot attach when an upper device already has a program"
slave_has="Slave has XDP program loaded, please unload before enslaving"

step "attach: a bond and its member do not both have a program"
start_xbond --vdev=net_ring0 --vdev=net_ring1 -- --port net_ring0,host=off --port net_ring1,host=off
accepted create bond bond mode balance-rr
attached net_ring0 "$pass"
accepted add bond member bond net_ring0 # allowed: the bond has none
accepted xdp detach net_ring0
attached net_ring0 "$pass" # allowed: the bond has none
refused "$slave_has" xdp attach bond "$pass"
accepted xdp detach net_ring0
attached bond "$pass"
refused "$upper_has" xdp attach net_ring0 "$pass"
accepted xdp detach bond
note "a member that cannot run XDP: here a bond in balance-alb, as vxlan is there"
accepted create bond dull mode balance-alb
accepted add bond member dull net_ring1
accepted add bond member bond dull
refused "No native XDP support|does not support XDP" xdp attach bond "$pass"
matches "programs" "$(console show xdp)" "no XDP program attached"
stop_xbond

step "nested: a program on a bond whose member is a bond whose member is a bond"
start_xbond --vdev=net_ring0 -- --port net_ring0,host=off
accepted create bond bond mode balance-rr
accepted create bond bond_nest1 mode balance-rr
accepted create bond bond_nest2 mode balance-rr
accepted add bond member bond bond_nest1
accepted add bond member bond_nest1 bond_nest2
attached bond "$pass"
accepted xdp detach bond
stop_xbond

step "features: which modes and policies take a program, and lose it for none"
start_xbond --vdev=net_ring0 -- --port net_ring0,host=off
accepted create bond bond mode balance-rr
for mode in broadcast balance-tlb balance-alb; do
  accepted set bond bond down
  accepted set bond bond mode $mode
  refused "No native XDP support for the current bonding mode" xdp attach bond "$pass"
done
for mode in balance-rr active-backup balance-xor 802.3ad; do
  accepted set bond bond mode $mode
  attached bond "$pass"
  accepted xdp detach bond
done
accepted set bond bond xmit_hash_policy vlan+srcmac
refused "No native XDP support for the current bonding mode" xdp attach bond "$pass"
accepted set bond bond xmit_hash_policy layer2
attached bond "$pass"
refused "." set bond bond xmit_hash_policy vlan+srcmac
stop_xbond

# with_mode MODE POLICY: what came in goes back by XDP_TX; prints how many frames left by each member
with_mode() {
  local mode=$1 policy=$2
  step "$mode, $policy: XDP_TX leaves by the member that the bond picks"
  if [[ $policy == layer3+4 ]]; then
    "$tools/pcap.py" bonding all.pcap
  else
    "$tools/pcap.py" bonding all.pcap vary-ip
  fi
  "$tools/pcap.py" deal all.pcap in0.pcap in1.pcap
  start_xbond --vdev=net_pcap0,rx_pcap=in0.pcap,tx_pcap=out0.pcap --vdev=net_pcap1,rx_pcap=in1.pcap,tx_pcap=out1.pcap \
    -- --bond "bond2,mode=$mode,xmit_hash_policy=$policy,member=net_pcap0,member=net_pcap1" --xdp "bond2=$tx" --auto-start
  wait_for 10 "$packets frames sent" sent
  stop_xbond
  first=$("$tools/pcap.py" count out0.pcap) second=$("$tools/pcap.py" count out1.pcap)
  diff=$((first > second ? first - second : second - first))
  note "$first by the first member, $second by the second"
  same "frames that came back" $((first + second)) $packets
}
sent() { [[ $(console show stats json | json "sum(p['tx'] for p in d['ports'])") == "$packets" ]]; }
even() { ((diff < packets / 2)) || fail "expected even distribution of packets"; }
on_one() { ((diff >= packets)) || fail "expected packets on only one of the interfaces"; }

with_mode balance-rr layer2+3
even
with_mode active-backup layer2+3
on_one
with_mode balance-xor layer2
on_one
with_mode balance-xor layer2+3
even
with_mode balance-xor layer3+4
even

step "redirect_multi: a broadcast goes neither to the bond nor to the member that received, but to the other interface"
"$tools/pcap.py" bonding all.pcap vary-ip
start_xbond --vdev=net_pcap0,rx_pcap=all.pcap,tx_pcap=out0.pcap --vdev=net_pcap1,tx_pcap=out1.pcap \
  -- --port net_pcap1,host=off --bond "bond2,mode=balance-rr,xmit_hash_policy=layer2+3,member=net_pcap0" \
  --xdp "bond2=$multi:xdp_redirect_map_multi_prog"
key=0
for name in bond2 net_pcap0 net_pcap1; do
  key=$((key + 1))
  accepted bpf map update bond2:map_all key u32 $key value if $name
done
console start >/dev/null
wait_for 10 "$packets frames sent" sent
stop_xbond
same "frames back by the member" "$("$tools/pcap.py" count out0.pcap)" 0
same "frames by the other interface" "$("$tools/pcap.py" count out1.pcap)" $packets

step "master down: XDP_TX on a bond that is down drops the frames"
start_xbond --vdev=net_pcap0,rx_pcap=all.pcap,tx_pcap=out0.pcap -- --bond "bond2,mode=balance-rr,member=net_pcap0" --xdp "bond2=$tx"
accepted set bond bond2 down
console start >/dev/null
down() { [[ $(console show drops json | json "sum(i['drops'].get('xdp_bond_down', 0) for i in d)") == "$packets" ]]; }
wait_for 10 "$packets frames dropped" down
stop_xbond
same "frames back by the member" "$("$tools/pcap.py" count out0.pcap)" 0
