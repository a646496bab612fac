// Frames in several pieces: what lies behind the first is reached by helpers, and the end moves over pieces. Offsets
// and lengths come from the frame.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "results.h"

static __always_inline __u32 word(struct xdp_md* ctx, __u32 at) {
  __u32 value = 0;
  bpf_xdp_load_bytes(ctx, at, &value, sizeof(value));
  return value;
}

// Around each place where a piece ends, and at the very end
SEC("xdp.frags")
int conf_frags_bytes(struct xdp_md* ctx) {
  __u8 part[64] = {};
  __u32 length = bpf_xdp_get_buff_len(ctx);
  keep(0, length);
  keep(0, (long)ctx->data_end - (long)ctx->data);
  for (__u32 piece = 3520; piece < 20000; piece += 4096) {
    keep(1, bpf_xdp_load_bytes(ctx, piece - 31, part, sizeof(part)));
    for (int i = 0; i < 64; i++) part[i] = part[i] * 3 + i;
    keep(2, bpf_xdp_store_bytes(ctx, piece - 30, part, sizeof(part)));
    keep(3, word(ctx, piece - 1));
  }
  keep(4, bpf_xdp_load_bytes(ctx, length - 64, part, sizeof(part)));
  keep(4, bpf_xdp_load_bytes(ctx, length - 63, part, sizeof(part)));
  keep(4, bpf_xdp_store_bytes(ctx, 65535, part, 1));
  keep(4, bpf_xdp_store_bytes(ctx, 65536, part, 1));
  return XDP_TX;
}

static __always_inline int shrink(struct xdp_md* ctx, int by) {
  keep(5, bpf_xdp_adjust_tail(ctx, -by));
  keep(5, bpf_xdp_get_buff_len(ctx));
  keep(5, (long)ctx->data_end - (long)ctx->data);
  return XDP_PASS;
}

SEC("xdp.frags")
int conf_frags_shrink(struct xdp_md* ctx) {
  return shrink(ctx, (word(ctx, 2) & 0x3fff) + 1);
}

// To the pieces' ends, over several of them, into the first one
SEC("xdp.frags")
int conf_frags_shrink_all(struct xdp_md* ctx) {
  __u32 length = bpf_xdp_get_buff_len(ctx);
  if (length > 3520) {
    shrink(ctx, 1);
    shrink(ctx, (length - 3520) % 4096);
  }
  if (length > 12000) shrink(ctx, 8192);
  shrink(ctx, length - 40);
  return shrink(ctx, 14);
}

SEC("xdp.frags")
int conf_frags_grow(struct xdp_md* ctx) {
  for (int i = 0; i < 6; i++) {
    keep(6, bpf_xdp_adjust_tail(ctx, 1 << (2 * i + 2)));
    keep(6, bpf_xdp_get_buff_len(ctx));
  }
  bpf_xdp_adjust_tail(ctx, -9);
  keep(6, bpf_xdp_adjust_tail(ctx, 40));
  keep(7, bpf_xdp_adjust_head(ctx, -20));
  keep(7, bpf_xdp_adjust_head(ctx, 33));
  return XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
