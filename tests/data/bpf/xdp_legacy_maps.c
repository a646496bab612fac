// Maps declared in the way of before 2019, which libbpf 1.x refuses.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct legacy_map {
  unsigned int type, key_size, value_size, max_entries, map_flags;
};

struct legacy_map SEC("maps") old = {
    .type = BPF_MAP_TYPE_ARRAY,
    .key_size = 4,
    .value_size = 8,
    .max_entries = 1,
};

SEC("xdp")
int legacy(struct xdp_md* ctx) {
  __u32 key = 0;
  (void)ctx;
  return bpf_map_lookup_elem(&old, &key) ? XDP_PASS : XDP_DROP;
}

char LICENSE[] SEC("license") = "BSD";
