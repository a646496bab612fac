// Programs that send frames to another interface, to all, or to another worker; and those that run where a frame leaves
// or arrives.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct {
  __uint(type, BPF_MAP_TYPE_DEVMAP);
  __uint(max_entries, 8);
  __type(key, __u32);
  __type(value, struct bpf_devmap_val);
} ports SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_DEVMAP_HASH);
  __uint(max_entries, 8);
  __type(key, __u32);
  __type(value, struct bpf_devmap_val);
} by_number SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_CPUMAP);
  __uint(max_entries, 4);
  __type(key, __u32);
  __type(value, struct bpf_cpumap_val);
} workers SEC(".maps");

// The interface that `arrived` sends frames on to.
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, __u32);
} onward SEC(".maps");

// What is missing goes to the host.
SEC("xdp")
int to_port(struct xdp_md* ctx) {
  (void)ctx;
  return bpf_redirect_map(&ports, 0, XDP_PASS);
}

SEC("xdp")
int to_interface(struct xdp_md* ctx) {
  __u32 key = 0;
  __u32* ifindex = bpf_map_lookup_elem(&onward, &key);
  (void)ctx;
  return ifindex != NULL ? bpf_redirect(*ifindex, 0) : XDP_ABORTED;
}

SEC("xdp")
int to_all(struct xdp_md* ctx) {
  (void)ctx;
  return bpf_redirect_map(&by_number, 0, BPF_F_BROADCAST);
}

SEC("xdp")
int to_others(struct xdp_md* ctx) {
  (void)ctx;
  return bpf_redirect_map(&by_number, 0, BPF_F_BROADCAST | BPF_F_EXCLUDE_INGRESS);
}

SEC("xdp")
int to_worker(struct xdp_md* ctx) {
  (void)ctx;
  return bpf_redirect_map(&workers, 0, XDP_PASS);
}

SEC("xdp")
int to_second_worker(struct xdp_md* ctx) {
  (void)ctx;
  return bpf_redirect_map(&workers, 1, XDP_PASS);
}

// Marks the source address with the interface that the frame leaves by.
SEC("xdp/devmap")
int marking(struct xdp_md* ctx) {
  unsigned char* data = (unsigned char*)(long)ctx->data;
  void* end = (void*)(long)ctx->data_end;
  if (data + 12 > (unsigned char*)end) {
    return XDP_DROP;
  }
  data[11] = (unsigned char)ctx->egress_ifindex;
  return XDP_PASS;
}

SEC("xdp/devmap")
int refusing(struct xdp_md* ctx) {
  (void)ctx;
  return XDP_DROP;
}

SEC("xdp/cpumap")
int arrived(struct xdp_md* ctx) {
  __u32 key = 0;
  __u32* ifindex = bpf_map_lookup_elem(&onward, &key);
  (void)ctx;
  return ifindex != NULL && *ifindex != 0 ? bpf_redirect(*ifindex, 0) : XDP_PASS;
}

char LICENSE[] SEC("license") = "GPL";
