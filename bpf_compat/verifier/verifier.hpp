// Proves that a program breaks no rule on any run: that it reads only what it may and has written, writes only what it
// may, ends, and keeps to what helpers ask. Follows every way through it with what is known of each value, as the
// kernel's verifier does (kernel/bpf/verifier.c), and accepts what that one accepts. Makes no bpf() call. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "bpf_compat/object/object.hpp"
#include "bpf_compat/verifier/facts.hpp"

namespace xbond::bpf::verifier {

struct Options {
  bool log = false;             // the instructions of the last way, with what is known at each
  uint64_t budget = 1'000'000;  // instructions to walk, over all ways
};

struct Refusal {
  uint32_t instruction = 0;
  std::string text;    // one line, in the kernel's words
  std::string source;  // "file.c:12: text of the line"; empty where the object does not say
  std::string advice;  // what usually mends it; may be empty
  std::string state;   // registers and stack at that place

  // "instruction 12 (file.c:20): invalid access to packet, …: compare with data_end first"
  [[nodiscard]] std::string line() const;
};

struct Report {
  std::optional<Refusal> refusal;  // none: accepted
  Facts facts;                     // of accepted programs
  std::string log;
  struct {
    uint64_t walked = 0;  // instructions, over all ways
    uint64_t states = 0;  // kept for comparison
    uint64_t pruned = 0;  // ways cut short
    uint64_t bytes = 0;   // of memory, at most
  } statistics;
};

// The maps that `program` refers to are `object`'s.
Report verify(const Object& object, const ProgramSpec& program, const Options& options = {});

}  // namespace xbond::bpf::verifier
