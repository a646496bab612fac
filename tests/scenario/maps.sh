#!/usr/bin/env bash
# An operator looks into maps of every family and changes them, by the words that bpftool takes and by names; what is
# refused is told in one line and changes nothing.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh" "$@"
[[ -x $xbond ]] || fail "no xbond at $xbond"
cp "$objects/xdp_maps.o" .

# A port of net_null receives zeroed frames of 64 bytes without end
step "given a program with a map of each family on a port that receives"
start_xbond --vdev=net_null0 --vdev=net_ring0 -- --port net_null0,host=off --port net_ring0,host=off --xdp net_null0=xdp_maps.o:sort --auto-start
m=net_null0

# says WANTED COMMAND...: the whole answer
says() {
  local wanted=$1
  shift
  same "answer to '$*'" "$(console "$@")" "$wanted"
}
# complains REGEX COMMAND...: one line
complains() {
  local pattern=$1 answer
  shift
  answer=$(console "$@")
  same "lines of answer to '$*' ($answer)" "$(wc -l <<<"$answer")" 1
  matches "answer to '$*'" "$answer" "$pattern"
  note "$* -> $answer"
}

step "then a hash map shows what the program counted, takes entries and is full at its size"
counted() { [[ $(console bpf map lookup $m:lengths key u32 64 json | json 'd["key"]') == 40000000 ]]; }
wait_for 10 "the length of the frames as a key" counted
says "" bpf map update $m:lengths key u32 1 value u64 7
says "key: 01 00 00 00  value: 07 00 00 00 00 00 00 00" bpf map lookup $m:lengths key u32 1
complains "is there" bpf map update $m:lengths key u32 1 value u64 7 noexist
complains "no such entry" bpf map update $m:lengths key u32 2 value u64 7 exist
says "" bpf map update $m:lengths key u32 2 value u64 7
says "" bpf map update $m:lengths key u32 3 value u64 7
complains "full, 4 entries" bpf map update $m:lengths key u32 4 value u64 7
says "" bpf map delete $m:lengths key u32 3
complains "no such entry" bpf map delete $m:lengths key u32 3
same "entries" "$(console bpf map dump $m:lengths json | json 'len(d)')" 3

step "then values of single workers are named by their number"
says "" bpf map update $m:each key u32 1 value u32 5
says "" bpf map update $m:each key u32 1 value cpu 0 u32 9
matches "the first worker's" "$(console bpf map lookup $m:each key u32 1 | sed -n 2p)" "value \(CPU 00\): 09 00 00 00"
complains "cpu" bpf map update $m:each key u32 1 value cpu 99 u32 9

step "then routes go by prefix"
says "" bpf map update $m:routes key u32 8 ip 10.0.0.0 value u32 1
says "" bpf map update $m:routes key u32 16 ip 10.1.0.0 value u32 2
says "key: 20 00 00 00 0a 01 02 03  value: 02 00 00 00" bpf map lookup $m:routes key u32 32 ip 10.1.2.3
says "$(printf 'key: None\nnext key: 10 00 00 00 0a 01 00 00')" bpf map getnext $m:routes
complains "Invalid" bpf map update $m:routes key u32 33 ip 10.0.0.0 value u32 1

step "then queues give what they took, first in first out"
says "" bpf map push $m:waiting value u32 1
says "" bpf map enqueue $m:waiting value u32 2
complains "full, 2 entries" bpf map push $m:waiting value u32 3
says "value: 01 00 00 00" bpf map peek $m:waiting
says "value: 01 00 00 00" bpf map pop $m:waiting
same "the second as json" "$(console bpf map dequeue $m:waiting json | json 'd["value"]')" 02000000
complains "empty" bpf map pop $m:waiting
complains "has keys" bpf map pop $m:lengths

step "then targets are interfaces by name, with a program of the object where they have one"
says "" bpf map update $m:ports key u32 0 value if net_ring0
says "" bpf map update $m:ports key u32 1 value if net_ring0 prog leaving
same "entries" "$(console bpf map dump $m:ports json | json 'len(d)')" 2
complains "no_such|net_ring9" bpf map update $m:ports key u32 1 value if net_ring9
complains "number 77" bpf map update $m:ports key u32 1 value u32 77 u32 0
complains "keep|Invalid" bpf map update $m:ports key u32 1 value if net_ring0 prog keep
complains "no program nothing" bpf map update $m:ports key u32 1 value if net_ring0 prog nothing
complains "0 to 1" bpf map update $m:ports key u32 2 value if net_ring0
says "" bpf map delete $m:ports key u32 1
matches "a slot without a target" "$(console bpf map dump $m:ports | sed -n 2p)" "01 00 00 00  value: <no entry>"

step "then CPU maps take queues of the workers there are"
says "" bpf map update $m:workers key cpu 0 value cpu 0 qsize 192
complains "not the key" bpf map update $m:workers key cpu 0 value cpu 1 qsize 192
complains "worker" bpf map update $m:workers key cpu 3 value qsize 192

step "then maps of maps hold maps of their shape, by name or number"
first=$(console bpf map list json | json 'next(m["id"] for m in d if m["name"] == "first")')
says "key: 00 00 00 00  value: $(printf '%02x %02x 00 00' $((first % 256)) $((first / 256)))" bpf map lookup $m:tables key u32 0
says "" bpf map update $m:tables key u32 1 value map second
says "" bpf map update "$first" key u32 0 value u32 5
complains "Invalid" bpf map update $m:tables key u32 1 value map lengths
complains "no map" bpf map update $m:tables key u32 1 value map nothing

step "then the records that the program wrote can be read, once"
seen() { [[ $(console bpf map event_pipe $m:records json | json 'len(d) and d[0]["data"]') == 40000000 ]]; }
wait_for 10 "a record in the ring buffer" seen
sampled() { [[ $(console bpf map event_pipe $m:samples json | json 'len(d) and d[0]["data"]') == 4000000000000000 ]]; }
wait_for 10 "a perf event: the program's four bytes, and four of the frame" sampled
complains "no perf event array and no ring buffer" bpf map event_pipe $m:lengths
complains "not for maps of this type" bpf map lookup $m:records key hex

step "then a program in a prog array takes the frames over"
passes() { console show xdp json | json 'd[0]["verdicts"]["pass"]'; }
same "frames passed before" "$(passes)" 0
says "" bpf map update $m:jumps key u32 0 value prog keep
taken_over() { (($(passes) > 0)); }
wait_for 10 "frames passed by the second program" taken_over
says "" bpf map delete $m:jumps key u32 0
complains "no such entry" bpf map delete $m:jumps key u32 0
complains "no program nothing" bpf map update $m:jumps key u32 0 value prog nothing
same "runs that broke a rule" "$(console show xdp json | json 'd[0]["faults"]["count"]')" 0
stop_xbond
