// A good BPF object without an XDP program.
#include <bpf/bpf_helpers.h>
#include <linux/bpf.h>

SEC("socket")
int filter(struct __sk_buff* skb) {
  return skb->len;
}

char LICENSE[] SEC("license") = "BSD";
