// Records on their way from workers to control: a ring of bytes that is mapped twice in a row, so that no record is
// ever cut. Records become visible in the order of their reservation, as soon as each is committed
// (kernel/bpf/ringbuf.c).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "bpf_compat/result.hpp"

namespace xbond::bpf {

class EventRing {
 public:
  // `bytes`: a power of two, at least a page; taken from the system when touched. Errors: ENOMEM.
  static Result<std::unique_ptr<EventRing>> create(size_t bytes);
  ~EventRing();
  EventRing(const EventRing&) = delete;
  EventRing& operator=(const EventRing&) = delete;

  // Producers, one at a time: room for a record, 8-byte aligned, zeroed or with bytes of older records. Null: full.
  std::byte* reserve(uint32_t bytes) noexcept;
  // Any producer, once for each reservation: hands the record over, or takes it back.
  static void commit(std::byte* record, bool discard) noexcept;

  // Control, one thread at a time: calls `sink` with each committed record, oldest first, until it returns false.
  template <class Sink>
  void drain(Sink&& sink) {
    auto position = consumer_.load(std::memory_order_relaxed);
    bool more = true;
    for (const auto end = producer_.load(std::memory_order_acquire); more && position < end;) {
      const auto head = header(at(position)).load(std::memory_order_acquire);
      if ((head & kBusy) != 0) break;
      const auto length = head & kLength;
      if ((head & kDiscard) == 0) more = sink(std::span<const std::byte>(at(position) + kHeader, length));
      position += whole(length);
      consumer_.store(position, std::memory_order_release);
    }
  }

  [[nodiscard]] size_t bytes() const { return bytes_; }
  // Bytes ever reserved and ever read, headers included.
  [[nodiscard]] uint64_t produced() const { return producer_.load(std::memory_order_acquire); }
  [[nodiscard]] uint64_t consumed() const { return consumer_.load(std::memory_order_acquire); }

 private:
  static constexpr size_t kHeader = 8;
  static constexpr uint32_t kBusy = 1U << 31;
  static constexpr uint32_t kDiscard = 1U << 30;
  static constexpr uint32_t kLength = kDiscard - 1;

  EventRing(std::byte* memory, size_t bytes) : memory_(memory), bytes_(bytes) {}
  [[nodiscard]] std::byte* at(uint64_t position) const { return memory_ + (position & (bytes_ - 1)); }
  static std::atomic_ref<uint32_t> header(std::byte* record) {
    return std::atomic_ref(*reinterpret_cast<uint32_t*>(record));
  }
  static uint64_t whole(uint32_t length) { return (uint64_t{length} + kHeader + 7) / 8 * 8; }

  std::byte* memory_;
  size_t bytes_;
  alignas(128) std::atomic<uint64_t> producer_{0};
  alignas(128) std::atomic<uint64_t> consumer_{0};
};

}  // namespace xbond::bpf
