// Every frame is dropped.
#include <bpf/bpf_helpers.h>
#include <linux/bpf.h>

SEC("xdp")
int xdp_drop(struct xdp_md* ctx) {
  (void)ctx;
  return XDP_DROP;
}

char LICENSE[] SEC("license") = "BSD";
