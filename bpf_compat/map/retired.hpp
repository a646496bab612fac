// What entries of a map referred to, kept until no burst can use it any more. Thread: control, under the map's lock.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <utility>

#include "bpf_compat/map/grace.hpp"

namespace xbond::bpf {

class Retired {
 public:
  // `periods`: how often every burst must have ended. Two, where a burst may hand the thing on to another worker's.
  explicit Retired(Grace& grace, uint32_t periods = 1) : grace_(grace), periods_(periods) {}

  // Precondition: no entry leads to `thing` any more.
  void add(std::shared_ptr<const void> thing) {
    if (thing) resting_.push_back({grace_.start(), periods_, std::move(thing)});
    while (!resting_.empty() && grace_.passed(resting_.front().token)) {
      Resting first = std::move(resting_.front());
      resting_.pop_front();
      if (--first.left == 0) continue;
      first.token = grace_.start();
      resting_.push_back(std::move(first));
    }
  }

 private:
  struct Resting {
    uint64_t token;
    uint32_t left;  // periods
    std::shared_ptr<const void> thing;
  };
  Grace& grace_;
  uint32_t periods_;
  std::deque<Resting> resting_;
};

}  // namespace xbond::bpf
