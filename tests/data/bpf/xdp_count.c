// Counts frames by kind in an array and in a per-CPU array, and lets them pass.
// Slots: 0 all frames, 1 ARP, 2 IPv4, 3 IPv6, 4 other ethertypes, 5 too short for an Ethernet header.
// `counts` holds frames; `percpu_counts` frames and bytes.
#include <linux/bpf.h>
#include <linux/if_ether.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

enum slot { SLOT_ALL, SLOT_ARP, SLOT_IPV4, SLOT_IPV6, SLOT_OTHER, SLOT_SHORT, SLOTS };

struct tally {
  __u64 frames;
  __u64 bytes;
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, SLOTS);
  __type(key, __u32);
  __type(value, __u64);
} counts SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, SLOTS);
  __type(key, __u32);
  __type(value, struct tally);
} percpu_counts SEC(".maps");

static __always_inline void count(__u32 slot, __u64 bytes) {
  __u64* shared = bpf_map_lookup_elem(&counts, &slot);
  if (shared) __sync_fetch_and_add(shared, 1);
  struct tally* own = bpf_map_lookup_elem(&percpu_counts, &slot);
  if (own) {
    own->frames++;
    own->bytes += bytes;
  }
}

SEC("xdp")
int xdp_count(struct xdp_md* ctx) {
  void* data = (void*)(long)ctx->data;
  void* data_end = (void*)(long)ctx->data_end;
  struct ethhdr* eth = data;
  __u64 bytes = data_end - data;
  __u32 slot = SLOT_SHORT;

  if ((void*)(eth + 1) <= data_end) {
    switch (eth->h_proto) {
      case bpf_htons(ETH_P_ARP):
        slot = SLOT_ARP;
        break;
      case bpf_htons(ETH_P_IP):
        slot = SLOT_IPV4;
        break;
      case bpf_htons(ETH_P_IPV6):
        slot = SLOT_IPV6;
        break;
      default:
        slot = SLOT_OTHER;
    }
  }
  count(SLOT_ALL, bytes);
  count(slot, bytes);
  return XDP_PASS;
}

char LICENSE[] SEC("license") = "BSD";
