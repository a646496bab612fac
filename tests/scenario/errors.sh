#!/usr/bin/env bash
# Bad input: one clear line that says what and why; at start nothing else and exit status 1, at run time nothing changes.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
[[ -x $xbond ]] || fail "no xbond at $xbond"

cp "$objects"/*.o .
printf 'not an object\n' >text.o
rings=(--vdev=net_ring0 --vdev=net_ring1 --vdev=net_null0)

# refused REGEX ARGUMENT...: at start, with and without --check
refused() {
  local pattern=$1 status check
  shift
  for check in "" --check; do
    status=0
    # shellcheck disable=SC2086  # an empty word is no word
    timeout 20 "$xbond" "${rings[@]}" -- "$@" $check </dev/null >out 2>err || status=$?
    same "exit status of '$* $check' ($(cat err))" "$status" 1
    same "standard output of '$* $check'" "$(cat out)" ""
    same "lines of complaint about '$* $check' ($(cat err))" "$(wc -l <err)" 1
    matches "complaint about '$*'" "$(cat err)" "$pattern"
  done
  note "$(cat err)"
}

step "at start"
bond=bond0,member=net_ring0
refused "net_ring7" --port net_ring7
refused "net_ring7" --bond bond0,mode=1,member=net_ring0,member=net_ring7
refused "net_ring8" --port net_ring0 --port net_null0 --port net_ring8
refused "net_ring0.*" --bond "$bond" --bond bond1,member=net_ring0
refused "net_ring0.*" --bond "$bond" --port net_ring0
refused "bond0" --bond "$bond" --bond bond0,member=net_ring1
refused "mode.*balance-rr.*active-backup.*balance-xor" --bond "$bond,mode=fastest"
refused "xmit_hash_policy.*layer2.*layer3\+4" --bond "$bond,mode=balance-xor,xmit_hash_policy=layer9"
refused "primary_reselect.*always.*better.*failure" --bond "$bond,mode=1,primary_reselect=maybe"
refused "miimon.*fast" --bond "$bond,miimon=fast"
refused "speed" --bond "$bond,speed=fast"
refused "missing\.o.*[Nn]o such file" --bond "$bond" --xdp bond0=missing.o
refused "text\.o.*ELF" --bond "$bond" --xdp bond0=text.o
refused "xdp_none\.o.*no XDP program" --bond "$bond" --xdp bond0=xdp_none.o
refused "xdp_two\.o.*first.*second" --bond "$bond" --xdp bond0=xdp_two.o
refused "xdp_oob.*instruction [0-9]+.*invalid access to packet.*compare a pointer" --bond "$bond" --xdp bond0=xdp_oob.o
refused "third.*first.*second" --bond "$bond" --xdp bond0=xdp_two.o:third
refused "bond7" --bond "$bond" --xdp bond7=xdp_pass.o
refused "llvm|fastest" --bond "$bond" --bpf-engine fastest
refused "no-such-option" --no-such-option
refused "no-such-file" --bond "$bond" --config no-such-file
refused "burst" --bond "$bond" --burst 0

step "in a start file: with its name and line"
printf '# a comment\n\nshow bond\nshow bnod\nshow bond\n' >start
status=0
"$xbond" "${rings[@]}" -- --bond "$bond" --cmdline-file start </dev/null >out 2>err || status=$?
same "exit status" "$status" 1
matches "complaint" "$(cat err)" "start:4: "
same "lines of complaint ($(cat err))" "$(wc -l <err)" 1
same "bonds shown before it ended" "$(grep -c 'Ethernet Channel Bonding' out)" 1
note "$(cat err)"

step "while running: nothing changes"
start_xbond "${rings[@]}" -- --bond "$bond,mode=active-backup" --xdp bond0=xdp_count.o --auto-start
state() {
  console show bond json
  console show xdp json
  console show port summary json
}
before=$(state)

# complains REGEX COMMAND...
complains() {
  local pattern=$1 answer
  shift
  answer=$(console "$@")
  same "lines of answer to '$*' ($answer)" "$(wc -l <<<"$answer")" 1
  matches "answer to '$*'" "$answer" "$pattern"
  same "state after '$*'" "$(state)" "$before"
  note "$* -> $answer"
}

complains "unknown command" frobnicate
complains "show" show bnod
complains "slaves|up" set bond bond0 mode balance-rr
complains "primary_reselect.*always" set bond bond0 primary_reselect maybe
complains "option.*speed" set bond bond0 speed fast
complains "invalid|range|miimon" set bond bond0 miimon -5
complains "net_ring1" set bond bond0 active_slave net_ring1
complains "missing\.o" xdp attach bond0 missing.o force
complains "ELF" xdp attach bond0 text.o force
complains "no XDP program" xdp attach bond0 xdp_none.o force
complains "first.*second" xdp attach bond0 xdp_two.o force
complains "xdp_oob.*instruction [0-9]+.*invalid access to packet.*compare a pointer" xdp attach bond0 xdp_oob.o force
complains "third.*first.*second" xdp attach bond0 xdp_two.o third force
complains "force|busy|already" xdp attach bond0 xdp_pass.o
complains "upper device" xdp attach net_ring0 xdp_pass.o
complains "bond9" xdp attach bond9 xdp_pass.o
complains "key" bpf map update bond0:counts key hex 00 00 00 value u64 1
complains "key" bpf map lookup bond0:counts key hex 00 00 00 00 00
complains "value" bpf map update bond0:counts key u32 1 value u32 1
complains "counts" bpf map dump bond0:no_such_map
complains "." bpf map update bond0:counts key u32 77 value hex 00 00 00 00 00 00 00 00
complains "hex" bond hash bond0 xyz
complains "." bond hash bond0 @no-such-file
complains "net_ring9" show port info net_ring9
complains "bond9" show bond bond9
complains "up.*down|syntax|usage" set bond bond0 sideways
stop_xbond
