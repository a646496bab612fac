// Every map call with keys and flags that the frame gives; what came back is kept.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#include "results.h"

struct value {
  __u32 words[3];
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 7);
  __type(key, __u32);
  __type(value, struct value);
} plain SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 7);
  __type(key, __u32);
  __type(value, struct value);
} percpu SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 8);
  __uint(map_flags, BPF_F_RDONLY_PROG);
  __type(key, __u32);
  __type(value, __u64);
} constants SEC(".maps");

static __always_inline __u32 value_sum(struct value* value) {
  if (!value) return 0x80000000;
  value->words[2]++;
  return value->words[0] + value->words[1] + value->words[2];
}

SEC("xdp")
int conf_maps(struct xdp_md* ctx) {
  __u8* data = (void*)(long)ctx->data;
  __u8* end = (void*)(long)ctx->data_end;

  if (data + 14 > end) return XDP_DROP;
  __u32 key = data[0] % 9;
  __u64 flags = data[1] & 7;
  struct value value = {{data[2], data[3], data[4]}};
  keep(0, bpf_map_update_elem(&plain, &key, &value, flags));
  keep(1, bpf_map_update_elem(&percpu, &key, &value, flags));
  key = data[5] % 9;
  keep(2, bpf_map_delete_elem(&plain, &key));
  keep(3, bpf_map_delete_elem(&percpu, &key));
  keep(4, value_sum(bpf_map_lookup_elem(&plain, &key)));
  keep(5, value_sum(bpf_map_lookup_elem(&percpu, &key)));
  __u64* constant = bpf_map_lookup_elem(&constants, &key);
  keep(6, constant ? (__s64)*constant : -1);
  return key & 1 ? XDP_TX : XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
