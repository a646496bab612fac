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
  explicit Retired(Grace& grace) : grace_(grace) {}

  // Precondition: no entry leads to `thing` any more.
  void add(std::shared_ptr<const void> thing) {
    if (thing) resting_.emplace_back(grace_.start(), std::move(thing));
    while (!resting_.empty() && grace_.passed(resting_.front().first)) resting_.pop_front();
  }

 private:
  Grace& grace_;
  std::deque<std::pair<uint64_t, std::shared_ptr<const void>>> resting_;
};

}  // namespace xbond::bpf
