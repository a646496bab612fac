// The protocol thread: an unpinned EAL control thread with a timer and event descriptors, sole writer of bond state.
// Everybody else sends it bounded messages. It never blocks longer than its work takes.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <type_traits>
#include <utility>

#include "bpf_compat/result.hpp"
#include "lib/control/event_loop.hpp"
#include "lib/control/mailbox.hpp"
#include "lib/unique_fd.hpp"

namespace xbond::app {

// Milliseconds of CLOCK_MONOTONIC, the clock of every timer in the appliance.
uint64_t now_ms() noexcept;

class ProtocolThread {
 public:
  using Task = std::function<void()>;

  static Result<std::unique_ptr<ProtocolThread>> create();
  ~ProtocolThread();  // stops the thread; messages not yet run are dropped
  ProtocolThread(const ProtocolThread&) = delete;
  ProtocolThread& operator=(const ProtocolThread&) = delete;

  // Before start(): a descriptor to follow, and what runs when the time set by wake_at() has come.
  Status watch(int fd, Task readable);
  void on_timer(Task task) { timer_task_ = std::move(task); }
  Status start();
  void stop();

  // Protocol thread only (before start(): anybody): when on_timer's task runs next.
  void wake_at(uint64_t deadline_ms) noexcept;

  // Any thread. False: too many messages wait; this one is not taken.
  bool post(Task task) { return mailbox_->post(std::move(task)); }
  // Any other thread: runs `fn` on the protocol thread and waits for its result. While the thread does not run, its
  // state belongs to the caller.
  template <class Fn>
  auto call(Fn fn) -> std::invoke_result_t<Fn> {
    if (!running_) {
      return fn();
    }
    std::packaged_task<std::invoke_result_t<Fn>()> task(std::move(fn));
    auto result = task.get_future();
    mailbox_->push([&task] { task(); });
    return result.get();
  }

 private:
  ProtocolThread() = default;
  static void* main(void* self);

  std::unique_ptr<control::EventLoop> loop_;
  std::unique_ptr<control::Mailbox> mailbox_;
  UniqueFd timer_;
  pthread_t thread_{};
  std::atomic<bool> running_{false};
  Task timer_task_;
};

}  // namespace xbond::app
