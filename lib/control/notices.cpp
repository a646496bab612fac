#include "lib/control/notices.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace xbond::control {

Result<std::unique_ptr<Notices>> Notices::create() {
  UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) return fail(errno, fmt::format("cannot make the queue of notices: {}", std::strerror(errno)));
  return std::unique_ptr<Notices>(new Notices(std::move(event)));
}

void Notices::post(std::string_view line) {
  std::string text(line.substr(0, kMaxLength));
  std::replace_if(
      text.begin(), text.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  {
    const std::lock_guard lock(mutex_);
    if (held_.size() < kMaxHeld) {
      held_.push_back(std::move(text));
    } else {
      ++dropped_;
    }
  }
  const uint64_t one = 1;
  // Fails only when the counter is at its limit; then the descriptor is readable anyway.
  [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof one);
}

std::vector<std::string> Notices::take() {
  uint64_t count = 0;
  // Before the lines: a post() between the two wakes the loop once more than needed, never once too few.
  [[maybe_unused]] const ssize_t got = ::read(event_.get(), &count, sizeof count);
  const std::lock_guard lock(mutex_);
  std::vector<std::string> taken = std::exchange(held_, {});
  const uint64_t dropped = std::exchange(dropped_, 0);
  if (dropped > 0) taken.push_back(fmt::format("{} more notices were dropped", dropped));
  return taken;
}

}  // namespace xbond::control
