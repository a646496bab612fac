// Pieces of the one line that an error is. Pure, any thread.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace xbond::control {

// Nobody reads more of what was typed than this.
inline constexpr size_t kQuotedLength = 60;

// "text", cut to kQuotedLength.
std::string quoted(std::string_view text);

std::string joined(std::span<const std::string> items, std::string_view separator);

}  // namespace xbond::control
