// Bytes into lines, with a bound. Thread: its owner's.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "bpf_compat/result.hpp"

namespace xbond::control {

class LineReader {
 public:
  explicit LineReader(size_t max_line) : max_(max_line) {}

  void feed(std::string_view bytes) { pending_.append(bytes); }
  // After the last feed(): what is left over without a newline counts as a line.
  void end() { ended_ = true; }

  enum class Next { line, too_long, nothing };
  // Takes the next whole line, without its newline and a carriage return before it. too_long: a line over the bound; it
  // is reported once, where the bound is passed, and its rest skipped.
  Next next(std::string& line);

  // Lines handed out or refused so far: the number of the last one.
  [[nodiscard]] size_t number() const { return number_; }
  // Bytes held; stays below the bound plus what one feed() brought, as long as next() is called until `nothing`.
  [[nodiscard]] size_t held() const { return pending_.size() - start_; }
  [[nodiscard]] size_t max_line() const { return max_; }

 private:
  Next refuse();
  void drop(size_t end);

  size_t max_;
  std::string pending_;
  size_t start_ = 0;    // of what is not yet handed out
  size_t scanned_ = 0;  // no newline in [start_, scanned_)
  size_t number_ = 0;
  bool skipping_ = false, ended_ = false;
};

}  // namespace xbond::control
