// Functions of the object: values and pointers as arguments, several frames, and one that a second section shares.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct scratch {
  __u64 words[4];
  __u32 calls;
};

static __noinline __u64 mix(__u64 a, __u64 b) {
  a ^= b * 0x9e3779b97f4a7c15ull;
  return (a << 13) | (a >> 51);
}

static __noinline int fill(struct scratch* to, __u64 seed) {
  for (int i = 0; i < 4; i++) {
    to->words[i] = mix(seed, to->words[i] + i);
    to->calls++;
  }
  return to->calls;
}

__noinline int twice(__u32 value) {
  struct scratch own = {};
  own.words[0] = value;
  fill(&own, value);
  fill(&own, own.words[3]);
  return own.words[1] >> 32;
}

SEC("xdp")
int conf_calls(struct xdp_md* ctx) {
  __u8* data = (void*)(long)ctx->data;
  __u8* end = (void*)(long)ctx->data_end;
  struct scratch scratch = {};

  if (data + 14 > end) return XDP_DROP;
  scratch.words[1] = data[12];
  int calls = fill(&scratch, data[13]);
  __u32 second = twice(scratch.words[2]);
  data[0] = calls;
  data[1] = scratch.words[0];
  data[2] = scratch.words[3] >> 8;
  data[3] = second;
  data[4] = second >> 24;
  return (scratch.words[2] ^ second) & 1 ? XDP_TX : XDP_PASS;
}

SEC("xdp.frags")
int conf_calls_frags(struct xdp_md* ctx) {
  return twice(ctx->rx_queue_index + ctx->ingress_ifindex) & 3;
}

char LICENSE[] SEC("license") = "GPL";
