#include "lib/control/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace xbond::control {

Result<RawTerminal> RawTerminal::enter(int fd) {
  termios saved{};
  if (::tcgetattr(fd, &saved) != 0) return fail(errno, fmt::format("not a terminal: {}", std::strerror(errno)));
  termios raw = saved;
  raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG | IEXTEN);
  raw.c_iflag &= ~static_cast<tcflag_t>(IXON);
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  if (::tcsetattr(fd, TCSANOW, &raw) != 0) {
    return fail(errno, fmt::format("cannot set the terminal's mode: {}", std::strerror(errno)));
  }
  return RawTerminal(fd, saved);
}

RawTerminal::RawTerminal(RawTerminal&& other) noexcept : fd_(std::exchange(other.fd_, -1)), saved_(other.saved_) {}

RawTerminal::~RawTerminal() {
  if (fd_ >= 0) ::tcsetattr(fd_, TCSANOW, &saved_);
}

unsigned terminal_columns(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace xbond::control
