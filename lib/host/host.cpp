#include <fmt/format.h>

#include <atomic>
#include <map>
#include <mutex>

#include "lib/host/channel.hpp"
#include "lib/host/host_thread.hpp"
#include "lib/host/tap.hpp"

namespace xbond::host {
namespace {

// Ring names must be unique in the process, whatever number of Hosts there is.
uint32_t next_handle() {
  static std::atomic<uint32_t> last{0};
  uint32_t handle = 0;
  while (handle == 0) handle = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return handle;
}

Error unknown(uint32_t handle) {
  return fail(ENOENT, fmt::format("host: no tap with handle {}", handle));
}

}  // namespace

struct Host::Impl {
  rte_mempool* pool = nullptr;
  uint16_t workers = 1;
  std::unique_ptr<HostThread> thread;

  // Held for a look-up only, so that no caller waits for another one's system calls.
  mutable std::mutex mutex;
  std::map<uint32_t, std::shared_ptr<Channel>> channels;

  [[nodiscard]] std::shared_ptr<Channel> find(uint32_t handle) const {
    const std::lock_guard lock(mutex);
    const auto found = channels.find(handle);
    return found == channels.end() ? nullptr : found->second;
  }
};

Host::Host() : impl_(std::make_unique<Impl>()) {}

// The thread first: it must not touch channels that are being freed.
Host::~Host() {
  impl_->thread.reset();
}

Result<std::unique_ptr<Host>> Host::create(rte_mempool* pool, uint16_t workers,
                                           std::function<void(const TapChange&)> changed) {
  if (pool == nullptr || workers == 0) return fail(EINVAL, "host: needs a pool of mbufs and at least one worker");
  std::unique_ptr<Host> out(new Host());
  auto thread = HostThread::start(pool, std::move(changed));
  if (!thread) return thread.error();
  out->impl_->pool = pool;
  out->impl_->workers = workers;
  out->impl_->thread = std::move(*thread);
  return out;
}

Result<uint32_t> Host::add(std::string_view name, const port::Mac& mac, uint16_t mtu) {
  auto device = TapDevice::create(name, mac, mtu);
  if (!device) return device.error();
  const uint32_t handle = next_handle();
  auto channel = Channel::create(std::move(*device), handle, impl_->workers, impl_->pool->socket_id);
  if (!channel) return channel.error();
  if (auto status = impl_->thread->attach(*channel); !status) return status.error();
  const std::lock_guard lock(impl_->mutex);
  impl_->channels.emplace(handle, std::move(*channel));
  return handle;
}

void Host::remove(uint32_t handle) {
  const auto channel = impl_->find(handle);
  if (!channel) return;
  impl_->thread->detach(channel);
  const std::lock_guard lock(impl_->mutex);
  impl_->channels.erase(handle);
}

std::vector<Rings> Host::rings(uint32_t handle) const {
  const auto channel = impl_->find(handle);
  return channel ? channel->rings() : std::vector<Rings>{};
}

Status Host::set_carrier(uint32_t handle, bool up) {
  const auto channel = impl_->find(handle);
  return channel ? channel->device().set_carrier(up) : unknown(handle);
}

// MAC and MTU are set on the host thread, which also compares: so no notice of our own change can slip in between.
Status Host::set_mac(uint32_t handle, const port::Mac& mac) {
  const auto channel = impl_->find(handle);
  if (!channel) return unknown(handle);
  return impl_->thread->call([&]() -> Status {
    auto status = channel->device().set_mac(mac);
    if (status) channel->expect_mac(mac);
    return status;
  });
}

Status Host::set_mtu(uint32_t handle, uint16_t mtu) {
  const auto channel = impl_->find(handle);
  if (!channel) return unknown(handle);
  return impl_->thread->call([&]() -> Status {
    auto status = channel->device().set_mtu(mtu);
    if (status) channel->expect_mtu(mtu);
    return status;
  });
}

Counters Host::counters(uint32_t handle) const {
  const auto channel = impl_->find(handle);
  return channel ? channel->counters() : Counters{};
}

}  // namespace xbond::host
