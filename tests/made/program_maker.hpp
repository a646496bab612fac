// Makes XDP programs out of bytes: sound for the most part, with a mistake here and there. They use the packet, the
// stack, map values, loops, calls and helpers in the ways that real programs do, and ask about numbers in all forms of
// comparison, so that what a verifier takes as known of them is tried. The result depends on all that they computed.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "bpf_compat/object/object.hpp"

namespace xbond::bpf::test {

struct Making {
  bool repeatable = false;  // nothing that differs from one run to the next: no clock, no random numbers
  bool newest = true;       // instructions of instruction set v4 too
};

// An object of one XDP program and the maps that it refers to.
Object make_program(std::span<const uint8_t> bytes, const Making& making = {});

// One line an instruction, for the report of a finding.
std::string listing(const Object& object);

}  // namespace xbond::bpf::test
