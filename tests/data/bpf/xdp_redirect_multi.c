// To every other interface of a map: what the kernel's test of XDP on bonds does with IPv4.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct {
  __uint(type, BPF_MAP_TYPE_DEVMAP);
  __uint(max_entries, 1024);
  __type(key, __u32);
  __type(value, __u32);
} map_all SEC(".maps");

SEC("xdp")
int xdp_redirect_map_multi_prog(struct xdp_md* ctx) {
  (void)ctx;
  return bpf_redirect_map(&map_all, 0, BPF_F_BROADCAST | BPF_F_EXCLUDE_INGRESS);
}

char LICENSE[] SEC("license") = "GPL";
