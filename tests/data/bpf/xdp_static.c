// A static program in a section of its own, which libbpf refuses.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp")
static int __attribute__((used)) hidden(struct xdp_md* ctx) {
  (void)ctx;
  return XDP_PASS;
}

char LICENSE[] SEC("license") = "BSD";
