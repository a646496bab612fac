// Maps of both old kinds beside one of the new, a static map among them, and a static program.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct legacy_map {
  unsigned int type, key_size, value_size, max_entries, map_flags;
};

struct legacy_map SEC("maps") old = {.type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 4};
static struct legacy_map SEC("maps") hidden = {
    .type = BPF_MAP_TYPE_PERCPU_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 2};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 3);
  __type(key, __u32);
  __type(value, __u64);
} current SEC(".maps");

static __always_inline void add(void* map, __u32 slot, __u64 amount) {
  __u64* value = bpf_map_lookup_elem(map, &slot);
  if (value) *value += amount;
}

SEC("xdp")
static int __attribute__((used)) conf_legacy(struct xdp_md* ctx) {
  __u64 length = ctx->data_end - ctx->data;

  add(&old, length & 3, length);
  add(&hidden, length & 1, 1);
  add(&current, 2, length);
  return length & 1 ? XDP_PASS : XDP_DROP;
}

char LICENSE[] SEC("license") = "BSD";
