// Every frame goes back as it came.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp")
int xdp_tx(struct xdp_md* ctx) {
  (void)ctx;
  return XDP_TX;
}

char LICENSE[] SEC("license") = "BSD";
