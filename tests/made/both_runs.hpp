// The same program on the same frames and maps, by the interpreter and by another engine: everything that comes out is
// equal.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/object/object.hpp"

namespace xbond::bpf::test {

enum class Both : uint8_t {
  refused,  // by the verifier
  left,     // by the engine, for the interpreter
  equal,
  different,
};

// `why`: what it was refused or left for, or what differs. Frames are made of `bytes`.
Both run_in_both(const Object& object, std::span<const uint8_t> bytes, EngineKind engine, std::string& why);

}  // namespace xbond::bpf::test
