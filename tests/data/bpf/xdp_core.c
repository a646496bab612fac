// Relies on CO-RE: declares the context in its own way and lets the loader find the kernel's offsets.
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

struct xdp_md {
  __u32 rx_queue_index;
} __attribute__((preserve_access_index));

SEC("xdp")
int core(struct xdp_md* ctx) {
  return ctx->rx_queue_index == 0 ? 2 : 1;
}

char LICENSE[] SEC("license") = "BSD";
