// A good BPF object without an XDP program.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

SEC("socket")
int filter(struct __sk_buff* skb) {
  return skb->len;
}

char LICENSE[] SEC("license") = "BSD";
