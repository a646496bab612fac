// Data sections: constants, initialised and zeroed variables.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

const volatile __u32 limit = 100;
const volatile __u8 table[16] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};
__u64 weighted = 1000;
__u16 pair[2] = {1, 2};
__u64 frames;
__u32 last_length;

SEC("xdp")
int conf_globals(struct xdp_md* ctx) {
  void* data = (void*)(long)ctx->data;
  void* data_end = (void*)(long)ctx->data_end;
  __u8* byte = data;

  if (byte + 14 > (__u8*)data_end) return XDP_DROP;
  frames++;
  last_length = data_end - data;
  weighted += table[byte[13] & 15];
  pair[byte[12] & 1] += byte[0];
  return last_length > limit ? XDP_PASS : XDP_TX;
}

char LICENSE[] SEC("license") = "BSD";
