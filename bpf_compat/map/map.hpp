// BPF maps in user space. Control and workers use a map at once; look-ups take no lock.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "bpf_compat/map/grace.hpp"
#include "bpf_compat/object/object.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::bpf {

// The kernel's own number ENOTSUPP, which user space's errno.h does not know and bpf(2) gives out all the same.
inline constexpr int kNotSupported = 524;

// A record that a program wrote (ring buffers, perf event arrays).
struct Event {
  uint64_t time_ns = 0;  // CLOCK_MONOTONIC; perf events only, like the two numbers below
  uint32_t cpu = 0;
  uint32_t index = 0;
  std::span<const std::byte> data = {};  // until the call returns
};

// The virtual calls serve control and generic code; packet-path code dispatches on the concrete final class by kind().
class Map {
 public:
  // `cpus`: number of slots of per-CPU maps (workers see a dense CPU number below it). `grace` knows the bursts of all
  // workers that use the map, and outlives it.
  // Errors: ENOTSUP a map type that this build has no family for (named), EINVAL sizes the kernel refuses, ENOMEM.
  static Result<std::shared_ptr<Map>> create(const MapSpec& spec, uint32_t cpus, Grace& grace = BurstGrace::instance());

  // The living map of that id; null when there is none. Any thread, not on the packet path.
  static std::shared_ptr<Map> find(uint32_t id);

  virtual ~Map() = default;
  Map(const Map&) = delete;
  Map& operator=(const Map&) = delete;

  [[nodiscard]] const MapSpec& spec() const { return spec_; }
  [[nodiscard]] uint32_t id() const { return id_; }  // unique in the process, from 1
  [[nodiscard]] uint32_t cpus() const { return cpus_; }
  [[nodiscard]] bool per_cpu() const;
  // Bytes of one value as control sees it: value_size, or for per-CPU maps round_up(value_size, 8) * cpus.
  [[nodiscard]] size_t control_value_size() const;
  // Of a per-CPU map's value: bytes from one CPU's to the next.
  [[nodiscard]] size_t control_stride() const;

  // --- what a program calls (worker, within a burst that the map's Grace knows; no allocation). Results are the
  // kernel's: pointer or nullptr; 0 or a negative errno. `key` has key_size bytes, `value` value_size bytes. What
  // lookup() gives stays that key's until the burst ends.
  virtual void* lookup(const void* key, uint32_t cpu) noexcept = 0;
  virtual int update(const void* key, const void* value, uint64_t flags, uint32_t cpu) noexcept = 0;
  virtual int erase(const void* key, uint32_t cpu) noexcept = 0;

  // Maps without keys. A `value` has value_size bytes; pop and peek fill it with zeros when there is none.
  virtual int push(const void* value, uint64_t flags) noexcept;
  virtual int pop(void* value) noexcept;
  virtual int peek(void* value) noexcept;

  // --- what control calls, like bpf(2): copies out and in, all CPUs at once. Spans are checked: EINVAL.
  // Maps without keys take an empty one: update is push, look-up peek, take pop.
  virtual int copy_lookup(std::span<const std::byte> key, std::span<std::byte> value) = 0;
  virtual int copy_update(std::span<const std::byte> key, std::span<const std::byte> value, uint64_t flags) = 0;
  virtual int copy_erase(std::span<const std::byte> key) = 0;
  // BPF_MAP_LOOKUP_AND_DELETE_ELEM; -kNotSupported where the kernel has no such thing.
  virtual int copy_take(std::span<const std::byte> key, std::span<std::byte> value);
  // BPF_MAP_GET_NEXT_KEY: an empty `key` asks for the first. -ENOENT at the end.
  virtual int next_key(std::span<const std::byte> key, std::span<std::byte> next) = 0;

  // Control: gives each record since the last call to `sink`, until it returns false; what follows stays for the next
  // call. -kNotSupported for maps that hold none.
  virtual int drain(const std::function<bool(const Event&)>& sink);

  // Control: the last program that was loaded with this map is gone. Maps that refer to programs let them go.
  virtual void unused() noexcept {}

  // The address ranges that a value pointer into this map may lie in, for run-time checks (arrays: one range).
  [[nodiscard]] virtual std::span<std::byte> values_range() noexcept = 0;

  // Programs loaded with this map. Control.
  void add_user() noexcept { users_.fetch_add(1, std::memory_order_relaxed); }
  void drop_user() noexcept {
    if (users_.fetch_sub(1, std::memory_order_acq_rel) == 1) unused();
  }

 protected:
  Map(MapSpec spec, uint32_t cpus);

  // 0, or the errno of a control access before the key is looked at: the flags BPF_F_RDONLY and BPF_F_WRONLY, frozen.
  [[nodiscard]] int may_read() const noexcept;
  [[nodiscard]] int may_write() const noexcept;

 private:
  MapSpec spec_;
  uint32_t id_;
  uint32_t cpus_;
  std::atomic<uint32_t> users_{0};
};

}  // namespace xbond::bpf
