#include "lib/control/text.hpp"

#include <fmt/format.h>

namespace xbond::control {

std::string quoted(std::string_view text) {
  if (text.size() <= kQuotedLength) return fmt::format("\"{}\"", text);
  return fmt::format("\"{}...\"", text.substr(0, kQuotedLength));
}

std::string joined(std::span<const std::string> items, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += separator;
    text += items[i];
  }
  return text;
}

}  // namespace xbond::control
