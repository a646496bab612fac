#!/usr/bin/env bash
# Carrier flaps, members that leave and come back, options that change and workers that are stopped and started, all under
# traffic: no frame is lost, doubled or overtaken within its flow, no mbuf leaks, nothing stalls.
#
#   flaps.sh [COUNT]     default 500
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
flaps=${XBOND_FLAPS:-$top/build/tests/rig/xbond-flaps}
[[ -x $flaps ]] || fail "no xbond-flaps at $flaps"
count=${1:-500}

step "given $count changes under traffic, then every frame comes out once, in order"
"$flaps" "$count" "$objects/xdp_tx.o" || fail "$count changes"
