// Loops that stay loops: a checksum over the payload, and arithmetic whose trip count comes from the packet.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp")
int conf_loops(struct xdp_md* ctx) {
  __u8* data = (void*)(long)ctx->data;
  __u8* end = (void*)(long)ctx->data_end;
  __u64 sum = 0;
  __u32 hash = 2166136261u;

  if (data + 14 > end) return XDP_DROP;
#pragma clang loop unroll(disable)
  for (__u32 i = 0; i < 100; i++) {
    __u8* at = data + i;
    if (at + 1 > end) break;
    sum += (__u64)*at << ((i & 7) * 8);
    hash = (hash ^ *at) * 16777619u;
  }
  __u32 rounds = data[13] & 63;
#pragma clang loop unroll(disable)
  for (__u32 i = 0; i < 63; i++) {
    if (i >= rounds) break;
    hash = hash / 3 + hash % (i + 7) + (hash << 5);
  }
  data[0] = sum;
  data[1] = sum >> 8;
  data[2] = sum >> 56;
  data[3] = hash;
  data[4] = hash >> 16;
  data[5] = hash >> 24;
  return hash & 1 ? XDP_TX : XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
