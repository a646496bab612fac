// A map of each family that control may want to see into. Each frame is counted in a hash by its length, and every
// millionth leaves a record; a program at index 0 of `jumps` goes on with it, otherwise it is dropped.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 4);
  __type(key, __u32);
  __type(value, __u64);
} lengths SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_HASH);
  __uint(max_entries, 4);
  __type(key, __u32);
  __type(value, __u32);
} each SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_LPM_TRIE);
  __uint(max_entries, 4);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __uint(key_size, 8);
  __type(value, __u32);
} routes SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_QUEUE);
  __uint(max_entries, 2);
  __type(value, __u32);
} waiting SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_DEVMAP);
  __uint(max_entries, 2);
  __type(key, __u32);
  __type(value, struct bpf_devmap_val);
} ports SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_CPUMAP);
  __uint(max_entries, 4);
  __type(key, __u32);
  __type(value, struct bpf_cpumap_val);
} workers SEC(".maps");

struct inner {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u32);
} first SEC(".maps"), second SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, 2);
  __type(key, __u32);
  __array(values, struct inner);
} tables SEC(".maps") = {.values = {[0] = &first}};

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 4096);
} records SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
  __uint(max_entries, 16);
  __type(key, __u32);
  __type(value, __u32);
} samples SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PROG_ARRAY);
  __uint(max_entries, 2);
  __type(key, __u32);
  __array(values, int(void*));
} jumps SEC(".maps");

SEC("xdp")
int sort(struct xdp_md* ctx) {
  __u32 length = ctx->data_end - ctx->data;
  __u64 one = 1;
  __u64* count = bpf_map_lookup_elem(&lengths, &length);
  if (count)
    __sync_fetch_and_add(count, 1);
  else
    bpf_map_update_elem(&lengths, &length, &one, BPF_NOEXIST);
  if (!count || (*count & 0xfffff) == 0) {
    bpf_ringbuf_output(&records, &length, sizeof(length), 0);
    bpf_perf_event_output(ctx, &samples, BPF_F_CURRENT_CPU | (4ULL << 32), &length, sizeof(length));
  }
  bpf_tail_call(ctx, &jumps, 0);
  return XDP_DROP;
}

SEC("xdp")
int keep(struct xdp_md* ctx) {
  (void)ctx;
  return XDP_PASS;
}

SEC("xdp/devmap")
int leaving(struct xdp_md* ctx) {
  (void)ctx;
  return XDP_PASS;
}

char LICENSE[] SEC("license") = "BSD";
