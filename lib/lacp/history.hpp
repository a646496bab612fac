// The last transitions, oldest first; older ones are forgotten. No allocation.
#pragma once

#include <array>
#include <cstddef>

#include "lib/lacp/types.hpp"

namespace xbond::lacp {

class History {
 public:
  static constexpr std::size_t kKept = 32;

  void add(const Transition& transition) noexcept {
    entries_[added_ % kKept] = transition;
    ++added_;
  }
  [[nodiscard]] std::size_t size() const noexcept { return added_ < kKept ? added_ : kKept; }
  // 0 is the oldest kept. Precondition: index < size()
  [[nodiscard]] const Transition& operator[](std::size_t index) const noexcept {
    return entries_[(added_ - size() + index) % kKept];
  }

 private:
  std::array<Transition, kKept> entries_{};
  std::size_t added_ = 0;
};

}  // namespace xbond::lacp
