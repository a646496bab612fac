// Moves the frame's ends by amounts that the frame itself gives, also ones that are refused; writes what came back.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "results.h"

// The amount: byte `at` of the frame, as a signed multiple of `unit`.
static __always_inline int amount(struct xdp_md* ctx, int at, int unit) {
  __u8* data = (void*)(long)ctx->data;
  __u8* end = (void*)(long)ctx->data_end;
  return data + at + 1 > end ? 0 : (__s8)data[at] * unit;
}

SEC("xdp")
int conf_head(struct xdp_md* ctx) {
  keep(0, bpf_xdp_adjust_head(ctx, amount(ctx, 0, 2)));
  keep(1, (long)ctx->data_end - (long)ctx->data);
  __u8* data = (void*)(long)ctx->data;
  if (data + 6 <= (__u8*)(long)ctx->data_end) data[0] = data[1] = 0xaa;
  keep(2, bpf_xdp_adjust_head(ctx, -8));
  data = (void*)(long)ctx->data;
  if (data + 8 > (__u8*)(long)ctx->data_end) return XDP_DROP;
  for (int i = 0; i < 8; i++) data[i] = i;
  return XDP_TX;
}

SEC("xdp")
int conf_tail(struct xdp_md* ctx) {
  keep(3, bpf_xdp_adjust_tail(ctx, amount(ctx, 1, 40)));
  keep(4, bpf_xdp_adjust_tail(ctx, amount(ctx, 2, 1)));
  return (long)ctx->data_end - (long)ctx->data > 100 ? XDP_PASS : XDP_TX;
}

SEC("xdp")
int conf_meta(struct xdp_md* ctx) {
  keep(5, bpf_xdp_adjust_meta(ctx, amount(ctx, 3, 1)));
  keep(6, bpf_xdp_adjust_meta(ctx, -8));
  __u32* meta = (void*)(long)ctx->data_meta;
  void* data = (void*)(long)ctx->data;
  if ((void*)(meta + 2) <= data) {
    meta[0] = 0x11223344;
    meta[1] = 0x55667788;
  }
  keep(7, bpf_xdp_adjust_head(ctx, -4));
  // Sometimes no metadata remains
  if (amount(ctx, 5, 1) & 1) bpf_xdp_adjust_meta(ctx, (long)ctx->data - (long)ctx->data_meta);
  return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
