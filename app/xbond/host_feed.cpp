#include "app/xbond/host_feed.hpp"

#include <fmt/format.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "lib/unique_fd.hpp"

namespace xbond::app {
namespace {

// A routing daemon changes thousands of routes in one go: they are one reading.
constexpr auto kSettle = std::chrono::milliseconds(50);

uint32_t group(unsigned number) {
  return 1U << (number - 1);
}

UniqueFd subscribe() {
  UniqueFd fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  for (const unsigned number :
       {RTNLGRP_LINK, RTNLGRP_NEIGH, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,
        RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE, RTNLGRP_IPV4_NETCONF, RTNLGRP_IPV6_NETCONF})
    address.nl_groups |= group(number);
  if (fd.get() < 0 || bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) return UniqueFd();
  return fd;
}

}  // namespace

struct HostFeed::State {
  bpf::Grace* grace = nullptr;
  UniqueFd changes;
  UniqueFd wake;
  std::mutex mutex;
  std::vector<bpf::HostName> names;  // under mutex
  bool ending = false;               // under mutex
  std::thread thread;

  Status read() {
    std::vector<bpf::HostName> now;
    {
      const std::lock_guard lock(mutex);
      now = names;
    }
    auto tables = bpf::read_host_tables(now);
    if (!tables) return tables.error();
    bpf::HostTables::publish(std::move(*tables), *grace);
    return {};
  }

  bool ended() {
    const std::lock_guard lock(mutex);
    return ending;
  }

  void signal() const { (void)eventfd_write(wake.get(), 1); }

  // What the messages say does not matter, only that they came; one that was lost (ENOBUFS) came too.
  void drain() const {
    std::array<std::byte, 8192> buffer;
    while (recv(changes.get(), buffer.data(), buffer.size(), 0) >= 0 || errno == ENOBUFS) {
    }
    eventfd_t count = 0;
    (void)eventfd_read(wake.get(), &count);
  }

  void run() {
    while (!ended()) {
      std::array<pollfd, 2> fds = {pollfd{changes.get(), POLLIN, 0}, pollfd{wake.get(), POLLIN, 0}};
      if (poll(fds.data(), fds.size(), -1) < 0 && errno != EINTR) return;
      if (ended()) return;
      std::this_thread::sleep_for(kSettle);
      drain();
      // One that fails leaves the tables as they were; the next change tries again
      (void)read();
    }
  }
};

Result<std::unique_ptr<HostFeed>> HostFeed::create(std::vector<bpf::HostName> names, bpf::Grace& grace) {
  auto state = std::make_unique<State>();
  state->grace = &grace;
  state->names = std::move(names);
  // First subscribed, then read: no change falls between
  state->changes = subscribe();
  state->wake = UniqueFd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (state->changes.get() < 0 || state->wake.get() < 0)
    return fail(errno, fmt::format("the host's routes can't be watched: {}", std::strerror(errno)));
  if (auto status = state->read(); !status) return status.error();
  state->thread = std::thread([raw = state.get()] { raw->run(); });
  return std::unique_ptr<HostFeed>(new HostFeed(std::move(state)));
}

HostFeed::HostFeed(std::unique_ptr<State> state) : state_(std::move(state)) {}

HostFeed::~HostFeed() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->ending = true;
  }
  state_->signal();
  state_->thread.join();
}

void HostFeed::set_names(std::vector<bpf::HostName> names) {
  {
    const std::lock_guard lock(state_->mutex);
    state_->names = std::move(names);
  }
  state_->signal();
}

}  // namespace xbond::app
