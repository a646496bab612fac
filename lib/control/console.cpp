#include "lib/control/console.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

#include "lib/control/event_loop.hpp"
#include "lib/control/line_editor.hpp"
#include "lib/control/line_reader.hpp"
#include "lib/control/terminal.hpp"
#include "lib/control/tokenize.hpp"
#include "lib/control/write_all.hpp"

namespace xbond::control {
namespace {

constexpr std::string_view kPrompt = "xbond> ";
// Back to the line's first column and empty it.
constexpr std::string_view kClearLine = "\r\033[2K";

// One way of talking to the user on stdin. Ends by EventLoop::finish().
class Session {
 public:
  Session(const CommandTable& table, EventLoop& loop, const std::function<bool()>& stop)
      : table_(table), loop_(loop), stop_(stop) {}
  virtual ~Session() = default;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  virtual void input(std::string_view bytes) = 0;
  virtual void end_of_input() = 0;
  virtual void notice(const std::string& line) = 0;

 protected:
  const CommandTable& table_;
  EventLoop& loop_;
  const std::function<bool()>& stop_;

  [[nodiscard]] bool stopped() const { return stop_ && stop_(); }
  // A reader that went away must not be waited for.
  void show(int fd, std::string_view text) {
    if (!write_all(fd, text)) loop_.finish();
  }
};

class PlainSession : public Session {
 public:
  using Session::Session;

  void input(std::string_view bytes) override {
    reader_.feed(bytes);
    run_held();
  }
  void end_of_input() override {
    reader_.end();
    run_held();
    loop_.finish();
  }
  void notice(const std::string& line) override { show(STDERR_FILENO, line + '\n'); }

 private:
  void run_held() {
    std::string line;
    while (!stopped()) {
      const LineReader::Next next = reader_.next(line);
      if (next == LineReader::Next::nothing) return;
      std::string out;
      const Status ran = next == LineReader::Next::too_long
                             ? Status(fail(E2BIG, fmt::format("line is longer than {} bytes", kMaxLine)))
                             : table_.run(line, out);
      show(STDOUT_FILENO, out);
      if (!ran) show(STDERR_FILENO, ran.error().text + '\n');
    }
  }

  LineReader reader_{kMaxLine};
};

class InteractiveSession : public Session {
 public:
  using Session::Session;

  // Whoever writes next begins on a line of its own.
  ~InteractiveSession() override {
    if (at_prompt_) show(STDOUT_FILENO, "\n");
  }

  // Errors: the terminal's or the editor's.
  Status open() {
    Result<RawTerminal> terminal = RawTerminal::enter(STDIN_FILENO);
    if (!terminal) return terminal.error();
    terminal_ = std::make_unique<RawTerminal>(std::move(*terminal));
    auto editor = LineEditor::create(
        std::string(kPrompt), [this](std::string_view line) { return table_.complete(line); },
        [this](std::string_view text) { screen_ += text; });
    if (!editor) return editor.error();
    editor_ = std::move(*editor);
    editor_->prompt();
    at_prompt_ = true;
    flush();
    return {};
  }

  void input(std::string_view bytes) override {
    std::string line;
    for (const char c : bytes) {
      const LineEditor::Event event = editor_->feed(c, line);
      if (event == LineEditor::Event::none) continue;
      if (event == LineEditor::Event::end) return end_of_input();
      if (!take(event, line)) return;
    }
    flush();
  }
  void end_of_input() override {
    flush();
    loop_.finish();
  }

  void notice(const std::string& line) override {
    // A line that has wrapped can't be wiped by its last row: leave it and repeat it below.
    screen_ += editor_->width() < terminal_columns(STDOUT_FILENO) ? kClearLine : "\n";
    screen_ += line + '\n';
    editor_->redisplay();
    flush();
  }

 private:
  // False: that was the last one.
  bool take(LineEditor::Event event, const std::string& line) {
    at_prompt_ = false;
    flush();  // the command may take its time: show that it was accepted
    if (event == LineEditor::Event::too_long) {
      screen_ += fmt::format("line is longer than {} characters: use @FILE for long words, or --cmdline-file\n",
                             LineEditor::kMaxTyped);
    } else if (const Status ran = table_.run(line, screen_); !ran) {
      screen_ += ran.error().text + '\n';
    }
    if (stopped()) {
      flush();
      return false;
    }
    editor_->prompt();
    at_prompt_ = true;
    flush();
    return true;
  }

  void flush() { show(STDOUT_FILENO, std::exchange(screen_, {})); }

  std::unique_ptr<RawTerminal> terminal_;
  std::unique_ptr<LineEditor> editor_;
  std::string screen_;      // written, not yet shown
  bool at_prompt_ = false;  // the cursor stands on a line being typed
};

std::unique_ptr<Session> open_session(const CommandTable& table, EventLoop& loop, const std::function<bool()>& stop) {
  if (::isatty(STDIN_FILENO) != 0 && ::isatty(STDOUT_FILENO) != 0) {
    auto session = std::make_unique<InteractiveSession>(table, loop, stop);
    if (session->open()) return session;
  }
  return std::make_unique<PlainSession>(table, loop, stop);
}

void read_stdin(Session& session) {
  std::array<char, 4096> chunk{};
  const ssize_t got = ::read(STDIN_FILENO, chunk.data(), chunk.size());
  if (got > 0) {
    session.input({chunk.data(), static_cast<size_t>(got)});
  } else if (got == 0 || (errno != EINTR && errno != EAGAIN)) {
    session.end_of_input();
  }
}

// Null session: no stdin.
void serve(EventLoop& loop, Session* session, int wake_fd, const std::function<bool()>& stop,
           const Services& services) {
  const auto show_notices = [&](uint32_t) {
    for (const std::string& line : services.notices->take()) {
      if (session != nullptr) {
        session->notice(line);
      } else if (!write_all(STDERR_FILENO, line + '\n')) {
        return;
      }
    }
  };
  Status watched;
  if (services.notices != nullptr) watched = loop.watch(services.notices->fd(), EPOLLIN, show_notices);
  if (watched && services.mailbox != nullptr)
    watched = loop.watch(services.mailbox->fd(), EPOLLIN, [&](uint32_t) { services.mailbox->run(); });
  if (watched && services.socket != nullptr) watched = services.socket->attach(loop);
  if (watched && session != nullptr)
    watched = loop.watch(STDIN_FILENO, EPOLLIN, [&](uint32_t) { read_stdin(*session); });
  if (watched) {
    loop.run(wake_fd, stop);
  } else {
    fmt::print(stderr, "console: {}\n", watched.error().text);
  }
  if (services.socket != nullptr) services.socket->detach();
  if (services.notices != nullptr) show_notices(0);  // those that came last
}

}  // namespace

void run_console(const CommandTable& table, int wake_fd, const std::function<bool()>& stop, Services services) {
  std::fflush(stdout);  // what was printed before stays before
  const auto loop = EventLoop::create();
  if (!loop) {
    fmt::print(stderr, "console: {}\n", loop.error().text);
    return;
  }
  const std::unique_ptr<Session> session = open_session(table, **loop, stop);
  serve(**loop, session.get(), wake_fd, stop, services);
}

void run_services(int wake_fd, const std::function<bool()>& stop, Services services) {
  const auto loop = EventLoop::create();
  if (!loop) {
    fmt::print(stderr, "console: {}\n", loop.error().text);
    return;
  }
  serve(**loop, nullptr, wake_fd, stop, services);
}

}  // namespace xbond::control
