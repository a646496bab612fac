// A function in a process of its own, with its stdin and stdout on a terminal or on pipes.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "lib/control/write_all.hpp"
#include "lib/unique_fd.hpp"

namespace xbond::control {

class Child {
 public:
  static Child on_terminal(const std::function<void()>& body, unsigned short columns = 80) {
    Child child;
    winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    int master = -1;
    child.pid_ = forkpty(&master, nullptr, nullptr, &size);
    if (child.pid_ == 0) run(body);
    child.terminal_ = true;
    child.in_ = UniqueFd(dup(master));
    child.out_ = UniqueFd(master);
    return child;
  }

  // stderr goes to a pipe of its own.
  static Child on_pipes(const std::function<void()>& body) {
    Child child;
    std::array<int, 2> in{}, out{}, err{};
    EXPECT_EQ(pipe2(in.data(), O_CLOEXEC) | pipe2(out.data(), O_CLOEXEC) | pipe2(err.data(), O_CLOEXEC), 0);
    child.pid_ = fork();
    if (child.pid_ == 0) {
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      dup2(err[1], STDERR_FILENO);
      for (const int fd : {in[0], in[1], out[0], out[1], err[0], err[1]}) close(fd);
      run(body);
    }
    for (const int fd : {in[0], out[1], err[1]}) close(fd);
    child.in_ = UniqueFd(in[1]);
    child.out_ = UniqueFd(out[0]);
    child.err_ = UniqueFd(err[0]);
    return child;
  }

  Child(Child&&) = default;
  ~Child() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }

  void send(std::string_view text) const { EXPECT_TRUE(write_all(in_.get(), text).ok()); }
  void close_input() { in_ = UniqueFd(); }
  void hang_up() {
    in_ = UniqueFd();
    out_ = UniqueFd();
  }
  [[nodiscard]] int terminal() const { return out_.get(); }

  // What came since the last call up to and including `text`; fails the test after half a minute without it.
  std::string expect(std::string_view text) {
    const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    size_t at = std::string::npos;
    while ((at = pending_.find(text)) == std::string::npos) {
      if (std::chrono::steady_clock::now() > give_up || !read_more(out_, pending_)) {
        ADD_FAILURE() << "no \"" << text << "\" in: " << pending_;
        return std::exchange(pending_, {});
      }
    }
    std::string upto = pending_.substr(0, at + text.size());
    pending_.erase(0, at + text.size());
    return upto;
  }

  // Waits for the end; its exit status, -1 for a signal or none in half a minute.
  int wait_for_end() {
    std::string rest;
    for (int i = 0; i < 3000; ++i) {
      int status = 0;
      if (waitpid(pid_, &status, WNOHANG) == pid_) {
        pid_ = -1;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
      }
      read_more(out_, pending_, 0);  // a full pipe would keep it from ending
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return -1;
  }

  // All bytes that came from a terminal.
  [[nodiscard]] const std::string& raw() const { return raw_; }
  std::string all_output() { return all(out_, pending_); }
  std::string all_errors() { return all(err_, errors_); }

 private:
  Child() = default;

  [[noreturn]] static void run(const std::function<void()>& body) {
    alarm(60);
    body();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }

  // On a terminal, what the cursor is told is of no interest: only text is kept, lines ended by '\n' alone.
  void append(std::string_view bytes, std::string& into) {
    if (!terminal_) {
      into += bytes;
      return;
    }
    raw_ += bytes;
    for (const char c : bytes) {
      if (c == '\033') {
        escape_ = 1;
      } else if (escape_ == 1) {
        escape_ = c == '[' ? 2 : 0;
      } else if (escape_ == 2) {
        escape_ = c < '@' ? 2 : 0;
      } else if (c != '\r' && c != '\a') {
        into += c;
      }
    }
  }

  bool read_more(const UniqueFd& from, std::string& into, int wait_ms = 30000) {
    pollfd wait{.fd = from.get(), .events = POLLIN, .revents = 0};
    if (poll(&wait, 1, wait_ms) != 1) return false;
    std::array<char, 4096> chunk{};
    const ssize_t got = read(from.get(), chunk.data(), chunk.size());
    if (got <= 0) return false;
    append({chunk.data(), static_cast<size_t>(got)}, into);
    return true;
  }

  std::string all(const UniqueFd& from, std::string& pending) {
    while (read_more(from, pending)) {
    }
    return std::exchange(pending, {});
  }

  pid_t pid_ = -1;
  UniqueFd in_, out_, err_;
  std::string pending_, errors_, raw_;
  bool terminal_ = false;
  int escape_ = 0;  // 1 after ESC, 2 within ESC [
};

}  // namespace xbond::control
