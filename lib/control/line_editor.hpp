// rte_cmdline's line editor, one character at a time. Thread: control.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bpf_compat/result.hpp"

struct rdline;

namespace xbond::control {

class LineEditor {
 public:
  // The editor's own buffer; it drops what comes after.
  static constexpr size_t kMaxTyped = 512;
  // Candidates for the last word of a line: whole words, unquoted.
  using Complete = std::function<std::vector<std::string>(std::string_view line)>;
  // Where characters for the terminal go.
  using Write = std::function<void(std::string_view text)>;

  // Errors: ENOMEM.
  static Result<std::unique_ptr<LineEditor>> create(std::string prompt, Complete complete, Write write);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  enum class Event {
    none,
    line,      // `line` holds it, without newline; it is in the history
    too_long,  // Enter after more than kMaxTyped characters: the line is gone
    end        // Ctrl-D on an empty line
  };
  Event feed(char c, std::string& line);

  // A new empty line with the prompt; after the output of a line.
  void prompt();
  // The prompt and what is typed so far again; after something else was written.
  void redisplay();
  // Characters on the line being typed, the prompt included.
  [[nodiscard]] size_t width() const;

 private:
  LineEditor(std::string prompt, Complete complete, Write write);
  static int write_char(struct rdline* line, char c);
  static void validate(struct rdline* line, const char* buffer, unsigned size);
  static int complete(struct rdline* line, const char* buffer, char* out, unsigned out_size, int* state);

  int begin_completion(std::string_view typed, char* out, unsigned out_size, bool list_only);
  int list_next(char* out, unsigned out_size);
  Event take_line(std::string& line);
  bool in_escape(char c);
  [[nodiscard]] size_t typed() const;

  struct Free {
    void operator()(struct rdline* line) const noexcept;
  };
  std::string prompt_;
  Complete complete_;
  Write write_;
  std::unique_ptr<struct rdline, Free> line_;
  std::vector<std::string> listed_;  // what TAB is listing, the rest of it
  size_t next_listed_ = 0;
  int escape_ = 0;         // 1 after ESC, 2 after ESC [
  bool overflow_ = false;  // characters of this line were dropped
};

}  // namespace xbond::control
