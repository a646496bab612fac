// Takes its time over each frame and drops it: a worker that polls a port with it has little left for others.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp")
int xdp_slow(struct xdp_md* ctx) {
  __u32 x = ctx->ingress_ifindex;
  for (int i = 0; i < 4000; ++i) {
    x = x * 1664525 + 1013904223;
    asm volatile("" : "+r"(x));
  }
  return x == 0 ? XDP_ABORTED : XDP_DROP;
}

char LICENSE[] SEC("license") = "BSD";
