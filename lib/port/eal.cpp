#include "lib/port/eal.hpp"

#include <fmt/format.h>
#include <rte_eal.h>
#include <rte_errno.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <string_view>

namespace xbond::port {
namespace {

std::atomic<bool> initialised{false};

// An ordinary user's XDG_RUNTIME_DIR may be another user's (after su) or gone: EAL would complain about it although it
// falls back to /tmp where the variable is absent.
void drop_unusable_runtime_dir() {
  const char* directory = std::getenv("XDG_RUNTIME_DIR");
  if (directory != nullptr && geteuid() != 0 && access(directory, W_OK | X_OK) != 0) unsetenv("XDG_RUNTIME_DIR");
}

std::string_view hint(int code) {
  switch (code) {
    case EACCES:
      return " (no hugepages, or no right to them: --no-huge goes without)";
    case ENOMEM:
      return " (less memory is free than -m or --socket-mem asks for)";
    case EINVAL:
      return " (an EAL option is wrong; see the line above)";
    default:
      return "";
  }
}

}  // namespace

Result<std::unique_ptr<Eal>> Eal::init(const std::string& program, const std::vector<std::string>& arguments) {
  if (initialised.exchange(true)) return fail(EALREADY, "EAL starts only once in a process");
  drop_unusable_runtime_dir();
  static std::vector<std::string> words;  // EAL keeps pointers into them, also after a failed start
  words = arguments;
  words.insert(words.begin(), program);
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  if (rte_eal_init(static_cast<int>(words.size()), argv.data()) < 0) {
    const int code = rte_errno != 0 ? rte_errno : EINVAL;
    return fail(code, fmt::format("EAL did not start: {}{}", rte_strerror(code), hint(code)));
  }
  return std::unique_ptr<Eal>(new Eal);
}

Eal::~Eal() {
  rte_eal_cleanup();
}

}  // namespace xbond::port
