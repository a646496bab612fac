#include "lib/dataplane/snapshot.hpp"

#include <fmt/format.h>

namespace xbond::dataplane {

Result<std::unique_ptr<Qsbr>> Qsbr::create(uint32_t workers) {
  const size_t size = rte_rcu_qsbr_get_memsize(workers);
  void* memory = std::aligned_alloc(RTE_CACHE_LINE_SIZE, RTE_ALIGN_CEIL(size, size_t{RTE_CACHE_LINE_SIZE}));
  if (memory == nullptr) {
    return fail(ENOMEM, "quiescent state of the workers: out of memory");
  }
  auto* state = static_cast<rte_rcu_qsbr*>(memory);
  std::unique_ptr<Qsbr> qsbr(new Qsbr(state));  // NOLINT(modernize-make-unique): private constructor
  if (rte_rcu_qsbr_init(state, workers) != 0) {
    return fail(rte_errno, fmt::format("quiescent state of {} workers: {}", workers, rte_strerror(rte_errno)));
  }
  for (uint32_t worker = 0; worker < workers; ++worker) {
    rte_rcu_qsbr_thread_register(state, worker);
  }
  return qsbr;
}

void Published::publish(std::unique_ptr<const Snapshot> next) {
  current_.store(next.get(), std::memory_order_release);
  token_ = qsbr_.start();
  if (owned_ != nullptr) {
    retired_.push_back({token_, 2, std::move(owned_)});
  }
  owned_ = std::move(next);
  reclaim();
}

void Published::reclaim() noexcept {
  while (!retired_.empty() && qsbr_.passed(retired_.front().token)) {
    Retired first = std::move(retired_.front());
    retired_.pop_front();
    if (--first.left != 0) {
      first.token = qsbr_.start();
      retired_.push_back(std::move(first));
    }
  }
}

}  // namespace xbond::dataplane
