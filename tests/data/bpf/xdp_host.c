// Asks the host's tables what the frame says: its bytes are the arguments, and the answers take their place.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

struct question {
  __u32 kind;  // 0: fib_lookup, 1: check_mtu
  __u32 flags;
  __u32 ifindex;  // check_mtu's
  __s32 difference;
  __u32 mtu;
  __u32 unused;
  struct bpf_fib_lookup lookup;
};

SEC("xdp")
int host(struct xdp_md* ctx) {
  struct question* question = (void*)(long)ctx->data;
  struct bpf_fib_lookup lookup;
  __u32 mtu;
  long result;

  if ((void*)(question + 1) > (void*)(long)ctx->data_end) return 1000;
  if (question->kind == 1) {
    mtu = question->mtu;
    result = bpf_check_mtu(ctx, question->ifindex, &mtu, question->difference, question->flags);
    question->mtu = mtu;
    return result;
  }
  __builtin_memcpy(&lookup, &question->lookup, sizeof(lookup));
  result = bpf_fib_lookup(ctx, &lookup, sizeof(lookup), question->flags);
  __builtin_memcpy(&question->lookup, &lookup, sizeof(lookup));
  return result;
}

char LICENSE[] SEC("license") = "GPL";
