// The thread that moves frames between taps and rings, and watches for what the host changes on the taps.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <type_traits>
#include <utility>
#include <vector>

#include "lib/host/channel.hpp"
#include "lib/host/netlink.hpp"
#include "lib/host/pace.hpp"
#include "lib/host/tap.hpp"

namespace xbond::host {

// It alone serves the channels, without a lock: others hand it work through call(). Functions: any thread.
class HostThread {
 public:
  using Changed = std::function<void(const TapChange&)>;

  static Result<std::unique_ptr<HostThread>> start(rte_mempool* pool, Changed changed);
  ~HostThread();  // ends the thread; not on the thread itself
  HostThread(const HostThread&) = delete;
  HostThread& operator=(const HostThread&) = delete;

  Status attach(std::shared_ptr<Channel> channel);
  // On return the thread does not touch the channel any more.
  void detach(const std::shared_ptr<Channel>& channel);

  // Runs `work` on the thread, between two rounds, and returns its result.
  template <class Work>
  std::invoke_result_t<Work> call(Work work) {
    if (pthread_equal(pthread_self(), thread_) != 0) return work();
    // Shared: the thread may still be leaving the task when the answer is already here.
    const auto task = std::make_shared<std::packaged_task<std::invoke_result_t<Work>()>>(std::move(work));
    auto answer = task->get_future();
    post([task] { (*task)(); });
    return answer.get();
  }

 private:
  struct Ready;

  HostThread(rte_mempool* pool, Changed changed, LinkEvents links, UniqueFd epoll, UniqueFd wake);
  static void* entry(void* self);
  void run();
  [[nodiscard]] Ready wait();
  void move_frames(const Ready& ready);
  void read_links();
  void report();
  void run_posted();
  void post(std::function<void()> work);
  [[nodiscard]] Pace::Time sleep_time() const;

  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;  // guarded by mutex_

  // The thread's own
  Changed changed_;
  LinkEvents links_;
  UniqueFd epoll_, wake_;
  FrameReader reader_;
  Pace pace_;
  struct Served {
    std::shared_ptr<Channel> channel;
    bool look = true;  // its settings may have changed
    bool reported_gone = false;
  };
  std::vector<Served> served_;
  bool more_ = false;  // frames were left behind in the last round
  bool stop_ = false;

  pthread_t thread_{};
};

}  // namespace xbond::host
