#include "bpf_compat/verifier/contract.hpp"

#include <linux/bpf.h>

#include <algorithm>

namespace xbond::bpf::verifier {
namespace {

using enum Argument;

constexpr Contract kContracts[] = {
    {BPF_FUNC_map_lookup_elem, Gives::value_or_null, {map, key}, true},
    {BPF_FUNC_map_update_elem, Gives::number, {map, key, value, anything}, true},
    {BPF_FUNC_map_delete_elem, Gives::number, {map, key}, true},
    {BPF_FUNC_map_push_elem, Gives::number, {map, value, anything}, true},
    {BPF_FUNC_map_pop_elem, Gives::number, {map, value_out}},
    {BPF_FUNC_map_peek_elem, Gives::number, {map, value_out}},
    {BPF_FUNC_map_lookup_percpu_elem, Gives::value_or_null, {map, key, anything}, true},
    {BPF_FUNC_for_each_map_elem, Gives::number, {map, function, stack_or_null, anything}},
    {BPF_FUNC_loop, Gives::number, {anything, function, stack_or_null, anything}},
    {BPF_FUNC_tail_call, Gives::nothing, {context, map, anything}},
    {BPF_FUNC_ringbuf_reserve, Gives::record_or_null, {map, record_size, anything}},
    {BPF_FUNC_ringbuf_submit, Gives::nothing, {record, anything}},
    {BPF_FUNC_ringbuf_discard, Gives::nothing, {record, anything}},
    {BPF_FUNC_ringbuf_output, Gives::number, {map, memory, size_or_zero, anything}},
    {BPF_FUNC_ringbuf_query, Gives::number, {map, anything}},
    {BPF_FUNC_perf_event_output, Gives::number, {context, map, anything, memory, size_or_zero}},
    {BPF_FUNC_spin_lock, Gives::nothing, {lock}},
    {BPF_FUNC_spin_unlock, Gives::nothing, {lock}},
    {BPF_FUNC_strncmp, Gives::number, {memory, size, text}},
    {BPF_FUNC_redirect, Gives::number, {anything, anything}},
    {BPF_FUNC_redirect_map, Gives::number, {map, anything, anything}},
    {BPF_FUNC_ktime_get_ns, Gives::number, {}},
    {BPF_FUNC_ktime_get_boot_ns, Gives::number, {}},
    {BPF_FUNC_ktime_get_coarse_ns, Gives::number, {}},
    {BPF_FUNC_ktime_get_tai_ns, Gives::number, {}},
    {BPF_FUNC_jiffies64, Gives::number, {}},
    {BPF_FUNC_get_prandom_u32, Gives::number, {}},
    {BPF_FUNC_get_smp_processor_id, Gives::number, {}},
    {BPF_FUNC_trace_printk, Gives::number, {memory, size}},
    {BPF_FUNC_trace_vprintk, Gives::number, {memory, size, memory_or_null, size_or_zero}},
    {BPF_FUNC_fib_lookup, Gives::number, {context, memory_out, size, anything}},
    {BPF_FUNC_check_mtu, Gives::number, {context, anything, word_out, anything, anything}},
    {BPF_FUNC_csum_diff, Gives::number, {memory_or_null, size_or_zero, memory_or_null, size_or_zero, anything}, true},
    {BPF_FUNC_xdp_adjust_head, Gives::number, {context, anything}, false, true},
    {BPF_FUNC_xdp_adjust_tail, Gives::number, {context, anything}, false, true},
    {BPF_FUNC_xdp_adjust_meta, Gives::number, {context, anything}, false, true},
    {BPF_FUNC_xdp_get_buff_len, Gives::number, {context}},
    {BPF_FUNC_xdp_load_bytes, Gives::number, {context, anything, memory_out, size}},
    {BPF_FUNC_xdp_store_bytes, Gives::number, {context, anything, memory, size}},
};

bool keyless(uint32_t type) {
  return type == BPF_MAP_TYPE_QUEUE || type == BPF_MAP_TYPE_STACK;
}

bool per_cpu(uint32_t type) {
  return type == BPF_MAP_TYPE_PERCPU_ARRAY || type == BPF_MAP_TYPE_PERCPU_HASH || type == BPF_MAP_TYPE_LRU_PERCPU_HASH;
}

bool values(uint32_t type) {
  switch (type) {
    case BPF_MAP_TYPE_ARRAY:
    case BPF_MAP_TYPE_HASH:
    case BPF_MAP_TYPE_LRU_HASH:
      return true;
    default:
      return per_cpu(type);
  }
}

bool targets(uint32_t type) {
  return type == BPF_MAP_TYPE_DEVMAP || type == BPF_MAP_TYPE_DEVMAP_HASH || type == BPF_MAP_TYPE_CPUMAP ||
         type == BPF_MAP_TYPE_XSKMAP;
}

bool maps_of_maps(uint32_t type) {
  return type == BPF_MAP_TYPE_ARRAY_OF_MAPS || type == BPF_MAP_TYPE_HASH_OF_MAPS;
}

}  // namespace

const Contract* find_contract(uint32_t helper) {
  const auto* it = std::ranges::find(kContracts, helper, &Contract::helper);
  return it == std::end(kContracts) ? nullptr : it;
}

// check_map_func_compatibility in kernel/bpf/verifier.c
bool takes_map(uint32_t helper, uint32_t type) {
  switch (helper) {
    case BPF_FUNC_map_lookup_elem:
      return values(type) || type == BPF_MAP_TYPE_LPM_TRIE || maps_of_maps(type) ||
             (targets(type) && type != BPF_MAP_TYPE_CPUMAP);
    case BPF_FUNC_map_update_elem:
    case BPF_FUNC_map_delete_elem:
      return values(type) || type == BPF_MAP_TYPE_LPM_TRIE;
    case BPF_FUNC_map_lookup_percpu_elem:
      return per_cpu(type);
    case BPF_FUNC_for_each_map_elem:
      return values(type);
    case BPF_FUNC_map_push_elem:
    case BPF_FUNC_map_peek_elem:
      return keyless(type) || type == BPF_MAP_TYPE_BLOOM_FILTER;
    case BPF_FUNC_map_pop_elem:
      return keyless(type);
    case BPF_FUNC_tail_call:
      return type == BPF_MAP_TYPE_PROG_ARRAY;
    case BPF_FUNC_perf_event_output:
      return type == BPF_MAP_TYPE_PERF_EVENT_ARRAY;
    case BPF_FUNC_redirect_map:
      return targets(type);
    default:
      return type == BPF_MAP_TYPE_RINGBUF;
  }
}

}  // namespace xbond::bpf::verifier
