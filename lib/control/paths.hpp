// Completion of file names. Reads directories: may block. Thread: control.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace xbond::control {

// Paths that begin with `prefix`, sorted, directories with a final '/'; at most kMaxPaths. Hidden ones only where the
// prefix names a dot. Nothing where the directory can't be read.
inline constexpr size_t kMaxPaths = 1000;
std::vector<std::string> complete_path(std::string_view prefix);

}  // namespace xbond::control
