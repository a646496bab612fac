#include <fmt/format.h>
#include <linux/bpf.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iostream>

#include "app/xbpf/arguments.hpp"
#include "app/xbpf/command.hpp"
#include "app/xbpf/map_contents.hpp"
#include "app/xbpf/run_options.hpp"
#include "app/xbpf/test_frame.hpp"
#include "bpf_compat/helper/helper.hpp"
#include "bpf_compat/helper/host_reader.hpp"
#include "bpf_compat/hex.hpp"
#include "bpf_compat/json.hpp"
#include "bpf_compat/map/names.hpp"

namespace xbond::xbpf {
namespace {

constexpr std::array<std::string_view, 5> kActions = {"XDP_ABORTED", "XDP_DROP", "XDP_PASS", "XDP_TX", "XDP_REDIRECT"};

constexpr uint64_t kBurst = 32;

struct Outcome {
  uint32_t verdict = 0;
  double nanoseconds = 0;  // a run, on average
  std::string fault;       // the rule that a run broke; empty: none
  std::string output;      // hex
  bpf::RedirectTarget redirect;
};

class Runner {
 public:
  Runner(const RunOptions& options, const bpf::Program& program) : options_(options), program_(program) {}

  // As the kernel's test run, repeated runs see the frame as the one before left it.
  Outcome once(std::span<const std::byte> packet) {
    TestFrame frame(packet, program_.takes_fragments(), options_.ifindex, options_.rx_queue);
    Outcome outcome;
    const auto start = std::chrono::steady_clock::now();
    for (uint64_t i = 0; i < options_.repeat;) {
      // As long as a worker's: to begin and end one costs more than a run
      const bpf::BurstGrace::Burst burst;
      for (const auto end = std::min(i + kBurst, options_.repeat); i < end; ++i)
        program_.run_burst({&frame.view(), 1}, &outcome.verdict, 0);
    }
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    outcome.nanoseconds = spent.count() / static_cast<double>(options_.repeat);
    last_output_ = frame.output();
    outcome.output = to_hex(last_output_);
    outcome.redirect = frame.view().redirect;
    const auto faults = program_.faults();
    if (faults.count != faults_) outcome.fault = faults.last;
    faults_ = faults.count;
    program_.drain_trace([](std::string_view line) { fmt::print(stderr, "trace: {}\n", line); });
    return outcome;
  }

  // What the last run left of its frame.
  [[nodiscard]] std::span<const std::byte> output() const { return last_output_; }

 private:
  const RunOptions& options_;
  const bpf::Program& program_;
  std::vector<std::byte> last_output_;
  uint64_t faults_ = 0;
};

// What bpf_redirect and bpf_redirect_map recorded; null where the verdict is another, or no helper gave a target.
void write_redirect(json::Writer& w, const Outcome& outcome) {
  const auto& target = outcome.redirect;
  if (outcome.verdict != XDP_REDIRECT || (!target.map && target.ifindex == 0)) {
    w.null();
    return;
  }
  const auto type = target.map ? target.map->spec().type : uint32_t{BPF_MAP_TYPE_UNSPEC};
  w.begin_object().member("kind", target.map ? bpf::map_type_name(type) : "ifindex").key("map");
  if (target.map)
    w.value(target.map->spec().name).key("key").value(target.key);
  else
    w.null().key("key").null();
  w.member("flags", target.flags).key("ifindex");
  // CPUs and sockets are no interfaces; a broadcast goes to all of the map
  const bool one = (target.flags & BPF_F_BROADCAST) == 0 && type != BPF_MAP_TYPE_CPUMAP && type != BPF_MAP_TYPE_XSKMAP;
  if (one)
    w.value(target.ifindex);
  else
    w.null();
  w.end_object();
}

void write_outcome(json::Writer& w, const bpf::Program& program, const Outcome& outcome) {
  w.member("retval", outcome.verdict);
  w.member("action", outcome.verdict < kActions.size() ? kActions[outcome.verdict] : "unknown");
  w.member("engine", bpf::engine_name(program.engine()));
  if (!program.why_engine().empty()) w.member("why_engine", program.why_engine());
  w.member("duration_ns", outcome.nanoseconds);
  w.member("data_out", outcome.output);
  write_redirect(w.key("redirect"), outcome);
  if (!outcome.fault.empty()) w.member("fault", outcome.fault);
}

Status write_file(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) return fail(EIO, fmt::format("--data-out {}: {}", path, std::strerror(errno)));
  return {};
}

Status run_one(const RunOptions& options, const bpf::Program& program) {
  const auto packet = read_input(options.data_in);
  if (!packet) return packet.error();
  Runner runner(options, program);
  const auto outcome = runner.once(*packet);
  if (!options.data_out.empty())
    if (auto status = write_file(options.data_out, runner.output()); !status) return status;
  json::Writer w;
  w.begin_object();
  write_outcome(w, program, outcome);
  if (options.dump_maps) write_maps(w.key("maps"), program);
  fmt::print("{}\n", w.end_object().take());
  return {};
}

// Empty lines and those that begin with # are passed over.
Status run_lines(const RunOptions& options, const bpf::Program& program) {
  std::ifstream file;
  if (options.packets != "-") file.open(options.packets);
  auto& in = options.packets == "-" ? std::cin : file;
  if (!in) return fail(errno, fmt::format("--packets {}: {}", options.packets, std::strerror(errno)));
  Runner runner(options, program);
  std::string line;
  for (size_t number = 1; std::getline(in, line); ++number) {
    const auto packet = parse_hex(line);
    if (line.starts_with('#') || (packet && packet->empty())) continue;
    if (!packet)
      return fail(EINVAL, fmt::format("--packets {}: line {}: not bytes in hexadecimal", options.packets, number));
    json::Writer w;
    w.begin_object();
    write_outcome(w, program, runner.once(*packet));
    fmt::print("{}\n", w.end_object().take());
  }
  if (!options.dump_maps) return {};
  json::Writer w;
  write_maps(w.begin_object().key("maps"), program);
  fmt::print("{}\n", w.end_object().take());
  return {};
}

// A program may call on into others of its object.
bool needs_host_tables(const bpf::Object& object) {
  for (const auto list : {object.programs(), object.untyped()})
    for (const auto& program : list)
      if (bpf::reads_host_tables(program.insns)) return true;
  return false;
}

Status run_with(const RunOptions& options) {
  const auto object = bpf::Object::open(options.object);
  if (!object) return object.error();
  const auto spec = object->select(options.program);
  if (!spec) return spec.error();
  const auto program = bpf::Program::load(*object, **spec, {.engine = options.engine});
  if (!program) return program.error();
  if (needs_host_tables(*object)) {
    auto tables = bpf::read_host_tables({});
    if (!tables) return tables.error();
    bpf::HostTables::publish(std::move(*tables), bpf::BurstGrace::instance());
  }
  for (const auto& entry : options.entries)
    if (auto status = fill(**program, entry); !status) return status;
  return options.packets.empty() ? run_one(options, **program) : run_lines(options, **program);
}

}  // namespace

int run(const Words& words) {
  const auto options = parse_run_options(words);
  if (!options) return complain(options.error(), kUsage);
  const auto status = run_with(*options);
  return status ? kDone : complain(status.error());
}

}  // namespace xbond::xbpf
