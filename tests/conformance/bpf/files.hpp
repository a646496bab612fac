// The object files that a command line names. Thread: any.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

namespace xbond::bpf::conformance {

// Directories stand for the objects in them; those that are not there for none.
inline std::vector<std::string> object_files(const std::vector<std::string>& arguments) {
  namespace fs = std::filesystem;
  std::vector<std::string> out;
  for (const auto& argument : arguments) {
    std::error_code error;
    if (!fs::is_directory(argument, error)) {
      if (fs::exists(argument, error)) out.push_back(argument);
      continue;
    }
    for (const auto& entry : fs::directory_iterator(argument, error))
      if (entry.path().extension() == ".o") out.push_back(entry.path());
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace xbond::bpf::conformance
