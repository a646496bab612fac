#include "lib/control/event_loop.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

namespace xbond::control {

Result<std::unique_ptr<EventLoop>> EventLoop::create() {
  UniqueFd epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll) return fail(errno, fmt::format("cannot make an event loop: {}", std::strerror(errno)));
  return std::unique_ptr<EventLoop>(new EventLoop(std::move(epoll)));
}

Status EventLoop::watch(int fd, uint32_t events, Ready ready) {
  const uint64_t id = next_id_++;
  epoll_event event{.events = events, .data = {.u64 = id}};
  const bool refused = ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0;
  if (refused && errno != EPERM) {
    const int code = errno;
    return fail(code, fmt::format("cannot wait for descriptor {}: {}", fd, std::strerror(code)));
  }
  watches_[id] = std::make_shared<Watch>(Watch{fd, refused, std::move(ready)});
  ids_[fd] = id;
  return {};
}

void EventLoop::change(int fd, uint32_t events) {
  const auto id = ids_.find(fd);
  if (id == ids_.end()) return;
  epoll_event event{.events = events, .data = {.u64 = id->second}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void EventLoop::forget(int fd) {
  const auto id = ids_.find(fd);
  if (id == ids_.end()) return;
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
  watches_.erase(id->second);
  ids_.erase(id);
}

bool EventLoop::call(uint64_t id, uint32_t events, const std::function<bool()>& stop) {
  const auto found = watches_.find(id);
  if (found == watches_.end()) return true;
  const std::shared_ptr<Watch> watch = found->second;  // it may forget itself while it runs
  watch->ready(events);
  return !finished_ && !(stop && stop());
}

bool EventLoop::any_always_ready() const {
  return std::any_of(watches_.begin(), watches_.end(), [](const auto& watch) { return watch.second->always_ready; });
}

bool EventLoop::call_always_ready(const std::function<bool()>& stop) {
  std::vector<uint64_t> ready;
  for (const auto& [id, watch] : watches_) {
    if (watch->always_ready) ready.push_back(id);
  }
  return std::all_of(ready.begin(), ready.end(), [&](uint64_t id) { return call(id, EPOLLIN, stop); });
}

void EventLoop::run(int wake_fd, const std::function<bool()>& stop) {
  finished_ = stop && stop();
  const auto wake = [this](uint32_t) { finish(); };
  if (wake_fd >= 0 && !watch(wake_fd, EPOLLIN, wake)) return;
  std::array<epoll_event, 16> events{};
  while (!finished_) {
    const int wait_ms = any_always_ready() ? 0 : -1;
    const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_ms);
    if (count < 0 && errno != EINTR) break;
    // A signal handler may have turned stop() true without an event.
    if (count < 0 && stop && stop()) break;
    bool going = true;
    for (int i = 0; i < count && going; ++i) {
      const epoll_event event = events.at(static_cast<size_t>(i));
      going = call(event.data.u64, event.events, stop);
    }
    if (!going || !call_always_ready(stop)) break;
  }
  if (wake_fd >= 0) forget(wake_fd);
}

}  // namespace xbond::control
