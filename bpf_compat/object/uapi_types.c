// The types that XDP programs name in CO-RE relocations, compiled into this build with their type information: for
// machines whose kernel does not give its own.
#include <linux/types.h>

#include <linux/bpf.h>
#include <linux/icmp.h>
#include <linux/icmpv6.h>
#include <linux/if_arp.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <linux/if_vlan.h>
#include <linux/in.h>
#include <linux/in6.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/mpls.h>
#include <linux/tcp.h>
#include <linux/udp.h>

// <linux/if_vlan.h> shows this one to the kernel only.
struct vlan_hdr {
  __be16 h_vlan_TCI;
  __be16 h_vlan_encapsulated_proto;
};

// A variable makes the compiler keep its type.
#define KEEP(kind, name) kind name keep_##name

KEEP(struct, xdp_md);
KEEP(struct, bpf_fib_lookup);
KEEP(struct, bpf_devmap_val);
KEEP(struct, bpf_cpumap_val);
KEEP(struct, bpf_spin_lock);
KEEP(struct, bpf_timer);
KEEP(struct, bpf_dynptr);
KEEP(struct, bpf_sock);
KEEP(struct, bpf_sock_tuple);
KEEP(struct, ethhdr);
KEEP(struct, vlan_hdr);
KEEP(struct, arphdr);
KEEP(struct, mpls_label);
KEEP(struct, iphdr);
KEEP(struct, ipv6hdr);
KEEP(struct, ipv6_opt_hdr);
KEEP(struct, in_addr);
KEEP(struct, in6_addr);
KEEP(struct, tcphdr);
KEEP(struct, udphdr);
KEEP(struct, icmphdr);
KEEP(struct, icmp6hdr);
KEEP(enum, xdp_action);
KEEP(enum, bpf_func_id);
KEEP(enum, bpf_map_type);
KEEP(enum, bpf_adj_room_mode);
