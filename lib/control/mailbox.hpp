// Work that other threads ask a thread with an event loop to do. It runs in the order it was posted.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "bpf_compat/result.hpp"
#include "lib/unique_fd.hpp"

namespace xbond::control {

class Mailbox {
 public:
  static constexpr size_t kMaxHeld = 1024;
  using Task = std::function<void()>;

  // Errors: EMFILE and the like.
  static Result<std::unique_ptr<Mailbox>> create();

  // Any thread but workers (takes a lock for a moment). False: kMaxHeld tasks wait; this one is not taken.
  bool post(Task task);
  // As post(), without the limit: for callers that wait for their task, of which each has one.
  void push(Task task);

  // Readable while tasks wait.
  [[nodiscard]] int fd() const { return event_.get(); }
  // The loop's thread: runs all that wait, outside of the lock.
  void run();

 private:
  explicit Mailbox(UniqueFd event) : event_(std::move(event)) {}
  bool put(Task task, size_t limit);
  UniqueFd event_;
  std::mutex mutex_;  // guards held_
  std::deque<Task> held_;
};

}  // namespace xbond::control
