// Maps as iproute2 takes them: a pinned one that holds another from the start, in sections that only iproute2 knows,
// and a program with a kernel function that is not there unless it is weak.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct elf_map {
  __u32 type, size_key, size_value, max_elem, flags, id, pinning, inner_id, inner_idx;
};

struct elf_map SEC("maps") outer = {
    .type = BPF_MAP_TYPE_ARRAY_OF_MAPS, .size_key = 4, .size_value = 4, .max_elem = 2, .pinning = 2, .inner_id = 7};
struct elf_map SEC("maps") inner = {
    .type = BPF_MAP_TYPE_ARRAY, .size_key = 4, .size_value = 8, .max_elem = 3, .id = 7, .inner_idx = 1};

int no_such_function(int number) __attribute__((section(".ksyms"), weak));
int bpf_ct_release(int number) __attribute__((section(".ksyms")));

SEC("prog")
int weak(struct xdp_md* ctx) {
  __u32 key = 1;
  (void)ctx;
  if (no_such_function) return no_such_function(3);
  return bpf_map_lookup_elem(&outer, &key) ? XDP_PASS : XDP_DROP;
}

SEC("xdp")
int strong(struct xdp_md* ctx) {
  return bpf_ct_release(ctx->rx_queue_index);
}

char LICENSE[] SEC("license") = "GPL";
