// Maps that hold maps and programs from the start; pinning values that libbpf knows and does not know.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct counts {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 4);
  __type(key, __u32);
  __type(value, __u64);
};
struct counts first SEC(".maps"), second SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
  __uint(max_entries, 8);
  __uint(pinning, LIBBPF_PIN_BY_NAME);
  __type(key, __u32);
  __array(values, struct counts);
} tables SEC(".maps") = {.values = {[2] = &first, [5] = &second}};

int leaf(struct xdp_md* ctx);

struct {
  __uint(type, BPF_MAP_TYPE_PROG_ARRAY);
  __uint(max_entries, 4);
  __uint(key_size, 4);
  __uint(pinning, 16);
  __array(values, int(void*));
} jumps SEC(".maps") = {.values = {[3] = (void*)&leaf}};

SEC("xdp")
int leaf(struct xdp_md* ctx) {
  (void)ctx;
  return XDP_TX;
}

SEC("xdp")
int root(struct xdp_md* ctx) {
  __u32 key = 5;
  __u64* value;
  void* table = bpf_map_lookup_elem(&tables, &key);

  if (!table) return XDP_DROP;
  key = 0;
  value = bpf_map_lookup_elem(table, &key);
  if (value) *value += 1;
  bpf_tail_call(ctx, &jumps, 3);
  return XDP_PASS;
}

char LICENSE[] SEC("license") = "BSD";
