// Every frame counts as a program error.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp")
int xdp_aborted(struct xdp_md* ctx) {
  (void)ctx;
  return XDP_ABORTED;
}

char LICENSE[] SEC("license") = "BSD";
