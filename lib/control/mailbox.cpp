#include "lib/control/mailbox.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

namespace xbond::control {

Result<std::unique_ptr<Mailbox>> Mailbox::create() {
  UniqueFd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) return fail(errno, fmt::format("cannot make a queue of messages: {}", std::strerror(errno)));
  return std::unique_ptr<Mailbox>(new Mailbox(std::move(event)));
}

bool Mailbox::put(Task task, size_t limit) {
  {
    const std::lock_guard lock(mutex_);
    if (held_.size() >= limit) return false;
    held_.push_back(std::move(task));
  }
  const uint64_t one = 1;
  // Fails only when the counter is at its limit; then the descriptor is readable anyway.
  [[maybe_unused]] const ssize_t written = ::write(event_.get(), &one, sizeof one);
  return true;
}

bool Mailbox::post(Task task) {
  return put(std::move(task), kMaxHeld);
}

void Mailbox::push(Task task) {
  put(std::move(task), std::numeric_limits<size_t>::max());
}

void Mailbox::run() {
  uint64_t count = 0;
  // Before the tasks: a post() between the two wakes the loop once more than needed, never once too few.
  [[maybe_unused]] const ssize_t got = ::read(event_.get(), &count, sizeof count);
  std::deque<Task> batch;
  {
    const std::lock_guard lock(mutex_);
    batch.swap(held_);
  }
  for (Task& task : batch) task();
}

}  // namespace xbond::control
