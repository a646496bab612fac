#include "app/xbond/protocol_thread.hpp"

#include <fmt/format.h>
#include <rte_lcore.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cstring>
#include <ctime>

namespace xbond::app {
namespace {

void drain(int timer) {
  uint64_t expirations = 0;
  while (read(timer, &expirations, sizeof expirations) > 0) {
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
  auto mailbox = control::Mailbox::create();
  if (!mailbox) {
    return mailbox.error();
  }
  self->mailbox_ = std::move(mailbox.value());
  self->timer_ = UniqueFd(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!self->timer_) {
    return fail(errno, fmt::format("protocol thread: {}", std::strerror(errno)));
  }
  ProtocolThread* p = self.get();
  if (Status ok = self->watch(p->mailbox_->fd(), [p] { p->mailbox_->run(); }); !ok) {
    return ok.error();
  }
  if (Status ok = self->watch(p->timer_.get(),
                              [p] {
                                drain(p->timer_.get());
                                p->timer_task_();
                              });
      !ok) {
    return ok.error();
  }
  return self;
}

ProtocolThread::~ProtocolThread() {
  stop();
}

Status ProtocolThread::watch(int fd, Task readable) {
  return loop_->watch(fd, EPOLLIN, [task = std::move(readable)](uint32_t) { task(); });
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
  mailbox_->push([this] { loop_->finish(); });
  pthread_join(thread_, nullptr);
  running_ = false;
}

void ProtocolThread::wake_at(uint64_t deadline_ms) noexcept {
  itimerspec when{};
  when.it_value.tv_sec = static_cast<time_t>(deadline_ms / 1000);
  when.it_value.tv_nsec = static_cast<long>(deadline_ms % 1000) * 1000000L;
  timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

void* ProtocolThread::main(void* self) {
  static_cast<ProtocolThread*>(self)->loop_->run(-1, [] { return false; });
  return nullptr;
}

}  // namespace xbond::app
