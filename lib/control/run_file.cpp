#include <fcntl.h>
#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "lib/control/console.hpp"
#include "lib/control/line_reader.hpp"
#include "lib/control/tokenize.hpp"
#include "lib/control/write_all.hpp"
#include "lib/unique_fd.hpp"

namespace xbond::control {
namespace {

Status run_line(const CommandTable& table, LineReader::Next kind, const std::string& line) {
  if (kind == LineReader::Next::too_long) return fail(E2BIG, fmt::format("line is longer than {} bytes", kMaxLine));
  std::string out;
  if (Status ran = table.run(line, out); !ran) return ran;
  return write_all(STDOUT_FILENO, out);
}

// All whole lines that the reader holds.
Status run_held(const CommandTable& table, const std::string& path, LineReader& reader,
                const std::function<bool()>& stop) {
  std::string line;
  while (!(stop && stop())) {
    const LineReader::Next next = reader.next(line);
    if (next == LineReader::Next::nothing) break;
    if (Status ran = run_line(table, next, line); !ran) {
      return fail(ran.error().code, fmt::format("{}:{}: {}", path, reader.number(), ran.error().text));
    }
  }
  return {};
}

}  // namespace

Status run_file(const CommandTable& table, const std::string& path, const std::function<bool()>& stop) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail(errno, fmt::format("cannot open {}: {}", path, std::strerror(errno)));
  std::fflush(stdout);  // what was printed before stays before

  LineReader reader(kMaxLine);
  std::array<char, 65536> chunk{};
  while (!(stop && stop())) {
    const ssize_t got = ::read(file.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errno, fmt::format("cannot read {}: {}", path, std::strerror(errno)));
    if (got == 0) reader.end();
    reader.feed({chunk.data(), static_cast<size_t>(got)});
    if (Status ran = run_held(table, path, reader, stop); !ran || got == 0) return ran;
  }
  return {};
}

}  // namespace xbond::control
