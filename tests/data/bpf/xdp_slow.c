// Takes its time over each frame and drops it: a worker that polls a port with it has little left for others.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp")
int xdp_slow(struct xdp_md* ctx) {
  __u32 x = ctx->ingress_ifindex;
  // Calls, which no compiler leaves out
  for (int i = 0; i < 16000; ++i) x = x * 1664525 + bpf_get_prandom_u32();
  return x == 0 ? XDP_ABORTED : XDP_DROP;
}

char LICENSE[] SEC("license") = "BSD";
