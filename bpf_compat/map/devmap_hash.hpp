// BPF_MAP_TYPE_DEVMAP_HASH (kernel/bpf/devmap.c): a DEVMAP whose keys may be any numbers. Programs only read.
#pragma once

#include <mutex>
#include <unordered_map>

#include "bpf_compat/map/hash.hpp"
#include "bpf_compat/map/target_array.hpp"

namespace xbond::bpf {

class DevmapHash final : public HashMap {
 public:
  DevmapHash(Token token, MapSpec spec, uint32_t cpus, Parts parts, Grace& grace)
      : HashMap(token, std::move(spec), cpus, std::move(parts)), retired_(grace) {}

  static Result<std::shared_ptr<Map>> create(const MapSpec& spec, uint32_t cpus, Grace& grace);

  // Worker, within a burst that the map's Grace knows: what the entry leads to.
  [[nodiscard]] Destination destination(uint32_t key, uint32_t cpu) noexcept;
  // The same: calls `action` with the destination of each entry that is there all the while, once; of one that comes or
  // goes meanwhile perhaps.
  template <class Action>
  void each_destination(Action&& action) const {
    each([&](uint32_t slot) {
      action(destination_at(slot));
      return true;
    });
  }

  int update(const void* key, const void* value, uint64_t flags, uint32_t cpu) noexcept override;
  int erase(const void* key, uint32_t cpu) noexcept override;
  int copy_update(std::span<const std::byte> key, std::span<const std::byte> value, uint64_t flags) override;
  int copy_erase(std::span<const std::byte> key) override;
  int copy_take(std::span<const std::byte> key, std::span<std::byte> value) override;
  // Control: the interface is no more, and entries that lead to it go (dev_map_notification).
  void forget(uint32_t ifindex);
  void unused() noexcept override;

 private:
  [[nodiscard]] Destination destination_at(uint32_t slot) const noexcept;
  int remove(uint32_t key);

  std::mutex lock_;                                                        // control
  std::unordered_map<uint32_t, std::shared_ptr<const Program>> programs_;  // by key
  Retired retired_;
};

}  // namespace xbond::bpf
