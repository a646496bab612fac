// When memory that was taken out of a map may be used for something else: once every worker that could have found it
// has ended its burst. The map room asks through this interface; the appliance answers with its QSBR, and what has
// none (xbpf, tests) uses the bursts themselves.
#pragma once

#include <cstdint>

namespace xbond::bpf {

class Grace {
 public:
  Grace() = default;
  virtual ~Grace() = default;
  Grace(const Grace&) = delete;
  Grace& operator=(const Grace&) = delete;

  // A token, above 0, for what has been taken out before this call. Any thread; no lock, no system call.
  virtual uint64_t start() noexcept = 0;
  // Whether no worker can still hold what was taken out before start() gave `token`. Never blocks. Any thread.
  virtual bool passed(uint64_t token) noexcept = 0;
};

// Knows the bursts that run now, of all programs of the process that have no other Grace. Lives for ever.
class BurstGrace final : public Grace {
 public:
  static BurstGrace& instance() noexcept;

  uint64_t start() noexcept override;
  bool passed(uint64_t token) noexcept override;

  // While one lives, nothing passes that its thread could have found. Does not nest: the outer one counts.
  class Burst {
   public:
    Burst() noexcept;
    ~Burst();
    Burst(const Burst&) = delete;
    Burst& operator=(const Burst&) = delete;

   private:
    bool outer_;
  };
};

}  // namespace xbond::bpf
