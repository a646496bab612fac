// The workers and the lcores they run on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "bpf_compat/result.hpp"
#include "lib/dataplane/worker.hpp"

namespace xbond::dataplane {

// start() and stop(): control thread. The main lcore runs a worker only when the others do not suffice (with one lcore
// it is the worker); for that the main thread serves in serve_main_lcore().
class WorkerPool {
 public:
  // The lcores that `wanted` workers would take: EAL's workers first, then the main one. May be fewer.
  static std::vector<unsigned> choose_lcores(unsigned wanted);

  // One worker an lcore; cpu numbers in that order.
  WorkerPool(std::vector<unsigned> lcores, uint16_t burst, Published& published, Qsbr& qsbr);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  [[nodiscard]] std::span<const std::unique_ptr<Worker>> workers() const { return workers_; }
  [[nodiscard]] unsigned lcore(size_t worker) const { return lcores_[worker]; }
  [[nodiscard]] bool running() const { return running_; }

  Status start();
  void stop();  // returns when every worker has left its loop

  // Main thread: blocks, runs the main lcore's worker while started, returns after end_service().
  void serve_main_lcore();
  void end_service();

 private:
  std::vector<unsigned> lcores_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<bool> stop_{true};
  bool running_ = false;

  std::mutex mutex_;  // guards the three below
  std::condition_variable changed_;
  Worker* on_main_ = nullptr;  // asked to run
  bool main_busy_ = false;
  bool end_ = false;
};

}  // namespace xbond::dataplane
