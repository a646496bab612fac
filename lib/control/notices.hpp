// Lines that other threads have to say (link changes, degradations). They are shown by the control thread, above the
// prompt where there is one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "bpf_compat/result.hpp"
#include "lib/unique_fd.hpp"

namespace xbond::control {

class Notices {
 public:
  static constexpr size_t kMaxHeld = 1024;
  static constexpr size_t kMaxLength = 1024;  // longer ones are cut

  // Errors: EMFILE and the like.
  static Result<std::unique_ptr<Notices>> create();

  // Any thread but workers (takes a lock for a moment; never waits for the control thread). One line without newline;
  // control characters in it become '?'. Where kMaxHeld lines wait already, it is counted and dropped.
  void post(std::string_view line);

  // Readable while lines wait.
  [[nodiscard]] int fd() const { return event_.get(); }
  // Control thread: all that wait, in order; a last line says how many were dropped.
  std::vector<std::string> take();

 private:
  explicit Notices(UniqueFd event) : event_(std::move(event)) {}
  UniqueFd event_;
  std::mutex mutex_;
  std::vector<std::string> held_;
  uint64_t dropped_ = 0;
};

}  // namespace xbond::control
