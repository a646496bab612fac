#include <linux/bpf.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/helper/helper.hpp"

namespace xbond::bpf {
namespace {

#define XBOND_HELPER_NAME(name) "bpf_" #name
constexpr std::array kHelperNames = std::to_array<std::string_view>({__BPF_FUNC_MAPPER(XBOND_HELPER_NAME)});
#undef XBOND_HELPER_NAME

}  // namespace

HelperCall find_helper(uint32_t number) {
  switch (number) {
    case BPF_FUNC_map_lookup_elem:
      return map_lookup_elem;
    case BPF_FUNC_map_update_elem:
      return map_update_elem;
    case BPF_FUNC_map_delete_elem:
      return map_delete_elem;
    case BPF_FUNC_map_push_elem:
      return map_push_elem;
    case BPF_FUNC_map_pop_elem:
      return map_pop_elem;
    case BPF_FUNC_map_peek_elem:
      return map_peek_elem;
    case BPF_FUNC_map_lookup_percpu_elem:
      return map_lookup_percpu_elem;
    case BPF_FUNC_for_each_map_elem:
      return for_each_map_elem;
    case BPF_FUNC_loop:
      return loop;
    case BPF_FUNC_tail_call:
      return tail_call;
    case BPF_FUNC_ringbuf_reserve:
      return ringbuf_reserve;
    case BPF_FUNC_ringbuf_submit:
      return ringbuf_submit;
    case BPF_FUNC_ringbuf_discard:
      return ringbuf_discard;
    case BPF_FUNC_ringbuf_output:
      return ringbuf_output;
    case BPF_FUNC_ringbuf_query:
      return ringbuf_query;
    case BPF_FUNC_perf_event_output:
      return perf_event_output;
    case BPF_FUNC_spin_lock:
      return spin_lock;
    case BPF_FUNC_spin_unlock:
      return spin_unlock;
    case BPF_FUNC_strncmp:
      return strncmp;
    case BPF_FUNC_redirect:
      return redirect;
    case BPF_FUNC_redirect_map:
      return redirect_map;
    case BPF_FUNC_ktime_get_ns:
      return ktime_get_ns;
    case BPF_FUNC_ktime_get_boot_ns:
      return ktime_get_boot_ns;
    case BPF_FUNC_ktime_get_coarse_ns:
      return ktime_get_coarse_ns;
    case BPF_FUNC_ktime_get_tai_ns:
      return ktime_get_tai_ns;
    case BPF_FUNC_jiffies64:
      return jiffies64;
    case BPF_FUNC_get_prandom_u32:
      return get_prandom_u32;
    case BPF_FUNC_get_smp_processor_id:
      return get_smp_processor_id;
    case BPF_FUNC_trace_printk:
      return trace_printk;
    case BPF_FUNC_trace_vprintk:
      return trace_vprintk;
    case BPF_FUNC_fib_lookup:
      return fib_lookup;
    case BPF_FUNC_check_mtu:
      return check_mtu;
    case BPF_FUNC_csum_diff:
      return csum_diff;
    case BPF_FUNC_xdp_adjust_head:
      return xdp_adjust_head;
    case BPF_FUNC_xdp_adjust_tail:
      return xdp_adjust_tail;
    case BPF_FUNC_xdp_adjust_meta:
      return xdp_adjust_meta;
    case BPF_FUNC_xdp_get_buff_len:
      return xdp_get_buff_len;
    case BPF_FUNC_xdp_load_bytes:
      return xdp_load_bytes;
    case BPF_FUNC_xdp_store_bytes:
      return xdp_store_bytes;
    case isa::kUnresolvedCall:
      return unresolved;
    default:
      return nullptr;
  }
}

bool reads_host_tables(std::span<const bpf_insn> code) {
  return std::ranges::any_of(code, [](const bpf_insn& insn) {
    return insn.code == (BPF_JMP | BPF_CALL) && insn.src_reg == 0 &&
           (insn.imm == BPF_FUNC_fib_lookup || insn.imm == BPF_FUNC_check_mtu);
  });
}

std::string helper_name(uint32_t number) {
  return number != 0 && number < kHelperNames.size() ? std::string(kHelperNames[number]) : std::string();
}

bool helper_traces(uint32_t number) {
  return number == BPF_FUNC_trace_printk || number == BPF_FUNC_trace_vprintk;
}

bool helper_calls_back(uint32_t number) {
  return number == BPF_FUNC_for_each_map_elem || number == BPF_FUNC_loop;
}

}  // namespace xbond::bpf
