// rte_rcu_qsbr with its memory. Workers: online, quiescent, offline. Control: start, passed.
#pragma once

#include <rte_rcu_qsbr.h>

#include <cstdlib>
#include <memory>

#include "bpf_compat/map/grace.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::dataplane {

// Maps of programs ask it too, when they want to use an entry's memory again.
class Qsbr final : public bpf::Grace {
 public:
  static Result<std::unique_ptr<Qsbr>> create(uint32_t workers);

  void online(uint32_t worker) noexcept { rte_rcu_qsbr_thread_online(state_.get(), worker); }
  void quiescent(uint32_t worker) noexcept { rte_rcu_qsbr_quiescent(state_.get(), worker); }
  void offline(uint32_t worker) noexcept { rte_rcu_qsbr_thread_offline(state_.get(), worker); }

  uint64_t start() noexcept override { return rte_rcu_qsbr_start(state_.get()); }
  // Never blocks. Offline workers count as passed.
  [[nodiscard]] bool passed(uint64_t token) noexcept override {
    return rte_rcu_qsbr_check(state_.get(), token, false) == 1;
  }

 private:
  struct Free {
    void operator()(rte_rcu_qsbr* state) const noexcept { std::free(state); }  // NOLINT(cppcoreguidelines-no-malloc)
  };
  explicit Qsbr(rte_rcu_qsbr* state) : state_(state) {}
  std::unique_ptr<rte_rcu_qsbr, Free> state_;
};

}  // namespace xbond::dataplane
