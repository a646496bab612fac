// Things by their number, as long as they live. Where the kernel's control calls take a file descriptor and give back
// an id, ours take and give ids. Thread: any, not on the packet path.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace xbond::bpf {

template <class T>
class Registry {
 public:
  void add(uint32_t id, const std::shared_ptr<T>& thing) {
    const std::lock_guard guard(lock_);
    std::erase_if(things_, [](const auto& entry) { return entry.second.expired(); });
    things_[id] = thing;
  }
  // Null when it is gone, or never was.
  [[nodiscard]] std::shared_ptr<T> find(uint32_t id) const {
    const std::lock_guard guard(lock_);
    const auto it = things_.find(id);
    return it == things_.end() ? nullptr : it->second.lock();
  }

 private:
  mutable std::mutex lock_;
  std::unordered_map<uint32_t, std::weak_ptr<T>> things_;
};

}  // namespace xbond::bpf
