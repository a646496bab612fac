// The programs whose speed is measured against the kernel's (P4).
#include <linux/bpf.h>

#define SEC(name) __attribute__((section(name), used))
#define __uint(name, value) int(*name)[value]

static void* (*const look_up)(void* map, const void* key) = (void*)BPF_FUNC_map_lookup_elem;

#define P4_FLOW(key) (struct p4_flow*)look_up(&flows, key)
#define P4_COUNTER(index) (struct p4_counter*)look_up(&counters, &(__u32){index})

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(key_size, 16);
  __uint(value_size, 24);
  __uint(max_entries, 65536 + 1024);
} flows SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(key_size, 4);
  __uint(value_size, 16);
  __uint(max_entries, 4);
} counters SEC(".maps");

#include "p4_programs.h"

__u32 turns;

#define PROGRAM(name, body)                 \
  SEC("xdp") int name(struct xdp_md* ctx) { \
    __u8* data = (__u8*)(long)ctx->data;    \
    __u8* end = (__u8*)(long)ctx->data_end; \
    (void)data, (void)end;                  \
    return body;                            \
  }
#define NEXT (turns++ % P4_KEYS)

PROGRAM(empty, XDP_DROP)
PROGRAM(swap, p4_swap(data, end))
PROGRAM(count, p4_count(data, end))
PROGRAM(fields_hot, p4_flow_fields(data, end, 0))
PROGRAM(fields_many, p4_flow_fields(data, end, NEXT))
PROGRAM(words_hot, p4_flow_words(data, end, 0))
PROGRAM(words_many, p4_flow_words(data, end, NEXT))
PROGRAM(checksum, p4_checksum(data, end))
PROGRAM(balance_hot, p4_balance(data, end, 0))
PROGRAM(balance_many, p4_balance(data, end, NEXT))
