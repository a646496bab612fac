#include "app/xbond/protocol_thread.hpp"

#include <fmt/format.h>
#include <rte_lcore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstring>
#include <ctime>

namespace xbond::app {
namespace {

void drain(int fd) {
  uint64_t count = 0;
  while (read(fd, &count, sizeof count) > 0) {
  }
}

}  // namespace

uint64_t now_ms() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000 + static_cast<uint64_t>(t.tv_nsec) / 1000000;
}

Result<std::unique_ptr<ProtocolThread>> ProtocolThread::create() {
  std::unique_ptr<ProtocolThread> self(new ProtocolThread());  // NOLINT(modernize-make-unique): private constructor
  auto loop = control::EventLoop::create();
  if (!loop) {
    return loop.error();
  }
  self->loop_ = std::move(loop.value());
  self->timer_ = control::Fd(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  self->wake_ = control::Fd(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  if (!self->timer_ || !self->wake_) {
    return fail(errno, fmt::format("protocol thread: {}", std::strerror(errno)));
  }
  ProtocolThread* p = self.get();
  if (Status ok = self->watch(self->wake_.get(), [p] { p->run_messages(); }); !ok) {
    return ok.error();
  }
  if (Status ok = self->watch(self->timer_.get(), [p] { p->timer_task_(); }); !ok) {
    return ok.error();
  }
  return self;
}

ProtocolThread::~ProtocolThread() {
  stop();
}

Status ProtocolThread::watch(int fd, Task readable) {
  const bool counter = fd == timer_.get() || fd == wake_.get();
  return loop_->watch(fd, EPOLLIN, [fd, counter, task = std::move(readable)](uint32_t) {
    if (counter) {
      drain(fd);
    }
    task();
  });
}

Status ProtocolThread::start() {
  running_ = true;
  if (const int rc = rte_ctrl_thread_create(&thread_, "xbond-protocol", nullptr, &ProtocolThread::main, this);
      rc != 0) {
    running_ = false;
    return fail(-rc, fmt::format("protocol thread: {}", std::strerror(-rc)));
  }
  return {};
}

void ProtocolThread::stop() {
  if (!running_) {
    return;
  }
  push([this] { loop_->finish(); });
  pthread_join(thread_, nullptr);
  running_ = false;
}

void ProtocolThread::wake_at(uint64_t deadline_ms) noexcept {
  itimerspec when{};
  when.it_value.tv_sec = static_cast<time_t>(deadline_ms / 1000);
  when.it_value.tv_nsec = static_cast<long>(deadline_ms % 1000) * 1000000L;
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

bool ProtocolThread::post(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (messages_.size() >= kMaxMessages) {
      return false;
    }
  }
  push(std::move(task));
  return true;
}

void ProtocolThread::push(Task task) {
  {
    const std::lock_guard lock(mutex_);
    messages_.push_back(std::move(task));
  }
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_.get(), &one, sizeof one);  // full: a wake-up waits already
}

void ProtocolThread::run_messages() {
  std::deque<Task> batch;
  {
    const std::lock_guard lock(mutex_);
    batch.swap(messages_);
  }
  for (Task& task : batch) {
    task();
  }
}

void* ProtocolThread::main(void* self) {
  static_cast<ProtocolThread*>(self)->loop_->run(-1, [] { return false; });
  return nullptr;
}

}  // namespace xbond::app
