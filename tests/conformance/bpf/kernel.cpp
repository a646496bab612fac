#include "tests/conformance/bpf/kernel.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/utsname.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <string_view>

namespace xbond::bpf::conformance {
namespace {

// libbpf's own macro for this is no standard C++.
template <class Options>
Options options_of() {
  Options options{};
  options.sz = sizeof(options);
  return options;
}

}  // namespace

bool ready() {
  libbpf_set_print([](libbpf_print_level, const char*, va_list) { return 0; });
  auto options = options_of<bpf_map_create_opts>();
  const UniqueFd fd(bpf_map_create(BPF_MAP_TYPE_ARRAY, "probe", 4, 8, 1, &options));
  if (fd) return true;
  fmt::print("skipped: bpf(BPF_MAP_CREATE): {}\n", std::strerror(errno));
  return false;
}

bool at_least(int major, int minor) {
  utsname name{};
  int have_major = 0;
  int have_minor = 0;
  if (uname(&name) != 0 || std::sscanf(name.release, "%d.%d", &have_major, &have_minor) != 2) return false;
  return std::pair(have_major, have_minor) >= std::pair(major, minor);
}

uint32_t cpus() {
  return static_cast<uint32_t>(libbpf_num_possible_cpus());
}

uint32_t pin_to_one_cpu() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof(allowed), &allowed);
  uint32_t cpu = 0;
  while (cpu + 1 < CPU_SETSIZE && !CPU_ISSET(cpu, &allowed)) ++cpu;
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof(one), &one);
  return cpu;
}

UniqueFd create_map(const MapSpec& spec, int& error) {
  auto options = options_of<bpf_map_create_opts>();
  options.map_flags = spec.flags;
  const int fd = bpf_map_create(static_cast<bpf_map_type>(spec.type), "conformance", spec.key_size, spec.value_size,
                                spec.max_entries, &options);
  error = fd < 0 ? errno : 0;
  return UniqueFd(fd);
}

RunResult test_run(int program, std::span<const uint8_t> packet) {
  RunResult result;
  result.packet.resize(1 << 17);
  auto options = options_of<bpf_test_run_opts>();
  options.data_in = packet.data();
  options.data_out = result.packet.data();
  options.data_size_in = static_cast<uint32_t>(packet.size());
  options.data_size_out = static_cast<uint32_t>(result.packet.size());
  options.repeat = 1;
  if (bpf_prog_test_run_opts(program, &options) != 0) result.error = errno;
  result.verdict = options.retval;
  result.packet.resize(options.data_size_out);
  return result;
}

UniqueFd load_program(std::span<const bpf_insn> code, std::string& why, const LoadAs& as) {
  auto options = options_of<bpf_prog_load_opts>();
  options.expected_attach_type = as.attach;
  const auto start = std::chrono::steady_clock::now();
  UniqueFd silent(bpf_prog_load(BPF_PROG_TYPE_XDP, "conformance", "GPL", code.data(), code.size(), &options));
  if (as.milliseconds)
    *as.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  if (silent) return silent;
  std::vector<char> log(1 << 20);
  options.log_level = 1;
  options.log_size = static_cast<uint32_t>(log.size());
  options.log_buf = log.data();
  UniqueFd fd(bpf_prog_load(BPF_PROG_TYPE_XDP, "conformance", "GPL", code.data(), code.size(), &options));
  if (fd) return fd;
  const int error = errno;
  // The line before the statistics says why
  std::string_view text(log.data());
  if (const auto tail = text.rfind("processed "); tail != std::string_view::npos) text = text.substr(0, tail);
  while (text.ends_with('\n')) text.remove_suffix(1);
  if (const auto line = text.rfind('\n'); line != std::string_view::npos) text = text.substr(line + 1);
  why = fmt::format("{}: {}", std::strerror(error), text);
  return fd;
}

void differs(Tally& tally, const std::string& what) {
  constexpr size_t kShown = 5;
  if (tally.differences++ < kShown) fmt::print("DIFFERENCE {}: {}\n", tally.name, what);
}

}  // namespace xbond::bpf::conformance
