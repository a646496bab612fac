// The terminal in character mode for as long as the object lives. Thread: control.
#pragma once

#include <termios.h>

#include "bpf_compat/result.hpp"

namespace xbond::control {

// No echo, no line mode, no signal characters (Ctrl-C reaches the editor as a character). Output processing stays, so
// '\n' still starts a new line at its beginning. The destructor puts the old mode back.
class RawTerminal {
 public:
  // Errors: ENOTTY and the like.
  static Result<RawTerminal> enter(int fd);
  RawTerminal(RawTerminal&& other) noexcept;
  RawTerminal& operator=(RawTerminal&&) = delete;
  ~RawTerminal();

 private:
  RawTerminal(int fd, const termios& saved) : fd_(fd), saved_(saved) {}
  int fd_;
  termios saved_;
};

// Columns of the terminal; 80 where it does not say.
unsigned terminal_columns(int fd);

}  // namespace xbond::control
