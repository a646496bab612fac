// A parser as load balancers have it: VLAN tags, IPv4 with options, IPv6, TCP and UDP; counts by protocol and by port.
#include <linux/bpf.h>
#include <linux/if_ether.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/tcp.h>
#include <linux/udp.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct vlan {
  __be16 tci;
  __be16 proto;
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 256);
  __type(key, __u32);
  __type(value, __u64);
} by_protocol SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1024);
  __type(key, __u32);
  __type(value, __u32);
} by_port SEC(".maps");

static __always_inline void count_port(__u32 port) {
  __u32* seen = bpf_map_lookup_elem(&by_port, &port);
  if (seen) *seen += 1;
}

static __always_inline int transport(void* at, void* end, __u32 protocol) {
  __u64* seen = bpf_map_lookup_elem(&by_protocol, &protocol);
  if (seen) *seen += 1;
  if (protocol == IPPROTO_TCP) {
    struct tcphdr* tcp = at;
    if ((void*)(tcp + 1) > end) return XDP_ABORTED;
    count_port(bpf_ntohs(tcp->dest));
    return tcp->syn && !tcp->ack ? XDP_TX : XDP_PASS;
  }
  if (protocol == IPPROTO_UDP) {
    struct udphdr* udp = at;
    if ((void*)(udp + 1) > end) return XDP_ABORTED;
    count_port(bpf_ntohs(udp->dest));
    return bpf_ntohs(udp->dest) == 53 ? XDP_DROP : XDP_PASS;
  }
  return XDP_PASS;
}

SEC("xdp")
int conf_parse(struct xdp_md* ctx) {
  void* data = (void*)(long)ctx->data;
  void* end = (void*)(long)ctx->data_end;
  struct ethhdr* eth = data;
  void* at = eth + 1;

  if (at > end) return XDP_DROP;
  __be16 proto = eth->h_proto;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    struct vlan* tag = at;
    if (proto != bpf_htons(ETH_P_8021Q) && proto != bpf_htons(ETH_P_8021AD)) break;
    if ((void*)(tag + 1) > end) return XDP_DROP;
    proto = tag->proto;
    at = tag + 1;
  }
  if (proto == bpf_htons(ETH_P_IP)) {
    struct iphdr* ip = at;
    if ((void*)(ip + 1) > end) return XDP_DROP;
    __u32 length = ip->ihl * 4;
    if (length < sizeof(*ip) || at + length > end) return XDP_DROP;
    if (ip->frag_off & bpf_htons(0x1fff)) return XDP_PASS;
    return transport(at + length, end, ip->protocol);
  }
  if (proto == bpf_htons(ETH_P_IPV6)) {
    struct ipv6hdr* ip = at;
    if ((void*)(ip + 1) > end) return XDP_DROP;
    return transport(ip + 1, end, ip->nexthdr);
  }
  return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
