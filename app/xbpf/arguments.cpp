#include "app/xbpf/arguments.hpp"

#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <span>

namespace xbond::xbpf {
namespace po = boost::program_options;

namespace {

bool optional(const std::string& name) {
  return name.starts_with('[');
}

std::string bare(const std::string& name) {
  return optional(name) ? name.substr(1, name.size() - 2) : name;
}

}  // namespace

Result<po::variables_map> parse_words(const Words& words, const po::options_description& options,
                                      const std::vector<std::string>& positional) {
  po::options_description all;
  all.add(options);
  po::positional_options_description places;
  for (const auto& name : positional) {
    all.add_options()(bare(name).c_str(), po::value<std::string>());
    places.add(bare(name).c_str(), 1);
  }
  po::variables_map values;
  try {
    // Options may not be shortened: what is added later must not change what a script means
    const auto style = po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
    po::store(po::command_line_parser(words).options(all).positional(places).style(style).run(), values);
    po::notify(values);
  } catch (const po::error& error) {
    return fail(EINVAL, error.what());
  }
  for (const auto& name : positional)
    if (!optional(name) && values.count(bare(name)) == 0) return fail(EINVAL, fmt::format("{} is missing", name));
  return values;
}

Result<std::vector<std::byte>> read_input(const std::string& path) {
  const auto whole = [](std::istream& in) {
    const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    const auto bytes = std::as_bytes(std::span(text));
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  if (path == "-") return whole(std::cin);
  std::ifstream file(path, std::ios::binary);
  if (!file) return fail(errno, fmt::format("{}: {}", path, std::strerror(errno)));
  auto bytes = whole(file);
  if (file.bad()) return fail(EIO, fmt::format("{}: can't be read", path));
  return bytes;
}

}  // namespace xbond::xbpf
