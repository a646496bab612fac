#include "lib/control/paths.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace xbond::control {

std::vector<std::string> complete_path(std::string_view prefix) {
  namespace fs = std::filesystem;
  const size_t slash = prefix.rfind('/');
  const std::string directory(slash == std::string_view::npos ? "" : prefix.substr(0, slash + 1));
  const std::string_view name = slash == std::string_view::npos ? prefix : prefix.substr(slash + 1);

  std::vector<std::string> found;
  std::error_code error;
  fs::directory_iterator entry(directory.empty() ? "." : directory, fs::directory_options::skip_permission_denied,
                               error);
  for (; !error && entry != fs::directory_iterator() && found.size() < kMaxPaths; entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    if (!file.starts_with(name) || (file.starts_with('.') && !name.starts_with('.'))) continue;
    std::error_code unknown;  // an entry that can't be examined is offered as a plain file
    found.push_back(directory + file + (entry->is_directory(unknown) ? "/" : ""));
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace xbond::control
