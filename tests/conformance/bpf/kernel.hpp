// The running kernel's side of a comparison: bpf(2) by libbpf, handles that close themselves.
#pragma once

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "bpf_compat/map/map.hpp"

namespace xbond::bpf::conformance {

class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }

 private:
  int fd_;
};

struct CloseObject {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};
using ObjectHandle = std::unique_ptr<bpf_object, CloseObject>;

// Why bpf(2) can't be used here; nothing when it can.
std::optional<std::string> unavailable();

// Whether the running kernel is that version or later: what it learned since is only compared where it is there.
bool at_least(int major, int minor);

// Possible CPUs: as many values has an entry of a per-CPU map.
uint32_t cpus();

// Binds this thread to one CPU, and says which: test runs then count there.
uint32_t pin_to_one_cpu();

// A kernel map of that shape. Invalid with errno in `error`.
Fd create_map(const MapSpec& spec, int& error);

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
Fd load_program(std::span<const bpf_insn> code, std::string& why, const LoadAs& as = {});

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
