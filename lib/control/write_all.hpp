// Writing to a descriptor completely.
#pragma once

#include <string_view>

#include "bpf_compat/result.hpp"

namespace xbond::control {

// Blocks until all is written, also where somebody made `fd` non-blocking. Errors: write's errno.
Status write_all(int fd, std::string_view text);

}  // namespace xbond::control
