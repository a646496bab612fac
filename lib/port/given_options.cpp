#include "lib/port/given_options.hpp"

#include <algorithm>
#include <array>

namespace xbond::port {
namespace {

using namespace std::string_view_literals;

// What takes its value from the next word. An option that is missing here would have its value read as an option.
constexpr std::string_view kShortWithValue = "abcdlmnrsS";
constexpr std::array kLongWithValue = {"--allow"sv,         "--base-virtaddr"sv,
                                       "--block"sv,         "--file-prefix"sv,
                                       "--huge-dir"sv,      "--iova-mode"sv,
                                       "--lcores"sv,        "--log-level"sv,
                                       "--main-lcore"sv,    "--proc-type"sv,
                                       "--socket-mem"sv,    "--mbuf-pool-ops-name"sv,
                                       "--socket-limit"sv,  "--syslog"sv,
                                       "--trace"sv,         "--trace-bufsz"sv,
                                       "--trace-dir"sv,     "--trace-mode"sv,
                                       "--vdev"sv,          "--vfio-intr"sv,
                                       "--vfio-vf-token"sv, "--force-max-simd-bitwidth"sv};

bool names(std::string_view given, std::string_view option) {
  return given.size() > 2 && given.starts_with("--") && option.starts_with(given);
}

bool wants_next_word(std::string_view name) {
  if (!name.starts_with("--")) return kShortWithValue.find(name[1]) != std::string_view::npos;
  return std::any_of(kLongWithValue.begin(), kLongWithValue.end(),
                     [&](std::string_view option) { return names(name, option); });
}

}  // namespace

GivenOptions::GivenOptions(const std::vector<std::string>& words) {
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word.size() < 2 || word[0] != '-') continue;
    const bool is_long = word[1] == '-';
    const size_t name_end = is_long ? std::min(word.find('='), word.size()) : 2;
    std::string name = word.substr(0, name_end);
    std::string value = word.substr(std::min(word.size(), is_long ? name_end + 1 : name_end));
    if (name_end == word.size() && wants_next_word(name) && i + 1 < words.size()) value = words[++i];
    options_.emplace_back(std::move(name), std::move(value));
  }
}

bool GivenOptions::has(std::string_view name) const {
  return std::any_of(options_.begin(), options_.end(),
                     [&](const auto& option) { return option.first == name || names(option.first, name); });
}

bool GivenOptions::has_any(std::initializer_list<std::string_view> wanted) const {
  return std::any_of(wanted.begin(), wanted.end(), [this](std::string_view name) { return has(name); });
}

std::vector<std::string> GivenOptions::values(std::initializer_list<std::string_view> wanted) const {
  std::vector<std::string> found;
  for (const auto& [name, value] : options_)
    if (std::any_of(wanted.begin(), wanted.end(),
                    [&, &given = name](std::string_view option) { return given == option || names(given, option); }))
      found.push_back(value);
  return found;
}

}  // namespace xbond::port
