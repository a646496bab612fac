#include "lib/control/line_reader.hpp"

#include <algorithm>

namespace xbond::control {

void LineReader::drop(size_t end) {
  start_ = scanned_ = end;
  // Moving the rest to the front for each line would cost the square of the lines in a chunk.
  if (start_ == pending_.size() || start_ > max_) {
    pending_.erase(0, start_);
    start_ = scanned_ = 0;
  }
}

LineReader::Next LineReader::next(std::string& line) {
  for (;;) {
    const size_t newline = pending_.find('\n', std::max(start_, scanned_));
    if (newline == std::string::npos && skipping_) {
      drop(pending_.size());
      return Next::nothing;
    }
    if (newline == std::string::npos && !ended_) {
      scanned_ = pending_.size();
      return held() > max_ ? refuse() : Next::nothing;
    }
    if (newline == std::string::npos && held() == 0) return Next::nothing;

    const size_t end = std::min(newline, pending_.size());
    const size_t after = std::min(end + 1, pending_.size());
    if (skipping_) {
      skipping_ = false;
      drop(after);
      continue;
    }
    ++number_;
    if (end - start_ > max_) {
      drop(after);
      return Next::too_long;
    }
    line.assign(pending_, start_, end - start_);
    if (line.ends_with('\r')) line.pop_back();
    drop(after);
    return Next::line;
  }
}

LineReader::Next LineReader::refuse() {
  ++number_;
  skipping_ = true;
  drop(pending_.size());
  return Next::too_long;
}

}  // namespace xbond::control
