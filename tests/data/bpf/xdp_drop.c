// Every frame is dropped.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp")
int xdp_drop(struct xdp_md* ctx) {
  (void)ctx;
  return XDP_DROP;
}

char LICENSE[] SEC("license") = "BSD";
