// CO-RE relocations of every kind that clang 14 writes, against types that differ from the machine's: other offsets and
// widths, fields and types that are not there, enumerators with other values. Results go into an array, one a slot.
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define RELOCATED __attribute__((preserve_access_index))

// All fields are wider than the kernel's, in another order, and one is not there.
struct xdp_md {
  __u64 egress_ifindex, data_end, rx_queue_index, no_such_field, data, ingress_ifindex;
} RELOCATED;

struct iphdr___early {
  __u8 protocol;
  __u8 version : 4;
  __u8 ihl : 4;
  __u32 saddr;
} RELOCATED;

struct in6_addr {
  union {
    __u8 u6_addr8[16];
  } in6_u;
} RELOCATED;
struct ipv6hdr {
  struct in6_addr daddr, saddr;
  __u8 nexthdr;
} RELOCATED;

struct no_such_type {
  int field;
} RELOCATED;
struct ethhdr {
  unsigned char h_dest[6];
} RELOCATED;

enum xdp_action { XDP_PASS = 77, XDP_NO_SUCH_ACTION = 78 };

struct {
  __uint(type, 2);  // an array
  __uint(max_entries, 16);
  __type(key, __u32);
  __type(value, __u64);
} results SEC(".maps");

static __always_inline void put(__u32 slot, __u64 value) {
  bpf_map_update_elem(&results, &slot, &value, 0);
}

SEC("xdp")
int conf_core(struct xdp_md* ctx) {
  __u8* data = (void*)ctx->data;
  __u8* data_end = (void*)ctx->data_end;
  struct iphdr___early* ip = (void*)(data + 14);

  put(0, ctx->rx_queue_index);
  put(1, bpf_core_field_exists(ctx->no_such_field) ? ctx->no_such_field : 1000);
  put(2, bpf_core_field_size(ctx->data));
  put(3, bpf_core_type_exists(struct no_such_type));
  put(4, bpf_core_type_exists(struct ethhdr));
  put(5, bpf_core_type_size(struct ethhdr));
  put(6, bpf_core_enum_value_exists(enum xdp_action, XDP_PASS));
  put(7, bpf_core_enum_value_exists(enum xdp_action, XDP_NO_SUCH_ACTION));
  put(8, __builtin_preserve_field_info(((struct ipv6hdr*)0)->saddr.in6_u.u6_addr8[3], BPF_FIELD_BYTE_OFFSET));
  put(9, bpf_core_field_size(((struct ipv6hdr*)0)->saddr));
  put(10, __builtin_preserve_field_info(ip->ihl, BPF_FIELD_LSHIFT_U64));
  put(11, __builtin_preserve_field_info(ip->ihl, BPF_FIELD_RSHIFT_U64));
  put(12, __builtin_preserve_field_info(ip->ihl, BPF_FIELD_SIGNED));
  if (data + 34 > data_end) return bpf_core_enum_value(enum xdp_action, XDP_PASS);
  put(13, ip->protocol);
  put(14, ip->saddr);
  put(15, BPF_CORE_READ_BITFIELD(ip, ihl));
  return ctx->ingress_ifindex;
}

char LICENSE[] SEC("license") = "GPL";
