#include "app/xbond/options.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <set>
#include <string_view>

#include "app/xbond/option_source.hpp"
#include "app/xbond/option_use.hpp"
#include "app/xbond/option_values.hpp"

namespace xbond::app {
namespace {

struct Number16 {
  std::string_view name;
  uint16_t Options::*field;
  uint64_t low, high;
};
constexpr std::array<Number16, 6> kNumbers{{{"rxq", &Options::rxq, 1, 1024},
                                            {"txq", &Options::txq, 1, 1024},
                                            {"rxd", &Options::rxd, 1, 32768},
                                            {"txd", &Options::txd, 1, 32768},
                                            {"burst", &Options::burst, 1, 128},
                                            {"nb-cores", &Options::nb_cores, 1, 128}}};
constexpr uint64_t kMaxStatsPeriod = 86400;

struct Flag {
  std::string_view name;
  bool Options::*field;
};
constexpr std::array<Flag, 5> kFlags{{{"interactive", &Options::interactive},
                                      {"auto-start", &Options::auto_start},
                                      {"check", &Options::check},
                                      {"help", &Options::help},
                                      {"version", &Options::version}}};

bool repeatable(std::string_view name) {
  return name == "port" || name == "bond" || name == "xdp";
}

Error at(const Given& given, const Error& error) {
  return fail(error.code, given.where + error.text);
}

Status check_readable(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || ::access(path.c_str(), R_OK) != 0) {
    return fail(errno, fmt::format("--cmdline-file {}: {}", path, std::strerror(errno)));
  }
  if (S_ISDIR(status.st_mode)) return fail(EISDIR, fmt::format("--cmdline-file {}: is a directory", path));
  return {};
}

Status check_socket_path(const std::string& path) {
  if (path.size() < sizeof sockaddr_un::sun_path) return {};
  return fail(ENAMETOOLONG, fmt::format("--control-socket {}: a socket's path has at most {} bytes", path,
                                        sizeof sockaddr_un::sun_path - 1));
}

// One option's value into `options`. Precondition: `given.name` is an option.
class Setter {
 public:
  explicit Setter(Options& options) : options_(options) {}

  Status set(const Given& given) {
    for (const Flag& flag : kFlags) {
      if (flag.name != given.name) continue;
      options_.*flag.field = true;
      return {};
    }
    for (const Number16& number : kNumbers) {
      if (number.name == given.name) return set_number(number, given.value);
    }
    if (repeatable(given.name)) return add(given);
    return set_single(given);
  }

 private:
  Status set_number(const Number16& number, const std::string& value) {
    const Result<uint64_t> parsed = parse_number(fmt::format("--{}", number.name), value, number.low, number.high);
    if (!parsed) return parsed.error();
    options_.*number.field = static_cast<uint16_t>(*parsed);
    return {};
  }

  template <class T>
  static Status append(std::vector<T>& list, Result<T> parsed) {
    if (!parsed) return parsed.error();
    list.push_back(std::move(*parsed));
    return {};
  }

  Status add(const Given& given) {
    if (given.name == "port") return append(options_.ports, parse_port(given.value));
    if (given.name == "bond") return append(options_.bonds, parse_bond(given.value));
    return append(options_.xdp, parse_xdp(given.value));
  }

  Status set_single(const Given& given) {
    if (given.name == "bpf-engine") {
      const Result<bpf::EngineKind> engine = bpf::parse_engine(given.value);
      if (!engine) return fail(engine.error().code, "--bpf-engine: " + engine.error().text);
      options_.engine = *engine;
    } else if (given.name == "portmask") {
      const Result<uint64_t> mask = parse_portmask(given.value);
      if (!mask) return mask.error();
      options_.portmask = *mask;
    } else if (given.name == "stats-period") {
      const Result<uint64_t> seconds = parse_number("--stats-period", given.value, 0, kMaxStatsPeriod);
      if (!seconds) return seconds.error();
      options_.stats_period = static_cast<uint32_t>(*seconds);
    } else if (given.name == "cmdline-file") {
      options_.cmdline_file = given.value;
      return check_readable(given.value);
    } else if (given.name == "control-socket") {
      options_.control_socket = given.value;
      return check_socket_path(given.value);
    }
    return {};
  }

  Options& options_;
};

// A single-valued option twice in one place is a slip; between the places, the command line's counts.
Status check_once(const std::vector<Given>& given) {
  std::set<std::string> seen;
  for (const Given& option : given) {
    if (repeatable(option.name) || seen.insert(option.name).second) continue;
    return fail(EINVAL, fmt::format("{}--{} is given twice", option.where, option.name));
  }
  return {};
}

// The file's options first: it is the base, and ports are numbered in this order.
std::vector<Given> merge(const std::vector<Given>& file, const std::vector<Given>& line) {
  std::set<std::string> on_line;
  for (const Given& option : line) on_line.insert(option.name);
  std::vector<Given> merged;
  std::copy_if(file.begin(), file.end(), std::back_inserter(merged),
               [&](const Given& option) { return repeatable(option.name) || !on_line.contains(option.name); });
  merged.insert(merged.end(), line.begin(), line.end());
  return merged;
}

Result<std::vector<Given>> collect(const std::vector<std::string>& own) {
  Result<std::vector<Given>> line = from_command_line(own);
  if (!line) return line;
  if (Status once = check_once(*line); !once) return once.error();
  const auto config = std::find_if(line->begin(), line->end(), [](const Given& g) { return g.name == "config"; });
  if (config == line->end()) return line;
  Result<std::vector<Given>> file = from_file(config->value);
  if (!file) return file;
  if (Status once = check_once(*file); !once) return once.error();
  return merge(*file, *line);
}

// All of `given` into `options`, and against each other.
Status apply(const std::vector<Given>& given, Options& options) {
  Setter setter(options);
  OptionUse use;
  std::vector<const Given*> targets;
  for (const Given& option : given) {
    Status done = setter.set(option);
    if (done && option.name == "port") done = use.add_port(options.ports.back().device);
    if (done && option.name == "bond") done = use.add_bond(options.bonds.back());
    if (done && option.name == "portmask") done = use.add_mask(options.portmask);
    if (!done) return at(option, done.error());
    if (option.name == "xdp") targets.push_back(&option);
  }
  if (Status names = use.check_names(); !names) return names;
  for (size_t i = 0; i < targets.size(); ++i) {
    if (Status target = use.add_target(options.xdp[i].target); !target) return at(*targets[i], target.error());
  }
  return {};
}

}  // namespace

bool names_bond(const Options& options, std::string_view name) {
  return std::any_of(options.bonds.begin(), options.bonds.end(),
                     [&](const BondOption& bond) { return bond.name == name; });
}

Result<Options> parse_options(const std::vector<std::string>& argv) {
  const auto separator = std::find(argv.begin(), argv.end(), "--");
  Options options;
  std::vector<std::string> own(argv.begin(), argv.end());
  if (separator != argv.end()) {
    options.eal.assign(argv.begin(), separator);
    own.assign(separator + 1, argv.end());
  }
  const Result<std::vector<Given>> given = collect(own);
  if (!given) return given.error();
  if (Status applied = apply(*given, options); !applied) return applied.error();
  if (options.help || options.version) return options;
  if (options.ports.empty() && options.bonds.empty() && options.portmask == 0) {
    return fail(EINVAL, "no port: give --port, --bond or --portmask (\"--help\" shows examples)");
  }
  return options;
}

}  // namespace xbond::app
