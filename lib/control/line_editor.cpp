#include "lib/control/line_editor.hpp"

#include <cmdline_rdline.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "lib/control/tokenize.hpp"

namespace xbond::control {
namespace {

constexpr size_t kMaxListed = 200;

// What rdline's complete callback returns.
constexpr int kNothing = 0, kInsert = RDLINE_RES_COMPLETE, kList = 1;

size_t common_prefix(const std::vector<std::string>& words) {
  size_t length = words.front().size();
  for (const std::string& word : words) {
    const auto differs = std::mismatch(word.begin(), word.end(), words.front().begin(), words.front().end());
    length = std::min(length, static_cast<size_t>(differs.first - word.begin()));
  }
  return length;
}

bool printable(char c) {
  return c >= 0x20 && c < 0x7f;
}

int copy_out(std::string_view text, char* out, unsigned size, int result) {
  // Inserting half an escape or half a name would be worse than nothing.
  if (text.size() + 1 > size) return kNothing;
  std::memcpy(out, text.data(), text.size());
  out[text.size()] = '\0';
  return result;
}

// What TAB adds when there is no choice left; a directory waits for its next part.
std::string completed_tail(const std::string& word, const PartialLine& partial) {
  std::string tail = escape(std::string_view(word).substr(partial.last.size()), partial.quote);
  if (word.ends_with('/')) return tail;
  if (partial.quote != 0) tail.push_back(partial.quote);
  return tail + ' ';
}

}  // namespace

void LineEditor::Free::operator()(struct rdline* line) const noexcept {
  rdline_free(line);
}

LineEditor::LineEditor(std::string prompt, Complete complete, Write write)
    : prompt_(std::move(prompt)), complete_(std::move(complete)), write_(std::move(write)) {}

LineEditor::~LineEditor() = default;

Result<std::unique_ptr<LineEditor>> LineEditor::create(std::string prompt, Complete complete, Write write) {
  std::unique_ptr<LineEditor> editor(new LineEditor(std::move(prompt), std::move(complete), std::move(write)));
  editor->line_.reset(rdline_new(&write_char, &validate, &LineEditor::complete, editor.get()));
  if (!editor->line_) return fail(ENOMEM, "no memory for the line editor");
  return editor;
}

int LineEditor::write_char(struct rdline* line, char c) {
  static_cast<LineEditor*>(rdline_get_opaque(line))->write_(std::string_view(&c, 1));
  return 0;
}

// The line is taken from rdline_char_in's result; the editor insists on the callback.
void LineEditor::validate(struct rdline* /*line*/, const char* /*buffer*/, unsigned /*size*/) {}

int LineEditor::complete(struct rdline* line, const char* buffer, char* out, unsigned out_size, int* state) {
  auto* self = static_cast<LineEditor*>(rdline_get_opaque(line));
  // 0: TAB was hit, -1: '?', 1: the next one of the list
  const int was = std::exchange(*state, 1);
  if (was > 0) return self->list_next(out, out_size);
  return self->begin_completion(buffer, out, out_size, was < 0);
}

int LineEditor::begin_completion(std::string_view typed, char* out, unsigned out_size, bool list_only) {
  const Result<PartialLine> partial = tokenize_partial(typed);
  if (!partial || partial->closed) return kNothing;
  listed_ = complete_(typed);
  next_listed_ = 0;
  if (listed_.empty()) return kNothing;
  if (!list_only) {
    if (listed_.size() == 1) return copy_out(completed_tail(listed_.front(), *partial), out, out_size, kInsert);
    const size_t common = common_prefix(listed_);
    if (common > partial->last.size()) {
      const std::string_view more = std::string_view(listed_.front()).substr(0, common).substr(partial->last.size());
      return copy_out(escape(more, partial->quote), out, out_size, kInsert);
    }
  }
  if (listed_.size() > kMaxListed) {
    const size_t hidden = listed_.size() - kMaxListed;
    listed_.resize(kMaxListed);
    listed_.push_back(fmt::format("... and {} more", hidden));
  }
  return list_next(out, out_size);
}

int LineEditor::list_next(char* out, unsigned out_size) {
  if (next_listed_ == listed_.size()) return kNothing;
  std::string& next = listed_[next_listed_++];
  // A name from a directory may hold anything; the terminal must not obey it.
  std::replace_if(
      next.begin(), next.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  return copy_out(std::string_view(next).substr(0, out_size - 1), out, out_size, kList);
}

size_t LineEditor::typed() const {
  return std::strcspn(rdline_get_buffer(line_.get()), "\n");
}

size_t LineEditor::width() const {
  return prompt_.size() + typed();
}

void LineEditor::prompt() {
  overflow_ = false;
  rdline_newline(line_.get(), prompt_.c_str());
}

void LineEditor::redisplay() {
  rdline_redisplay(line_.get());
}

// Follows cursor-key sequences, whose characters are not text.
bool LineEditor::in_escape(char c) {
  if (escape_ == 0) {
    escape_ = c == '\033' ? 1 : 0;
    return escape_ != 0;
  }
  const bool introducer = escape_ == 1 && c == '[';
  const bool parameter = escape_ == 2 && (c < '@' || c > '~');
  escape_ = introducer || parameter ? 2 : 0;
  return true;
}

LineEditor::Event LineEditor::feed(char c, std::string& line) {
  if (!in_escape(c) && printable(c) && c != '?' && typed() >= kMaxTyped) {
    overflow_ = true;
    write_("\a");
    return Event::none;
  }
  switch (rdline_char_in(line_.get(), c)) {
    case RDLINE_RES_VALIDATED:
      return take_line(line);
    case RDLINE_RES_EOF:
    case RDLINE_RES_EXITED:
    case RDLINE_RES_NOT_RUNNING:
      return Event::end;
    default:
      if (overflow_ && typed() == 0) overflow_ = false;  // Ctrl-C, or all deleted
      return Event::none;
  }
}

LineEditor::Event LineEditor::take_line(std::string& line) {
  const char* buffer = rdline_get_buffer(line_.get());
  if (std::exchange(overflow_, false)) return Event::too_long;
  line.assign(buffer, std::strcspn(buffer, "\n"));
  const char* last = rdline_get_history_item(line_.get(), 0);
  const bool again = last != nullptr && line == last;
  if (!line.empty() && !again) rdline_add_history(line_.get(), line.c_str());
  return Event::line;
}

}  // namespace xbond::control
