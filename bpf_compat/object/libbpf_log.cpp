#include "bpf_compat/object/libbpf_log.hpp"

#include <bpf/libbpf.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <string_view>

#include "bpf_compat/object/text.hpp"

namespace xbond::bpf {

// libbpf's callback has no user pointer: it finds the log of its thread here.
struct LibbpfLogAccess {
  static thread_local LibbpfLog* current;

  static int print(libbpf_print_level level, const char* format, va_list arguments) {
    if (level != LIBBPF_WARN || !current || !current->first_.empty()) return 0;
    std::array<char, 512> line{};
    if (std::vsnprintf(line.data(), line.size(), format, arguments) < 0) return 0;
    std::string_view text(line.data());
    if (text.starts_with("libbpf: ")) text.remove_prefix(8);
    if (const auto end = text.find('\n'); end != std::string_view::npos) text = text.substr(0, end);
    current->first_ = printable(text);
    return 0;
  }
};

thread_local LibbpfLog* LibbpfLogAccess::current = nullptr;

LibbpfLog::LibbpfLog() {
  static std::once_flag once;
  std::call_once(once, [] { libbpf_set_print(&LibbpfLogAccess::print); });
  LibbpfLogAccess::current = this;
}

LibbpfLog::~LibbpfLog() {
  LibbpfLogAccess::current = nullptr;
}

}  // namespace xbond::bpf
