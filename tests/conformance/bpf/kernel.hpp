// The running kernel's side of a comparison: bpf(2) by libbpf, handles that close themselves.
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bpf_compat/map/map.hpp"
#include "lib/unique_fd.hpp"

namespace xbond::bpf::conformance {

struct CloseObject {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};
using ObjectHandle = std::unique_ptr<bpf_object, CloseObject>;

// What a comparison's main() begins with: libbpf is told to be quiet. False where bpf(2) can't be used, the reason
// printed: it is skipped then, with status kSkipped.
bool ready();
inline constexpr int kSkipped = 77;

// Whether the running kernel is that version or later: what it learned since is only compared where it is there.
bool at_least(int major, int minor);

// Possible CPUs: as many values has an entry of a per-CPU map.
uint32_t cpus();

// Binds this thread to one CPU, and says which: test runs then count there.
uint32_t pin_to_one_cpu();

// A kernel map of that shape. Invalid with errno in `error`.
UniqueFd create_map(const MapSpec& spec, int& error);

// What one test run gave.
struct RunResult {
  int error = 0;  // errno of the test run itself
  uint32_t verdict = 0;
  std::vector<uint8_t> packet;
};
RunResult test_run(int program, std::span<const uint8_t> packet);

struct LoadAs {
  bpf_attach_type attach = BPF_XDP;
  double* milliseconds = nullptr;  // gets the time of the load without a log
};
// Loads raw XDP instructions. Invalid with the verifier's last line in `why`.
UniqueFd load_program(std::span<const bpf_insn> code, std::string& why, const LoadAs& as = {});

// The user's names and numbers for one table line.
struct Tally {
  std::string name;
  size_t programs = 0;
  size_t runs = 0;
  size_t differences = 0;
  std::string note;
};

// Counts a difference and prints the first few of each tally.
void differs(Tally& tally, const std::string& what);

}  // namespace xbond::bpf::conformance
