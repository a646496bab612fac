// What a proof promises, tried: a program that the verifier accepted breaks no rule on the checked interpreter, and
// comes to no instruction that the verifier took for dead, whatever the frame.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "bpf_compat/object/object.hpp"

namespace xbond::bpf::test {

enum class Verified : uint8_t { refused, sound, broken };

// `why`: what the program was refused for, or which rule it broke. Frames are made of `bytes`.
Verified verify_and_run(const Object& object, std::span<const uint8_t> bytes, std::string& why);

}  // namespace xbond::bpf::test
