// What was dropped, by device and reason: one list for the console's text, its json, and the tests. Thread: control.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "app/xbond/appliance.hpp"

namespace xbond::app {

struct DropCount {
  std::string_view reason;  // static
  uint64_t frames = 0;      // since the counters were cleared
};

// All reasons that the device can have, those that never happened too.
[[nodiscard]] std::vector<DropCount> drops_of(Appliance& appliance, const Device& device);

}  // namespace xbond::app
