// Several programs that share data and functions: global and static ones, .rodata, .data and .bss, fragments, and a
// section whose name says nothing.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

const volatile __u32 step = 3;
__u64 total = 40;
__u64 runs;

__attribute__((noinline)) int global_sum(__u32 a, __u32 b) {
  return a * 7 + b;
}

static __attribute__((noinline)) int static_sum(__u32 a, __u32 b) {
  runs += step;
  return global_sum(b, a) ^ a;
}

SEC("xdp")
int whole(struct xdp_md* ctx) {
  total += ctx->data_end - ctx->data;
  return static_sum(ctx->rx_queue_index, ctx->data_end - ctx->data) & 0xff;
}

SEC("xdp.frags")
int fragments(struct xdp_md* ctx) {
  total += step;
  return global_sum(static_sum(1, ctx->ingress_ifindex), 2) & 0xff;
}

SEC("my_filter")
int unnamed(struct xdp_md* ctx) {
  return (ctx->data_end - ctx->data) > step ? XDP_PASS : XDP_DROP;
}

char LICENSE[] SEC("license") = "BSD";
