// A struct_ops map, which needs a kernel, beside an XDP program.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct bpf_dummy_ops {
  int number;
};

struct bpf_dummy_ops dummy SEC(".struct_ops") = {.number = 1};

SEC("xdp")
int pass(struct xdp_md* ctx) {
  (void)ctx;
  return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
