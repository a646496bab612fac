#!/usr/bin/env bash
# The offline tool: objects are shown, judged and run without ports, hugepages, a kernel's help or privileges. Its output
# is for scripts, so its forms are part of the contract.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
xbpf=${XBPF:-$top/build/app/xbpf/xbpf}
[[ -x $xbpf ]] || fail "no xbpf at $xbpf"
schemas=$top/tests/data/schema
# As nobody, where root can become so
plain=()
! setpriv --reuid 65534 --regid 65534 --clear-groups "$xbpf" engines >/dev/null 2>&1 ||
  plain=(setpriv --reuid 65534 --regid 65534 --clear-groups --bounding-set -all)
tool() { "${plain[@]}" "$xbpf" "$@"; }
# gives STATUS COMMAND...: runs the tool, which must end so; its output is in `out`, its errors in `err`
gives() {
  local wanted=$1 status=0
  shift
  tool "$@" >out 2>err || status=$?
  same "status of xbpf $* ($(cat out err))" "$status" "$wanted"
}

python3 -c '
frame = bytes(range(12)) + b"\x08\x00" + bytes(46)
open("frame", "wb").write(frame)
open("frames", "w").write("# two frames, one too short\n" + frame.hex() + "\n\n" + frame[:10].hex() + "\n")'

: >left
chmod 666 left # for whom the tool runs as

step "given objects of every kind, show tells what is in them"
gives 0 show "$objects/xdp_map_values.o" --json
"$tools/schema.py" "$schemas/xbpf_show.json" <out || fail "show --json"
same "programs" "$(json '[p["name"] for p in d["programs"]]' <out)" '["leaf", "root"]'
same "first values" "$(json '[v["value"] for m in d["maps"] if m["name"] == "tables" for v in m["values"]]' <out)" \
  '["first", "second"]'
gives 0 show "$objects/conf_legacy.o"
matches "legacy maps" "$(cat out)" "map hidden  percpu_array"
gives 1 show "$objects/xdp_struct_ops.o"
same "lines of complaint" "$(wc -l <err)" 1
matches "complaint" "$(cat err)" "map dummy is of type struct_ops"

step "verify ends with 0, 1 or 2, and its last line says why"
gives 0 verify "$objects/xdp_count.o"
matches "what is proven" "$(tail -n 1 out)" "proven safe"
gives 1 verify "$objects/xdp_oob.o"
matches "why it is unsafe" "$(tail -n 1 out)" "compare a pointer behind the last byte with data_end"
gives 1 verify "$objects/xdp_iproute_maps.o" --prog strong
matches "why it is refused" "$(tail -n 1 out)" "bpf_ct_release"
gives 1 verify "$objects/xdp_iproute_maps.o" --prog strong --json
"$tools/schema.py" "$schemas/xbpf_verify.json" <out || fail "verify --json"
gives 2 verify "$objects/no-such.o"
gives 2 verify "$objects/xdp_two.o" --prog third

step "run gives one JSON object, with the frame and the maps as the program left them"
gives 0 run "$objects/xdp_count.o" --data-in frame --map counts:02000000=2900000000000000 --dump-maps --data-out left
"$tools/schema.py" "$schemas/xbpf_run.json" <out || fail "run"
same "action" "$(json 'd["action"]' <out)" XDP_PASS
same "count of IPv4" "$(json '[e["value"] for e in d["maps"]["counts"]][2]' <out)" 2a00000000000000
cmp frame left || fail "--data-out is another frame"
gives 0 run "$objects/xdp_tx_swap.o" --data-in - --repeat 3 <frame
same "MAC addresses, swapped three times" "$(json 'd["data_out"][:24]' <out)" 060708090a0b000102030405
gives 0 run "$objects/xdp_unknown.o" --data-in frame
same "unknown verdict" "$(json '[d["retval"], d["action"]]' <out)" '[42, "unknown"]'
gives 0 run "$objects/xdp_oob.o" --data-in frame
same "a broken rule" "$(json '[d["action"], d["fault"][:14]]' <out)" '["XDP_ABORTED", "instruction 2:"]'

