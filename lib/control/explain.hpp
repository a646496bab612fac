// Why a line is no command: one line that says where it went wrong and what was meant. Thread: control.
#pragma once

#include <span>
#include <string>

#include "lib/control/syntax.hpp"

namespace xbond::control {

// Precondition: `words` is not empty and none of `syntaxes` takes it whole.
std::string explain(std::span<const Syntax* const> syntaxes, std::span<const std::string> words);

}  // namespace xbond::control
