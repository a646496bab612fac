// An owned file descriptor, and writing to one completely.
#pragma once

#include <unistd.h>

#include <string_view>
#include <utility>

#include "bpf_compat/result.hpp"

namespace xbond::control {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Fd() {
    if (fd_ >= 0) ::close(fd_);
  }

  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }

 private:
  int fd_ = -1;
};

// Blocks until all is written, also where somebody made `fd` non-blocking. Errors: write's errno.
Status write_all(int fd, std::string_view text);

}  // namespace xbond::control
