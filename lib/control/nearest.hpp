// "did you mean": which of the known words is meant by an unknown one. Pure, any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace xbond::control {

// The candidates closest to `input`, at most three, in their given order; empty where none is close. Close is: one
// wrong, missing, extra or swapped character for each three; or each word of `input` begins the candidate's word.
std::vector<std::string> nearest(std::string_view input, std::span<const std::string> candidates);

// `; did you mean "a" or "b"?`, or an empty string.
std::string did_you_mean(std::span<const std::string> candidates);

}  // namespace xbond::control
