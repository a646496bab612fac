// Arithmetic as compilers write it, in all widths and signs, over the frame's own bytes.
#include <linux/bpf.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

struct operands {
  __u64 a, b;
};

SEC("xdp")
int conf_arith(struct xdp_md* ctx) {
  void* data = (void*)(long)ctx->data;
  void* end = (void*)(long)ctx->data_end;
  struct operands* in = data;

  if ((void*)(in + 1) > end) return XDP_DROP;
  __u64 a = in->a;
  __u64 b = in->b;
  __u32 c = a;
  __u32 d = b;
  __u64 wide = a + b * 3 - (a / (b | 1)) + (a % (b | 1)) + (a >> (b & 63)) + (b << (a & 63));
  wide ^= (__u64)((__s64)a >> (b & 63)) + bpf_be64_to_cpu(a);
  __u32 narrow = c * d + (c / (d | 1)) - (c % (d | 1)) + (c << (d & 31)) + (c >> (d & 31));
  narrow ^= (__u32)((__s32)c >> (d & 31)) + bpf_ntohl(c) + bpf_ntohs((__u16)d);
  __s32 sign = (__s32)c;
  if (sign < -1000) narrow += 1;
  if (sign > (__s32)d) narrow += 2;
  if ((__s64)a <= (__s64)b) wide += 4;
  if (a >= b) wide += 8;
  if (c <= d) narrow += 16;
  if (a & 0x8000000000000001ull) wide += 32;
  wide += (__s64)(__s8)a + (__s64)(__s16)b + (__s64)(__s32)a;
  in->a = wide;
  in->b = narrow | wide << 32;
  switch (narrow % 5) {
    case 0:
      return XDP_DROP;
    case 1:
      return XDP_PASS;
    case 2:
      return XDP_TX;
    case 3:
      return 77;
    default:
      return -1;
  }
}

char LICENSE[] SEC("license") = "GPL";
