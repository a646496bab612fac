// Frames for made programs, with pages around them that nobody may touch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bpf_compat/engine/program.hpp"

namespace xbond::bpf::test {

class MadeFrame {
 public:
  // The `turn`th frame that `bytes` make: lengths and contents by turns. Every third one ends where its page does.
  MadeFrame(std::span<const uint8_t> bytes, unsigned turn);
  ~MadeFrame();
  MadeFrame(const MadeFrame&) = delete;
  MadeFrame& operator=(const MadeFrame&) = delete;

  [[nodiscard]] XdpFrame& view() { return view_; }
  // What a run left: the buffer, where the frame lies in it, and where it is to go. Comparable between frames.
  [[nodiscard]] std::vector<uint8_t> buffer() const { return {view_.hard_start, view_.hard_end}; }
  struct Place {
    ptrdiff_t data, data_end, data_meta;
    uint32_t ifindex, key, flags;
    bool operator==(const Place&) const = default;
  };
  [[nodiscard]] Place place() const;

 private:
  std::span<uint8_t> pages_;
  XdpFrame view_{};
};

}  // namespace xbond::bpf::test
