// Atomics that give back what was there (instruction set v3), 32 and 64 bits wide, on map values and the stack.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct cells {
  __u64 wide[6];
  __u32 narrow[6];
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct cells);
} cells SEC(".maps");

SEC("xdp")
int conf_atomics(struct xdp_md* ctx) {
  __u8* data = (void*)(long)ctx->data;
  __u8* end = (void*)(long)ctx->data_end;
  __u32 key = 0;
  struct cells* c = bpf_map_lookup_elem(&cells, &key);

  if (!c || data + 16 > end) return XDP_DROP;
  __u64 x = *(__u64*)data;
  __u32 y = *(__u32*)(data + 8);
  __u64 r = 0;
  r += __sync_fetch_and_add(&c->wide[0], x);
  r ^= __sync_fetch_and_or(&c->wide[1], x);
  r += __sync_fetch_and_and(&c->wide[2], x | 0xff);
  r ^= __sync_fetch_and_xor(&c->wide[3], x);
  r += __sync_lock_test_and_set(&c->wide[4], x);
  r ^= __sync_val_compare_and_swap(&c->wide[5], x & 1, x);
  r += __sync_fetch_and_add(&c->narrow[0], y);
  r ^= __sync_fetch_and_or(&c->narrow[1], y);
  r += __sync_fetch_and_and(&c->narrow[2], y | 0xff);
  r ^= __sync_fetch_and_xor(&c->narrow[3], y);
  r += __sync_lock_test_and_set(&c->narrow[4], y);
  r ^= __sync_val_compare_and_swap(&c->narrow[5], y & 1, y);
  __u64 local = x;
  r += __sync_fetch_and_add(&local, r);
  *(__u64*)data = r ^ local;
  return r & 1 ? XDP_TX : XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