step "with --packets a line in is a line out, and maps live through the file"
gives 0 run "$objects/xdp_count.o" --packets frames --dump-maps
same "lines" "$(wc -l <out)" 3
same "frames counted" "$(tail -n 1 out | json 'd["maps"]["counts"][0]["value"]')" 0200000000000000

step "exec runs raw instructions on memory"
same "add" "$(tool exec '01 ff' <<<'7110000000000000 7111010000000000 0f10000000000000 9500000000000000')" 100
same "length" "$(tool exec 0102030405 <<<'bf20000000000000 9500000000000000')" 5
same "no memory" "$(tool exec <<<'18000000efbeadde 000000000df0adba 9500000000000000')" baadf00ddeadbeef
gives 1 exec 0102 <<<'7910010000000000 9500000000000000'
matches "complaint" "$(cat err)" "instruction 0: read outside"

step "dump shows the code in the kernel's words; what this build does not have it says"
gives 0 dump "$objects/xdp_core.o" --prog core bytecode
same "the context's field, relocated" "$(head -n 1 out)" "   0: (61) r1 = *(u32 *)(r1 +16)"
gives 0 engines
matches "engines" "$(cat out)" "interpreter"
if grep -qx llvm out; then
  gives 0 dump "$objects/xdp_core.o" --prog core lowered
  matches "intermediate code" "$(cat out)" "define void @burst"
  gives 0 dump "$objects/xdp_core.o" --prog core native
  matches "assembly" "$(cat out)" "burst:"
  gives 1 dump "$objects/xdp_oob.o" native
  matches "complaint" "$(cat err)" "the verifier refuses it: instruction 2"
else
  gives 1 dump "$objects/xdp_core.o" --prog core native
fi
gives 1 dump "$objects/xdp_oob.o" native
same "lines of complaint" "$(wc -l <err)" 1

step "an engine asked for by name runs the program, or refuses it with one line"
add='7110000000000000 7111010000000000 0f10000000000000 9500000000000000'
same "interpreter" "$(tool exec '01 ff' --engine interpreter <<<"$add")" 100
gives 1 run "$objects/xdp_count.o" --data-in frame --engine rte_bpf
same "lines of complaint" "$(wc -l <err)" 1
if tool engines | grep -qx llvm; then
  same "llvm" "$(tool exec '01 ff' --engine llvm <<<"$add")" 100
  gives 1 exec 0102 --engine llvm <<<'7910010000000000 9500000000000000'
  matches "complaint" "$(cat err)" "instruction 0: invalid access to map value"
  gives 0 run "$objects/xdp_count.o" --data-in frame --engine llvm
  same "engine" "$(json 'd["engine"]' <out)" llvm
  gives 0 run "$objects/xdp_oob.o" --data-in frame
  matches "why not llvm" "$(json 'd["why_engine"]' <out)" "llvm: the verifier refuses it: instruction 2"
  gives 1 run "$objects/xdp_oob.o" --data-in frame --engine llvm
  matches "complaint" "$(cat err)" "engine llvm can't take it: the verifier refuses it: instruction 2"
else
  gives 1 exec '01 ff' --engine llvm <<<"$add"
  matches "complaint" "$(cat err)" "engine llvm is not in this build"
fi
same "lines of complaint" "$(wc -l <err)" 1

step "wrong words are one line and status 2"
for words in "frobnicate" "run $objects/xdp_pass.o" "run $objects/xdp_pass.o --data-in frame --repeat 0" \
  "run $objects/xdp_pass.o --data-in frame --map x" "show" "dump $objects/xdp_pass.o sideways"; do
  # shellcheck disable=SC2086
  gives 2 $words
  same "lines of complaint about '$words'" "$(wc -l <err)" 1
done

step "it starts within 0.3 s, also where it reads the kernel's types"
least=1000000
for _ in 1 2 3 4 5; do # a busy machine says little once
  before=${EPOCHREALTIME/./}
  gives 0 show "$objects/conf_core.o"
  took=$((${EPOCHREALTIME/./} - before))
  ((took >= least)) || least=$took
done
note "$((least / 1000)) ms"
((least < 300000)) || fail "took $((least / 1000)) ms"
