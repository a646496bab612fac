// Catches what libbpf would print, for the error line of the one who called it. Thread: any, each its own.
#pragma once

#include <string>

namespace xbond::bpf {

// While it lives, libbpf's warnings of this thread are kept here; without one they are dropped. Do not nest.
class LibbpfLog {
 public:
  LibbpfLog();
  ~LibbpfLog();
  LibbpfLog(const LibbpfLog&) = delete;
  LibbpfLog& operator=(const LibbpfLog&) = delete;

  // The first warning, without libbpf's prefix; empty when there was none. Later ones only follow from it.
  [[nodiscard]] const std::string& first() const { return first_; }

 private:
  friend struct LibbpfLogAccess;
  std::string first_;
};

}  // namespace xbond::bpf
