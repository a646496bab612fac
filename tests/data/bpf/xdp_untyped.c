// A section whose name says no program type: the one who loads it has to say that it is XDP.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("my_filter")
int untyped(struct xdp_md* ctx) {
  (void)ctx;
  return XDP_DROP;
}

char LICENSE[] SEC("license") = "BSD";
