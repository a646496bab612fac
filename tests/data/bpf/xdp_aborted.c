// Every frame counts as a program error.
#include <bpf/bpf_helpers.h>
#include <linux/bpf.h>

SEC("xdp")
int xdp_aborted(struct xdp_md* ctx) {
  (void)ctx;
  return XDP_ABORTED;
}

char LICENSE[] SEC("license") = "BSD";
