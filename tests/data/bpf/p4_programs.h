// The programs of P4 as functions, for BPF and for the host's processor alike. Who includes it has defined how a
// look-up goes: P4_FLOW(key) and P4_COUNTER(index) give a value or NULL. `turn` makes one frame's flow another one.
#pragma once

#include <linux/bpf.h>
#include <linux/types.h>

#define P4_INLINE static inline __attribute__((always_inline))

enum { P4_KEYS = 65536, P4_HEADERS = 42 };

struct p4_key {  // stored field by field
  __u32 source, target;
  __u16 source_port, target_port;
  __u32 protocol;
};
struct p4_words {  // the same bytes, stored as words
  __u64 addresses, rest;
};
struct p4_flow {
  __u64 packets;
  __u32 target;
  __u8 mac[6];
  __u16 unused;
};
struct p4_counter {
  __u64 packets, bytes;
};

P4_INLINE __u64 p4_u64(const __u8 *at) {
  return *(const __u64 *)at;
}
P4_INLINE __u32 p4_u32(const __u8 *at) {
  return *(const __u32 *)at;
}
P4_INLINE __u16 p4_u16(const __u8 *at) {
  return *(const __u16 *)at;
}

// IPv4 and UDP, no options.
P4_INLINE int p4_is_udp(const __u8 *data) {
  return p4_u16(data + 12) == __builtin_bswap16(0x0800) && data[14] == 0x45 && data[23] == 17;
}

P4_INLINE __u32 p4_swap(__u8 *data, __u8 *end) {
  if (data + P4_HEADERS > end || !p4_is_udp(data)) return XDP_DROP;
  for (int i = 0; i < 6; i += 2) {
    const __u16 part = p4_u16(data + i);
    *(__u16 *)(data + i) = p4_u16(data + 6 + i);
    *(__u16 *)(data + 6 + i) = part;
  }
  const __u32 source = p4_u32(data + 26);
  *(__u32 *)(data + 26) = p4_u32(data + 30);
  *(__u32 *)(data + 30) = source;
  const __u16 port = p4_u16(data + 34);
  *(__u16 *)(data + 34) = p4_u16(data + 36);
  *(__u16 *)(data + 36) = port;
  return XDP_TX;
}

P4_INLINE __u32 p4_count(__u8 *data, __u8 *end) {
  struct p4_counter *counter = P4_COUNTER(0);
  if (!counter) return XDP_ABORTED;
  counter->packets++;
  counter->bytes += (__u64)(end - data);
  return XDP_DROP;
}

P4_INLINE void p4_read_key(struct p4_key *key, const __u8 *data, __u32 turn) {
  key->source = p4_u32(data + 26) + turn;
  key->target = p4_u32(data + 30);
  key->source_port = p4_u16(data + 34);
  key->target_port = p4_u16(data + 36);
  key->protocol = data[23];
}

P4_INLINE __u32 p4_flow_fields(__u8 *data, __u8 *end, __u32 turn) {
  if (data + P4_HEADERS > end || !p4_is_udp(data)) return XDP_DROP;
  struct p4_key key;
  p4_read_key(&key, data, turn);
  struct p4_flow *flow = P4_FLOW(&key);
  if (!flow) return XDP_PASS;
  flow->packets++;
  return XDP_TX;
}

P4_INLINE __u32 p4_flow_words(__u8 *data, __u8 *end, __u32 turn) {
  if (data + P4_HEADERS > end || !p4_is_udp(data)) return XDP_DROP;
  struct p4_words key;
  key.addresses = p4_u64(data + 26) + turn;
  key.rest = p4_u32(data + 34) | (__u64)data[23] << 32;
  struct p4_flow *flow = P4_FLOW(&key);
  if (!flow) return XDP_PASS;
  flow->packets++;
  return XDP_TX;
}

P4_INLINE __u32 p4_checksum(__u8 *data, __u8 *end) {
  if (data + 34 > end) return XDP_DROP;
  __u32 sum = 0;
  for (int i = 14; i < 34; i += 2) sum += p4_u16(data + i);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  return sum == 0xffff ? XDP_PASS : XDP_DROP;
}

// A load balancer: the flow's server, a counter, the server's MAC address, and the checksum as for its address.
P4_INLINE __u32 p4_balance(__u8 *data, __u8 *end, __u32 turn) {
  if (data + P4_HEADERS > end || !p4_is_udp(data)) return XDP_DROP;
  struct p4_key key;
  p4_read_key(&key, data, turn);
  struct p4_flow *flow = P4_FLOW(&key);
  struct p4_counter *counter = P4_COUNTER(1);
  if (!flow || !counter) return XDP_PASS;
  counter->packets++;
  counter->bytes += (__u64)(end - data);
  __u32 sum = (__u16)~p4_u16(data + 24);
  sum += (__u32)(__u16)~key.target + (__u16)~(key.target >> 16);
  sum += (__u32)(__u16)flow->target + (__u16)(flow->target >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  sum = (sum & 0xffff) + (sum >> 16);
  *(__u16 *)(data + 24) = (__u16)~sum;
  // The address itself stays, or the next run would be of another flow
  for (int i = 0; i < 6; ++i) data[i] = flow->mac[i];
  return XDP_TX;
}
