// Rewrites an IPv4 destination and keeps the checksum right by bpf_csum_diff; the raw result goes to a map.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/ip.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 4);
  __type(key, __u32);
  __type(value, __u64);
} sums SEC(".maps");

static __always_inline void keep(__u32 slot, __u64 sum) {
  bpf_map_update_elem(&sums, &slot, &sum, BPF_ANY);
}

SEC("xdp")
int conf_csum(struct xdp_md* ctx) {
  void* data = (void*)(long)ctx->data;
  void* end = (void*)(long)ctx->data_end;
  struct ethhdr* eth = data;
  struct iphdr* ip = (void*)(eth + 1);

  if ((void*)(ip + 1) > end) return XDP_PASS;
  __be32 old = ip->daddr;
  __be32 new = bpf_htonl(0x0a000001) ^ ip->saddr;
  __s64 diff = bpf_csum_diff(&old, 4, &new, 4, (__u32)~ip->check & 0xffff);
  keep(0, diff);
  keep(1, bpf_csum_diff(0, 0, &new, 4, 0x1234));
  keep(2, bpf_csum_diff(&old, 4, 0, 0, 0xffff));
  keep(3, bpf_csum_diff(0, 0, (__be32*)ip, sizeof(*ip), 0));
  ip->daddr = new;
  __u32 sum = diff;
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  ip->check = ~sum;
  return XDP_TX;
}

char LICENSE[] SEC("license") = "GPL";
