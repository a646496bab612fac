#include "lib/host/host_thread.hpp"

#include <fmt/format.h>
#include <rte_lcore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

namespace xbond::host {
namespace {

// epoll data: a channel's handle, or one of these, which no handle reaches.
constexpr uint64_t kWake = UINT64_MAX;
constexpr uint64_t kLinks = UINT64_MAX - 1;
constexpr int kMaxEvents = 64;
// The kernel may lengthen each sleep by this: its default would double our shortest one.
constexpr unsigned long kTimerSlackNs = 10'000;

Pace::Time now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

int watch(int epoll, int fd, uint64_t data) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.u64 = data;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : errno;
}

int wait_for(int epoll, epoll_event* events, Pace::Time timeout) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(timeout);
  const timespec limit{seconds.count(), (timeout - seconds).count()};
  const int count = epoll_pwait2(epoll, events, kMaxEvents, &limit, nullptr);
  if (count >= 0 || errno == EINTR) return std::max(count, 0);
  // Kernels before 5.11, and containers that filter the newer call: whole milliseconds, never a spin.
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(timeout);
  return std::max(epoll_wait(epoll, events, kMaxEvents, static_cast<int>(ms.count())), 0);
}

}  // namespace

struct HostThread::Ready {
  bool wake = false, links = false;
  size_t taps = 0;
  std::array<uint64_t, kMaxEvents> handles;  // [0, taps): readable, or deleted
};

HostThread::HostThread(rte_mempool* pool, Changed changed, LinkEvents links, UniqueFd epoll, UniqueFd wake)
    : changed_(std::move(changed)),
      links_(std::move(links)),
      epoll_(std::move(epoll)),
      wake_(std::move(wake)),
      reader_(pool) {}

Result<std::unique_ptr<HostThread>> HostThread::start(rte_mempool* pool, Changed changed) {
  auto links = LinkEvents::open();
  if (!links) return links.error();
  UniqueFd epoll(epoll_create1(EPOLL_CLOEXEC));
  UniqueFd wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  const auto cannot = [](int code) {
    return fail(code, fmt::format("host thread: cannot start: {}", std::strerror(code)));
  };
  if (!epoll || !wake) return cannot(errno);
  if (const int code = watch(epoll.get(), wake.get(), kWake); code != 0) return cannot(code);
  if (const int code = watch(epoll.get(), links->fd(), kLinks); code != 0) return cannot(code);

  std::unique_ptr<HostThread> out(
      new HostThread(pool, std::move(changed), std::move(*links), std::move(epoll), std::move(wake)));
  const int error = rte_ctrl_thread_create(&out->thread_, "xbond-host", nullptr, entry, out.get());
  if (error != 0) {
    out->thread_ = {};
    return cannot(std::abs(error));
  }
  return out;
}

HostThread::~HostThread() {
  if (thread_ == pthread_t{}) return;
  post([this] { stop_ = true; });
  pthread_join(thread_, nullptr);
}

Status HostThread::attach(std::shared_ptr<Channel> channel) {
  return call([&]() -> Status {
    if (const int code = watch(epoll_.get(), channel->device().fd(), channel->handle()); code != 0)
      return fail(code, fmt::format("tap {}: cannot watch it: {}", channel->device().name(), std::strerror(code)));
    served_.push_back({std::move(channel)});
    return {};
  });
}

void HostThread::detach(const std::shared_ptr<Channel>& channel) {
  call([&] {
    // Fails harmlessly for a deleted tap, which is not watched any more.
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, channel->device().fd(), nullptr);
    std::erase_if(served_, [&](const Served& served) { return served.channel == channel; });
  });
}

void HostThread::post(std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    posted_.push_back(std::move(work));
  }
  eventfd_write(wake_.get(), 1);
}

void* HostThread::entry(void* self) {
  static_cast<HostThread*>(self)->run();
  return nullptr;
}

void HostThread::run() {
  prctl(PR_SET_TIMERSLACK, kTimerSlackNs);
  while (!stop_) {
    const Ready ready = wait();
    move_frames(ready);
    if (ready.links) read_links();
    if (ready.wake) run_posted();
    report();
  }
}

Pace::Time HostThread::sleep_time() const {
  if (more_) return {};
  // Without a tap there is no ring to look at: only events count.
  return served_.empty() ? std::chrono::hours(1) : pace_.sleep(now());
}

HostThread::Ready HostThread::wait() {
  std::array<epoll_event, kMaxEvents> events;
  const int count = wait_for(epoll_.get(), events.data(), sleep_time());
  Ready out;
  for (int i = 0; i < count; ++i) {
    const uint64_t data = events[static_cast<size_t>(i)].data.u64;
    if (data == kWake)
      out.wake = true;
    else if (data == kLinks)
      out.links = true;
    else
      out.handles[out.taps++] = data;
  }
  return out;
}

void HostThread::move_frames(const Ready& ready) {
  bool any = false;
  more_ = false;
  const auto* end = ready.handles.data() + ready.taps;
  for (auto& served : served_) {
    auto& channel = *served.channel;
    const auto to_kernel = channel.to_kernel();
    Channel::Moved from_kernel;
    if (!channel.gone() && std::find(ready.handles.data(), end, channel.handle()) != end)
      from_kernel = channel.from_kernel(reader_);
    any |= to_kernel.any || from_kernel.any;
    more_ |= to_kernel.more || from_kernel.more;
  }
  if (any) return pace_.moved(now());
  // Silence: other users of the pool have more need of the stock
  if (pace_.sleep(now()) > Pace::kShortest) reader_.release();
}

void HostThread::read_links() {
  std::vector<int> indexes;
  const bool complete = links_.read(indexes);
  for (auto& served : served_) {
    const int index = served.channel->device().ifindex();
    served.look |= !complete || std::find(indexes.begin(), indexes.end(), index) != indexes.end();
  }
}

// Tells of changes after all taps were looked at: the callback may attach and detach.
void HostThread::report() {
  std::vector<TapChange> changes;
  for (auto& served : served_) {
    auto& channel = *served.channel;
    if (std::exchange(served.look, false) && !channel.gone() && channel.refresh()) changes.push_back(channel.change());
    if (!channel.gone() || served.reported_gone) continue;
    served.reported_gone = true;
    // Its descriptor would report an error for ever.
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, channel.device().fd(), nullptr);
    changes.push_back(channel.change());
  }
  if (!changed_) return;
  for (const auto& change : changes) changed_(change);
}

void HostThread::run_posted() {
  eventfd_t ignored = 0;
  eventfd_read(wake_.get(), &ignored);
  std::vector<std::function<void()>> work;
  {
    const std::lock_guard lock(mutex_);
    work.swap(posted_);
  }
  for (const auto& item : work) item();
}

}  // namespace xbond::host
