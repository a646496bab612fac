// The kernel functions that a program may call. One file per family holds them; table.cpp lists them all.
// Each checks its arguments against the run's memory, and returns what the kernel's would. Thread: worker.
#pragma once

#include <linux/bpf.h>

#include <cstdint>
#include <span>
#include <string>

namespace xbond::bpf {

class Run;

// `r` are the program's registers: arguments in r[1] … r[5]. Returns r0. A broken rule sets run.fault.
using HelperCall = uint64_t (*)(Run& run, const uint64_t* r);

// Null: this version has no such helper for XDP programs.
HelperCall find_helper(uint32_t number);

// "bpf_map_lookup_elem" for 1; empty for numbers that linux/bpf.h does not know.
std::string helper_name(uint32_t number);

// Whether the helper writes to the program's trace.
bool helper_traces(uint32_t number);

// Whether the helper calls functions of the program.
bool helper_calls_back(uint32_t number);

// Whether any instruction calls a helper that asks the host's tables.
bool reads_host_tables(std::span<const bpf_insn> code);

// --- families
uint64_t map_lookup_elem(Run& run, const uint64_t* r);
uint64_t map_update_elem(Run& run, const uint64_t* r);
uint64_t map_delete_elem(Run& run, const uint64_t* r);
uint64_t map_push_elem(Run& run, const uint64_t* r);
uint64_t map_pop_elem(Run& run, const uint64_t* r);
uint64_t map_peek_elem(Run& run, const uint64_t* r);

uint64_t map_lookup_percpu_elem(Run& run, const uint64_t* r);
uint64_t for_each_map_elem(Run& run, const uint64_t* r);
uint64_t loop(Run& run, const uint64_t* r);

uint64_t ringbuf_reserve(Run& run, const uint64_t* r);
uint64_t ringbuf_submit(Run& run, const uint64_t* r);
uint64_t ringbuf_discard(Run& run, const uint64_t* r);
uint64_t ringbuf_output(Run& run, const uint64_t* r);
uint64_t ringbuf_query(Run& run, const uint64_t* r);
uint64_t perf_event_output(Run& run, const uint64_t* r);

uint64_t spin_lock(Run& run, const uint64_t* r);
uint64_t spin_unlock(Run& run, const uint64_t* r);
uint64_t strncmp(Run& run, const uint64_t* r);

// The interpreter itself makes tail calls; this stands for the helper in the table.
uint64_t tail_call(Run& run, const uint64_t* r);

uint64_t redirect(Run& run, const uint64_t* r);
uint64_t redirect_map(Run& run, const uint64_t* r);

uint64_t ktime_get_ns(Run& run, const uint64_t* r);
uint64_t ktime_get_boot_ns(Run& run, const uint64_t* r);
uint64_t ktime_get_coarse_ns(Run& run, const uint64_t* r);
uint64_t ktime_get_tai_ns(Run& run, const uint64_t* r);
uint64_t jiffies64(Run& run, const uint64_t* r);

uint64_t get_prandom_u32(Run& run, const uint64_t* r);
uint64_t get_smp_processor_id(Run& run, const uint64_t* r);

uint64_t trace_printk(Run& run, const uint64_t* r);
uint64_t trace_vprintk(Run& run, const uint64_t* r);

// Of the host's tables (host_tables.hpp), which have to be there first.
uint64_t fib_lookup(Run& run, const uint64_t* r);
uint64_t check_mtu(Run& run, const uint64_t* r);

// For isa::kUnresolvedCall: always a fault.
uint64_t unresolved(Run& run, const uint64_t* r);

uint64_t csum_diff(Run& run, const uint64_t* r);

uint64_t xdp_adjust_head(Run& run, const uint64_t* r);
uint64_t xdp_adjust_tail(Run& run, const uint64_t* r);
uint64_t xdp_adjust_meta(Run& run, const uint64_t* r);
uint64_t xdp_get_buff_len(Run& run, const uint64_t* r);
uint64_t xdp_load_bytes(Run& run, const uint64_t* r);
uint64_t xdp_store_bytes(Run& run, const uint64_t* r);

}  // namespace xbond::bpf
