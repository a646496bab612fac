// Lines of bpf_trace_printk on their way from one worker to control. No lock, no system call; a full ring or too fast a
// program loses lines, which are counted.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace xbond::bpf {

class TraceRing {
 public:
  static constexpr size_t kLines = 64;
  static constexpr size_t kLineBytes = 256;
  static constexpr uint32_t kLinesPerSecond = 200;

  // Worker. `now_ns` is any monotonic clock; longer lines are cut.
  void push(std::string_view line, uint64_t now_ns) noexcept {
    const auto head = head_.load(std::memory_order_relaxed);
    if (!within_rate(now_ns) || head - tail_.load(std::memory_order_acquire) == kLines) {
      lost_.store(lost_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
      return;
    }
    auto& slot = lines_[head % kLines];
    slot.length = static_cast<uint16_t>(std::min(line.size(), kLineBytes));
    std::memcpy(slot.text.data(), line.data(), slot.length);
    head_.store(head + 1, std::memory_order_release);
  }

  // Control, one thread at a time.
  template <class Sink>
  void drain(Sink&& sink) {
    auto tail = tail_.load(std::memory_order_relaxed);
    for (const auto head = head_.load(std::memory_order_acquire); tail != head; ++tail) {
      const auto& slot = lines_[tail % kLines];
      sink(std::string_view(slot.text.data(), slot.length));
      tail_.store(tail + 1, std::memory_order_release);
    }
  }

  [[nodiscard]] uint64_t lost() const noexcept { return lost_.load(std::memory_order_relaxed); }

 private:
  struct Line {
    uint16_t length = 0;
    std::array<char, kLineBytes> text{};
  };

  bool within_rate(uint64_t now_ns) noexcept {
    if (now_ns - second_start_ >= 1'000'000'000) {
      second_start_ = now_ns;
      in_second_ = 0;
    }
    return in_second_++ < kLinesPerSecond;
  }

  alignas(64) std::atomic<uint32_t> head_{0};
  std::atomic<uint64_t> lost_{0};
  uint64_t second_start_ = 0;  // worker only
  uint32_t in_second_ = 0;
  alignas(64) std::atomic<uint32_t> tail_{0};
  alignas(64) std::array<Line, kLines> lines_{};
};

}  // namespace xbond::bpf
