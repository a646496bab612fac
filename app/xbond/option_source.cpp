#include "app/xbond/option_source.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <boost/program_options/errors.hpp>
#include <boost/program_options/parsers.hpp>
#include <cerrno>
#include <cstring>
#include <string_view>

#include "lib/control/line_reader.hpp"
#include "lib/control/nearest.hpp"
#include "lib/control/text.hpp"
#include "lib/unique_fd.hpp"

namespace xbond::app {
namespace {

namespace po = boost::program_options;
namespace style = po::command_line_style;

constexpr size_t kMaxConfigLine = 64 * 1024, kMaxConfigLines = 65536;

// No abbreviations: a file or script must not change its meaning when an option is added.
constexpr int kStyle = style::unix_style & ~style::allow_guessing & ~style::allow_sticky;

std::vector<std::string> option_names() {
  std::vector<std::string> names;
  const po::options_description all = OptionGroups().all();
  for (const auto& option : all.options()) names.push_back("--" + option->long_name());
  return names;
}

std::string unknown_option(std::string name) {
  name = name.substr(0, name.find('='));
  const std::vector<std::string> near = control::nearest(name, option_names());
  const std::string_view hint = near.empty() ? R"(; EAL options go before "--")" : "";
  return fmt::format("unknown option {}{}{} (\"--help\" lists all)", name, control::did_you_mean(near), hint);
}

// Boost names the option that it complains about in quotes of its own.
std::string option_of(const po::error_with_option_name& error) {
  std::string name = error.get_option_name();
  return name.empty() ? "an option" : name;
}

std::string syntax_error(const po::invalid_syntax& error) {
  using Kind = po::invalid_syntax::kind_t;
  switch (error.kind()) {
    case Kind::missing_parameter:
    case Kind::empty_adjacent_parameter:
      return fmt::format("{}: a value is missing", option_of(error));
    case Kind::extra_parameter:
      return fmt::format("{} takes no value", option_of(error));
    default:
      return error.what();
  }
}

Result<std::vector<po::option>> parse(const std::vector<std::string>& argv) {
  const po::options_description all = OptionGroups().all();
  try {
    return po::command_line_parser(argv).options(all).style(kStyle).run().options;
  } catch (const po::unknown_option& error) {
    return fail(EINVAL, unknown_option(error.get_option_name()));
  } catch (const po::invalid_syntax& error) {
    return fail(EINVAL, syntax_error(error));
  } catch (const po::error& error) {
    return fail(EINVAL, error.what());
  }
}

Result<std::vector<Given>> given_by(const std::vector<std::string>& argv, const std::string& where) {
  const Result<std::vector<po::option>> parsed = parse(argv);
  if (!parsed) return fail(parsed.error().code, where + parsed.error().text);
  std::vector<Given> given;
  for (const po::option& option : *parsed) {
    if (option.string_key.empty() || option.position_key >= 0) {
      const std::string word = option.value.empty() ? "" : option.value.front();
      return fail(EINVAL, fmt::format("{}unexpected word {}: options begin with -- (\"--help\" lists all)", where,
                                      control::quoted(word)));
    }
    // Boost takes the next option for the value that was forgotten; one that begins so can be given with =.
    if (option.original_tokens.size() > 1 && option.original_tokens[1].starts_with('-')) {
      return fail(EINVAL, fmt::format("{}--{}: a value is missing", where, option.string_key));
    }
    given.push_back({option.string_key, option.value.empty() ? "" : option.value.front(), where});
  }
  return given;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  text.remove_prefix(std::min(text.find_first_not_of(blanks), text.size()));
  text = text.substr(0, text.find_last_not_of(blanks) + 1);
  return text;
}

std::string_view without_comment(std::string_view line) {
  for (size_t i = 0; i < line.size(); ++i) {
    if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) return line.substr(0, i);
  }
  return line;
}

// "name = value", "name value" or "name" as the argument that it stands for; empty for an empty line.
Result<std::string> as_argument(std::string_view line) {
  const auto control =
      std::find_if(line.begin(), line.end(), [](unsigned char c) { return (c < 0x20 && c != '\t') || c == 0x7f; });
  if (control != line.end()) {
    return fail(EINVAL,
                fmt::format("control character 0x{:02x} at column {}",
                            static_cast<unsigned>(static_cast<unsigned char>(*control)), control - line.begin() + 1));
  }
  std::string_view rest = trimmed(without_comment(line));
  rest.remove_prefix(std::min(rest.find_first_not_of('-'), rest.size()));
  if (rest.empty()) {
    if (trimmed(without_comment(line)).empty()) return std::string();
    return fail(EINVAL, "dashes without an option's name");
  }
  const size_t end = std::min(rest.find_first_of(" \t="), rest.size());
  const std::string name(rest.substr(0, end));
  if (name.empty()) return fail(EINVAL, "an option's name is missing before =");
  rest = trimmed(rest.substr(end));
  const bool equals = rest.starts_with('=');
  if (equals) rest = trimmed(rest.substr(1));
  if (name == "config" || name == "help" || name == "version") {
    return fail(EINVAL, fmt::format("{} is for the command line only", name));
  }
  if (rest.empty() && !equals) return "--" + name;
  return fmt::format("--{}={}", name, rest);
}

Result<std::vector<Given>> from_line(const std::string& line, const std::string& where) {
  const Result<std::string> argument = as_argument(line);
  if (!argument) return fail(argument.error().code, where + argument.error().text);
  if (argument->empty()) return std::vector<Given>();
  return given_by({*argument}, where);
}

// Whole lines that the reader holds.
Status take_lines(control::LineReader& reader, const std::string& path, std::vector<Given>& given) {
  std::string line;
  for (;;) {
    const auto next = reader.next(line);
    if (next == control::LineReader::Next::nothing) return {};
    const std::string where = fmt::format("{}:{}: ", path, reader.number());
    if (next == control::LineReader::Next::too_long) {
      return fail(E2BIG, fmt::format("{}line is longer than {} bytes", where, kMaxConfigLine));
    }
    if (reader.number() > kMaxConfigLines)
      return fail(E2BIG, fmt::format("{}more than {} lines", where, kMaxConfigLines));
    Result<std::vector<Given>> more = from_line(line, where);
    if (!more) return more.error();
    given.insert(given.end(), more->begin(), more->end());
  }
}

}  // namespace

Result<std::vector<Given>> from_command_line(const std::vector<std::string>& argv) {
  return given_by(argv, "");
}

Result<std::vector<Given>> from_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return fail(errno, fmt::format("--config {}: {}", path, std::strerror(errno)));
  control::LineReader reader(kMaxConfigLine);
  std::vector<Given> given;
  std::array<char, 16384> chunk{};
  for (;;) {
    const ssize_t got = ::read(file.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail(errno, fmt::format("--config {}: {}", path, std::strerror(errno)));
    if (got == 0) reader.end();
    reader.feed({chunk.data(), static_cast<size_t>(got)});
    if (Status taken = take_lines(reader, path, given); !taken) return taken.error();
    if (got == 0) return given;
  }
}

}  // namespace xbond::app
