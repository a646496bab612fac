#include "app/xbpf/run_options.hpp"

#include <fmt/format.h>

#include <charconv>

#include "app/xbpf/arguments.hpp"
#include "bpf_compat/hex.hpp"

namespace xbond::xbpf {
namespace po = boost::program_options;

namespace {

constexpr uint64_t kMaxRepeat = 1'000'000'000;

po::options_description described() {
  po::options_description options;
  for (const char* name : {"prog", "data-in", "data-out", "packets"})
    options.add_options()(name, po::value<std::string>()->default_value(""));
  options.add_options()("ifindex", po::value<std::string>()->default_value("1"));
  options.add_options()("rx-queue", po::value<std::string>()->default_value("0"));
  options.add_options()("repeat", po::value<std::string>()->default_value("1"));
  options.add_options()("engine", po::value<std::string>()->default_value("auto"));
  options.add_options()("map", po::value<std::vector<std::string>>()->composing());
  options.add_options()("dump-maps", po::bool_switch())("json", po::bool_switch());
  return options;
}

// Boost would read "-1" as a large number.
Result<uint64_t> number(const po::variables_map& values, const char* name, uint64_t low, uint64_t high) {
  const auto& text = values[name].as<std::string>();
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < low || value > high)
    return fail(EINVAL, fmt::format("--{} {}: not a number from {} to {}", name, text, low, high));
  return value;
}

Result<MapEntry> parse_entry(const std::string& text) {
  // A data section's name may hold anything but a colon
  const auto colon = text.find(':');
  const auto equals = colon == std::string::npos ? colon : text.find('=', colon);
  if (equals == std::string::npos) return fail(EINVAL, fmt::format("--map {}: not NAME:KEYHEX=VALUEHEX", text));
  auto key = parse_hex(std::string_view(text).substr(colon + 1, equals - colon - 1));
  auto value = parse_hex(std::string_view(text).substr(equals + 1));
  if (!key || !value)
    return fail(EINVAL, fmt::format("--map {}: the {} is not bytes in hexadecimal", text, key ? "value" : "key"));
  return MapEntry{text.substr(0, colon), std::move(*key), std::move(*value)};
}

Status take_numbers(const po::variables_map& values, RunOptions& out) {
  const auto ifindex = number(values, "ifindex", 0, UINT32_MAX);
  if (!ifindex) return ifindex.error();
  const auto queue = number(values, "rx-queue", 0, UINT32_MAX);
  if (!queue) return queue.error();
  const auto repeat = number(values, "repeat", 1, kMaxRepeat);
  if (!repeat) return repeat.error();
  out.ifindex = static_cast<uint32_t>(*ifindex);
  out.rx_queue = static_cast<uint32_t>(*queue);
  out.repeat = *repeat;
  return {};
}

}  // namespace

Result<RunOptions> parse_run_options(const Words& words) {
  const auto parsed = parse_words(words, described(), {"OBJ"});
  if (!parsed) return parsed.error();
  const auto& values = *parsed;
  RunOptions out;
  out.object = values["OBJ"].as<std::string>();
  out.program = values["prog"].as<std::string>();
  out.data_in = values["data-in"].as<std::string>();
  out.data_out = values["data-out"].as<std::string>();
  out.packets = values["packets"].as<std::string>();
  out.dump_maps = values["dump-maps"].as<bool>();
  if (out.data_in.empty() == out.packets.empty())
    return fail(EINVAL, "run needs one of --data-in FILE and --packets FILE");
  if (!out.packets.empty() && !out.data_out.empty())
    return fail(EINVAL, "--data-out goes with --data-in: with --packets, each line of output holds its frame");
  if (auto status = take_numbers(values, out); !status) return status.error();
  const auto engine = bpf::parse_engine(values["engine"].as<std::string>());
  if (!engine) return engine.error();
  out.engine = *engine;
  if (values.count("map") == 0) return out;
  for (const auto& text : values["map"].as<std::vector<std::string>>()) {
    auto entry = parse_entry(text);
    if (!entry) return entry.error();
    out.entries.push_back(std::move(*entry));
  }
  return out;
}

}  // namespace xbond::xbpf
