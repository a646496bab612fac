// Functions that are called within the program's own section, one of them from another, both with a map.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 2);
  __type(key, __u32);
  __type(value, __u64);
} counts SEC(".maps");

static __attribute__((noinline, section("xdp"))) __u64 add(__u32 slot, __u64 amount) {
  __u64* value = bpf_map_lookup_elem(&counts, &slot);
  if (!value) return 0;
  *value += amount;
  return *value;
}

static __attribute__((noinline, section("xdp"))) __u64 add_both(__u64 length) {
  return add(0, 1) + add(1, length);
}

SEC("xdp")
int conf_own_section(struct xdp_md* ctx) {
  return add_both(ctx->data_end - ctx->data) & 3;
}

char LICENSE[] SEC("license") = "BSD";
