#include "lib/port/link_watch.hpp"

#include <fmt/format.h>
#include <net/if.h>
#include <rte_errno.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>
#include <vector>

#include "lib/port/rtnl.hpp"

namespace xbond::port {
namespace {

// Datagrams handled in one call: a storm of notices must not keep the protocol thread from its deadlines. The file
// descriptor stays readable for the rest.
constexpr int kBudget = 256;

class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&&) = delete;
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }

 private:
  int fd_;
};

// Runs on EAL's interrupt thread, inside ethdev's lock: it only wakes the watcher.
int on_lsc(uint16_t /*port*/, rte_eth_event_type /*event*/, void* wake, void* /*result*/) {
  const uint64_t one = 1;
  return write(static_cast<const Fd*>(wake)->get(), &one, sizeof one) == sizeof one ? 0 : -1;
}

// The netdevice that the driver is bound to: a socket sticks to the index, whatever its name becomes.
unsigned bound_ifindex(const Port& port) {
  rte_eth_dev_info info{};
  if (rte_eth_dev_info_get(port.id(), &info) == 0 && info.if_index != 0) return info.if_index;
  return if_nametoindex(port.iface().c_str());
}

struct Followed {
  Port* port = nullptr;
  uint16_t id = UINT16_MAX;
  unsigned ifindex = 0;  // 0: the driver's word is enough
  // A driver's socket does not come back with its netdevice, even if a new one takes the name or the index: the port
  // stays down until it is opened anew.
  bool gone = false;

  void take(const IfaceState& state) {
    gone = gone || !state.present;
    port->operstate(!gone && state.up);
  }
};

}  // namespace

struct LinkWatch::Impl {
  Impl(RtnlSocket notices_, RtnlSocket queries_, Fd wake_, Fd epoll_)
      : notices(std::move(notices_)), queries(std::move(queries_)), wake(std::move(wake_)), epoll(std::move(epoll_)) {}

  void take(const IfaceState& state) {
    for (Followed& port : followed)
      if (port.ifindex == state.ifindex) port.take(state);
  }

  void read_anew(Followed& port) {
    if (port.ifindex == 0) return;
    if (const auto state = queries.query(port.ifindex)) port.take(*state);
  }

  void unregister(uint16_t id) {
    // -EAGAIN: it runs right now, and will not for long
    while (rte_eth_dev_callback_unregister(id, RTE_ETH_EVENT_INTR_LSC, &on_lsc, &wake) == -EAGAIN) sched_yield();
  }

  std::mutex lock;  // control adds and removes, the protocol thread handles
  RtnlSocket notices, queries;
  Fd wake, epoll;
  std::vector<Followed> followed;
  bool stale = false;  // notices were lost
};

LinkWatch::LinkWatch() = default;

LinkWatch::~LinkWatch() {
  if (!impl_) return;
  for (const Followed& port : impl_->followed) impl_->unregister(port.id);
}

Result<std::unique_ptr<LinkWatch>> LinkWatch::create() {
  auto notices = RtnlSocket::open(true);
  if (!notices) return notices.error();
  auto queries = RtnlSocket::open(false);
  if (!queries) return queries.error();
  Fd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), epoll(epoll_create1(EPOLL_CLOEXEC));
  for (const int fd : {wake.get(), notices->fd()}) {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    if (fd < 0 || epoll.get() < 0 || epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0)
      return fail(errno, fmt::format("link events: cannot wait for them: {}", strerror(errno)));
  }
  std::unique_ptr<LinkWatch> watch(new LinkWatch);
  watch->impl_ = std::make_unique<Impl>(std::move(*notices), std::move(*queries), std::move(wake), std::move(epoll));
  return watch;
}

Status LinkWatch::add(Port& port) {
  const std::lock_guard guard(impl_->lock);
  if (std::any_of(impl_->followed.begin(), impl_->followed.end(), [&](const Followed& f) { return f.port == &port; }))
    return fail(EEXIST, fmt::format("{}: its link is followed already", port.name()));
  const int status = rte_eth_dev_callback_register(port.id(), RTE_ETH_EVENT_INTR_LSC, &on_lsc, &impl_->wake);
  if (status != 0)
    return fail(-status, fmt::format("{}: its link events cannot be had: {}", port.name(), rte_strerror(-status)));
  Followed entry{.port = &port, .id = port.id()};
  if (!port.iface().empty()) {
    entry.ifindex = bound_ifindex(port);
    if (entry.ifindex == 0) port.operstate(false);  // deleted since the driver opened it
  }
  impl_->followed.push_back(entry);
  impl_->read_anew(impl_->followed.back());
  return {};
}

void LinkWatch::remove(Port& port) {
  const std::lock_guard guard(impl_->lock);
  if (std::erase_if(impl_->followed, [&](const Followed& f) { return f.port == &port; }) != 0)
    impl_->unregister(port.id());
}

int LinkWatch::fd() const {
  return impl_->epoll.get();
}

void LinkWatch::handle() noexcept {
  const std::lock_guard guard(impl_->lock);
  uint64_t events = 0;
  (void)!read(impl_->wake.get(), &events, sizeof events);  // only resets it
  for (int i = 0; i < kBudget; ++i) {
    switch (impl_->notices.receive([this](const IfaceState& state) { impl_->take(state); })) {
      case RtnlSocket::Got::messages:
        break;
      case RtnlSocket::Got::lost:
        impl_->stale = true;
        break;
      case RtnlSocket::Got::nothing:
        // Only now: notices that were still queued are older than what is read anew.
        if (std::exchange(impl_->stale, false))
          for (Followed& port : impl_->followed) impl_->read_anew(port);
        return;
    }
  }
}

}  // namespace xbond::port
