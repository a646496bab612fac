// Reads the packet without asking where it ends: the kernel's verifier refuses it, a checked run stops at the access
// (verdict ABORTED) on every frame of 65535 bytes or less.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp")
int xdp_oob(struct xdp_md* ctx) {
  const volatile unsigned char* data = (void*)(long)ctx->data;

  return data[65535] ? XDP_PASS : XDP_TX;
}

char LICENSE[] SEC("license") = "BSD";
