// What the control thread waits for: one epoll set. Thread: control only.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "bpf_compat/result.hpp"
#include "lib/unique_fd.hpp"

namespace xbond::control {

class EventLoop {
 public:
  // Called with epoll's event bits. May watch, change and forget any descriptor, its own too.
  using Ready = std::function<void(uint32_t events)>;

  // Errors: EMFILE and the like, with their text.
  static Result<std::unique_ptr<EventLoop>> create();

  // The caller owns `fd` and forgets it before closing it. Regular files, which epoll refuses, count as always ready.
  Status watch(int fd, uint32_t events, Ready ready);
  void change(int fd, uint32_t events);
  void forget(int fd);

  // Until `wake_fd` (-1: none) is readable, which it stays; or finish() was called; or `stop`, asked after each event,
  // says so.
  void run(int wake_fd, const std::function<bool()>& stop);
  void finish() { finished_ = true; }

 private:
  explicit EventLoop(UniqueFd epoll) : epoll_(std::move(epoll)) {}
  struct Watch {
    int fd;
    bool always_ready;
    Ready ready;
  };
  bool call(uint64_t id, uint32_t events, const std::function<bool()>& stop);
  [[nodiscard]] bool any_always_ready() const;
  bool call_always_ready(const std::function<bool()>& stop);

  UniqueFd epoll_;
  // By a number that is never used again: an event that was fetched before its descriptor was forgotten finds nothing,
  // even if the descriptor's number has been given to another.
  std::map<uint64_t, std::shared_ptr<Watch>> watches_;
  std::map<int, uint64_t> ids_;
  uint64_t next_id_ = 1;
  bool finished_ = false;
};

}  // namespace xbond::control
