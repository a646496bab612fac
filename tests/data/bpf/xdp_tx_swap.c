// Swaps the MAC addresses and sends the frame back; frames too short for that are dropped.
#include <linux/bpf.h>
#include <linux/if_ether.h>

#include <bpf/bpf_helpers.h>

SEC("xdp")
int xdp_tx_swap(struct xdp_md* ctx) {
  void* data = (void*)(long)ctx->data;
  void* data_end = (void*)(long)ctx->data_end;
  struct ethhdr* eth = data;

  if ((void*)(eth + 1) > data_end) return XDP_DROP;
  unsigned char old_dest[ETH_ALEN];
  __builtin_memcpy(old_dest, eth->h_dest, ETH_ALEN);
  __builtin_memcpy(eth->h_dest, eth->h_source, ETH_ALEN);
  __builtin_memcpy(eth->h_source, old_dest, ETH_ALEN);
  return XDP_TX;
}

char LICENSE[] SEC("license") = "BSD";
