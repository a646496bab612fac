// Reads and writes the frame by helpers, at offsets and lengths that may be refused.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "results.h"

SEC("xdp")
int conf_bytes(struct xdp_md* ctx) {
  __u8 head[16] = {};
  __u8 part[32] = {};

  keep(0, bpf_xdp_get_buff_len(ctx));
  keep(1, bpf_xdp_load_bytes(ctx, 0, head, 14));
  __u32 offset = head[0] * 4;
  __u32 length = (head[1] & 31) + 1;
  if (length > sizeof(part)) return XDP_ABORTED;
  keep(2, bpf_xdp_load_bytes(ctx, offset, part, length));
  for (int i = 0; i < 32; i++) part[i] ^= 0x55;
  keep(3, bpf_xdp_store_bytes(ctx, (head[2] << 8) | head[3], part, length));
  keep(3, bpf_xdp_store_bytes(ctx, head[4] & 31, part, 8));
  return XDP_TX;
}

char LICENSE[] SEC("license") = "GPL";
