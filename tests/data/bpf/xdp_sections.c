// One program in each section whose name says XDP.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#define PASS(name, section)      \
  SEC(section)                   \
  int name(struct xdp_md* ctx) { \
    (void)ctx;                   \
    return XDP_PASS;             \
  }

PASS(plain, "xdp")
PASS(frags, "xdp.frags")
PASS(devmap, "xdp/devmap")
PASS(cpumap, "xdp/cpumap")
PASS(frags_devmap, "xdp.frags/devmap")
PASS(frags_cpumap, "xdp.frags/cpumap")

char LICENSE[] SEC("license") = "BSD";
