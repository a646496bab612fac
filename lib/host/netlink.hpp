// The kernel's notices of changed netdevices (rtnetlink).
#pragma once

#include <vector>

#include "bpf_compat/result.hpp"
#include "lib/unique_fd.hpp"

namespace xbond::host {

// A subscription to link changes in the network namespace of the caller of open(). One thread.
// It says which netdevices to look at again, not what they look like now: a notice may be old by the time it is read,
// so the reader asks the kernel for the present state.
class LinkEvents {
 public:
  static Result<LinkEvents> open();

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }

  // Appends the ifindex of each changed netdevice. Never blocks; reads a bounded number of notices (the rest stays
  // readable). False: notices were lost, anything may have changed.
  bool read(std::vector<int>& changed);

 private:
  explicit LinkEvents(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

}  // namespace xbond::host
