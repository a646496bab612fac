// Writes the cases of the kernel's own verifier tests (tools/testing/selftests/bpf/verifier/*.c) as lines of text:
// built at test time against the kernel's sources, which tests.h names one after the other.
//   case DESCRIPTION | prog N | insn HEX... | map INSN NUMBER ... | end
#include <errno.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <linux/btf.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "test_btf.h"

#define MAX_FIXUPS 8
#define MAX_ENTRIES 11
#define POINTER_VALUE 0xcafe4all
#define TEST_DATA_LEN 64
#define INSN_OFF_MASK ((__s16)0xFFFF)
#define INSN_IMM_MASK ((__s32)0xFFFFFFFF)
#define SKIP_INSNS() BPF_RAW_INSN(0xde, 0xa, 0xd, 0xbeef, 0xdeadbeef)
#define F_NEEDS_EFFICIENT_UNALIGNED_ACCESS 1
#define F_LOAD_WITH_STRICT_ALIGNMENT 2
#define CASE_INSNS 4096

struct test_val {
  unsigned int index;
  int foo[MAX_ENTRIES];
};
struct other_val {
  long long foo, bar;
};
struct kfunc_btf_id_pair {
  const char* kfunc;
  int insn_idx;
};

enum { UNDEF, ACCEPT, REJECT, VERBOSE_ACCEPT };

// The fields that the cases name
struct bpf_test {
  const char* descr;
  struct bpf_insn insns[CASE_INSNS], *fill_insns;
  struct bpf_insn expected_insns[32], unexpected_insns[32];
  int fixup_map_hash_8b[MAX_FIXUPS], fixup_map_hash_48b[MAX_FIXUPS], fixup_map_hash_16b[MAX_FIXUPS];
  int fixup_map_array_48b[MAX_FIXUPS], fixup_map_sockmap[MAX_FIXUPS], fixup_map_sockhash[MAX_FIXUPS];
  int fixup_map_xskmap[MAX_FIXUPS], fixup_map_stacktrace[MAX_FIXUPS], fixup_prog1[MAX_FIXUPS], fixup_prog2[MAX_FIXUPS];
  int fixup_map_in_map[MAX_FIXUPS], fixup_cgroup_storage[MAX_FIXUPS], fixup_percpu_cgroup_storage[MAX_FIXUPS];
  int fixup_map_spin_lock[MAX_FIXUPS], fixup_map_array_ro[MAX_FIXUPS], fixup_map_array_wo[MAX_FIXUPS];
  int fixup_map_array_small[MAX_FIXUPS], fixup_sk_storage_map[MAX_FIXUPS], fixup_map_event_output[MAX_FIXUPS];
  int fixup_map_reuseport_array[MAX_FIXUPS], fixup_map_ringbuf[MAX_FIXUPS], fixup_map_timer[MAX_FIXUPS];
  int fixup_map_kptr[MAX_FIXUPS];
  struct kfunc_btf_id_pair fixup_kfunc_btf_id[MAX_FIXUPS];
  const char *errstr, *errstr_unpriv;
  uint32_t insn_processed;
  int prog_len, result, result_unpriv;
  enum bpf_prog_type prog_type;
  uint8_t flags;
  void (*fill_helper)(struct bpf_test*);
  int runs;
#define DATA                           \
  struct {                             \
    uint32_t retval, retval_unpriv;    \
    union {                            \
      __u8 data[TEST_DATA_LEN];        \
      __u64 data64[TEST_DATA_LEN / 8]; \
    };                                 \
  }
  union {
    DATA;
    DATA retvals[8];
  };
  enum bpf_attach_type expected_attach_type;
  const char* kfunc;
  struct bpf_func_info func_info[8];
  int func_info_cnt;
  char btf_strings[256];
  __u32 btf_types[256];
};

// Programs that the kernel's test makes by code are not among the cases here.
#define FILL(name)                          \
  static void name(struct bpf_test* self) { \
    (void)self;                             \
  }
FILL(bpf_fill_ld_abs_vlan_push_pop)
FILL(bpf_fill_jump_around_ld_abs)
FILL(bpf_fill_rand_ld_dw)
FILL(bpf_fill_scale)
FILL(bpf_fill_scale1)
FILL(bpf_fill_scale2)
FILL(bpf_fill_torturous_jumps)
FILL(bpf_fill_big_prog_with_loop_1)

#ifndef offsetofend
#  define offsetofend(type, member) (offsetof(type, member) + sizeof(((type*)0)->member))
#endif
// Pieces of programs that several cases share, cut out of test_verifier.c
#include "macros.h"

static struct bpf_test tests[] = {
#define FILL_ARRAY
#include "tests.h"
#undef FILL_ARRAY
};

static void maps(const int* fixups, int number) {
  for (int i = 0; i < MAX_FIXUPS && fixups[i] != 0; ++i) printf("map %d %d\n", fixups[i], number);
}

int main(void) {
  for (size_t t = 0; t < sizeof(tests) / sizeof(tests[0]); ++t) {
    const struct bpf_test* test = &tests[t];
    if (test->fill_helper || test->func_info_cnt || test->fixup_kfunc_btf_id[0].kfunc) continue;
    size_t length = CASE_INSNS;
    while (length > 0 && test->insns[length - 1].code == 0 && test->insns[length - 1].imm == 0) --length;
    printf("case %s\nprog %d\nresult %d\ninsn ", test->descr, test->prog_type, test->result);
    const unsigned char* bytes = (const unsigned char*)test->insns;
    for (size_t i = 0; i < length * sizeof(struct bpf_insn); ++i) printf("%02x", bytes[i]);
    printf("\n");
    maps(test->fixup_map_hash_8b, 0);
    maps(test->fixup_map_hash_48b, 1);
    maps(test->fixup_map_hash_16b, 2);
    maps(test->fixup_map_array_48b, 3);
    maps(test->fixup_prog1, 4);
    maps(test->fixup_prog2, 5);
    maps(test->fixup_map_in_map, 6);
    maps(test->fixup_map_xskmap, 7);
    maps(test->fixup_map_array_ro, 8);
    maps(test->fixup_map_array_wo, 9);
    maps(test->fixup_map_array_small, 10);
    maps(test->fixup_map_event_output, 11);
    maps(test->fixup_map_ringbuf, 12);
    // Maps that programs of this type have no use for, or that are described by types
    maps(test->fixup_map_spin_lock, -1);
    maps(test->fixup_map_sockmap, -1);
    maps(test->fixup_map_sockhash, -1);
    maps(test->fixup_map_stacktrace, -1);
    maps(test->fixup_cgroup_storage, -1);
    maps(test->fixup_percpu_cgroup_storage, -1);
    maps(test->fixup_sk_storage_map, -1);
    maps(test->fixup_map_reuseport_array, -1);
    maps(test->fixup_map_timer, -1);
    maps(test->fixup_map_kptr, -1);
    printf("end\n");
  }
  return 0;
}
