#include "lib/dataplane/worker_pool.hpp"

#include <fmt/format.h>
#include <rte_launch.h>
#include <rte_lcore.h>

#include <cstring>

namespace xbond::dataplane {
namespace {

struct Launch {
  Worker* worker;
  const std::atomic<bool>* stop;
};

int lcore_main(void* argument) {
  const auto* launch = static_cast<const Launch*>(argument);
  launch->worker->run(*launch->stop);
  return 0;
}

}  // namespace

std::vector<unsigned> WorkerPool::choose_lcores(unsigned wanted) {
  std::vector<unsigned> lcores;
  unsigned lcore = 0;
  RTE_LCORE_FOREACH_WORKER(lcore) {
    if (lcores.size() < wanted) {
      lcores.push_back(lcore);
    }
  }
  if (lcores.size() < wanted) {
    lcores.push_back(rte_get_main_lcore());
  }
  return lcores;
}

WorkerPool::WorkerPool(std::vector<unsigned> lcores, uint16_t burst, Published& published, Qsbr& qsbr)
    : lcores_(std::move(lcores)) {
  for (uint32_t cpu = 0; cpu < lcores_.size(); ++cpu) {
    workers_.push_back(std::make_unique<Worker>(cpu, burst, published, qsbr));
  }
}

WorkerPool::~WorkerPool() {
  stop();
}

Status WorkerPool::start() {
  if (running_) {
    return fail(EALREADY, "already started");
  }
  stop_ = false;
  running_ = true;
  // rte_eal_remote_launch hands the pointer over; a static array outlives every launch.
  static std::array<Launch, RTE_MAX_LCORE> launches;
  for (size_t i = 0; i < workers_.size(); ++i) {
    if (lcores_[i] == rte_get_main_lcore()) {
      const std::lock_guard lock(mutex_);
      on_main_ = workers_[i].get();
      main_busy_ = true;
      changed_.notify_all();
      continue;
    }
    launches[i] = {workers_[i].get(), &stop_};
    if (const int rc = rte_eal_remote_launch(lcore_main, &launches[i], lcores_[i]); rc != 0) {
      stop();
      return fail(-rc, fmt::format("worker on lcore {}: {}", lcores_[i], std::strerror(-rc)));
    }
  }
  return {};
}

void WorkerPool::stop() {
  if (!running_) {
    return;
  }
  stop_ = true;
  for (const unsigned lcore : lcores_) {
    if (lcore != rte_get_main_lcore()) {
      rte_eal_wait_lcore(lcore);
    }
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !main_busy_; });
  running_ = false;
  for (const auto& worker : workers_) {
    worker->discard_waiting();
  }
}

void WorkerPool::serve_main_lcore() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return on_main_ != nullptr || end_; });
    if (on_main_ == nullptr) {
      return;
    }
    Worker* worker = std::exchange(on_main_, nullptr);
    lock.unlock();
    worker->run(stop_);
    lock.lock();
    main_busy_ = false;
    changed_.notify_all();
  }
}

void WorkerPool::end_service() {
  const std::lock_guard lock(mutex_);
  end_ = true;
  changed_.notify_all();
}

}  // namespace xbond::dataplane
