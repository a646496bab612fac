// Command line and configuration file: a word or option a line; the first byte chooses which of the two.
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "app/xbond/options.hpp"
#include "lib/control/write_all.hpp"
#include "lib/unique_fd.hpp"

namespace {

using namespace xbond;

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    words.emplace_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return words;
}

bool reads_a_file(const std::vector<std::string>& argv) {
  // Not from the fuzzer's pen: it would read any file of the machine.
  for (const std::string& word : argv) {
    if (word.find("config") != std::string::npos) return true;
  }
  return false;
}

void check(const Result<app::Options>& options) {
  if (!options) {
    if (options.error().text.empty()) std::abort();
    return;
  }
  if (options->burst < 1 || options->burst > 128 || options->nb_cores < 1) std::abort();
  for (const app::BondOption& bond : options->bonds) {
    if (bond.name.empty() || bond.name.size() > 15 || bond.options.empty()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] % 2 == 0) {
    const std::vector<std::string> argv = words_of(text);
    if (!reads_a_file(argv)) check(app::parse_options(argv));
    return 0;
  }
  const UniqueFd file(memfd_create("config", MFD_CLOEXEC));
  if (!control::write_all(file.get(), text)) return 0;
  check(app::parse_options({"--config", fmt::format("/proc/self/fd/{}", file.get())}));
  return 0;
}
