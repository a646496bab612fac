// A return value that is no XDP action: counts as ABORTED on the data path.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("xdp")
int xdp_unknown(struct xdp_md* ctx) {
  (void)ctx;
  return 42;
}

char LICENSE[] SEC("license") = "BSD";
