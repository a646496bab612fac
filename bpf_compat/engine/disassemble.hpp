// Instructions as text, in the words of the kernel's verifier log and of bpftool. Thread: any.
#pragma once

#include <linux/bpf.h>

#include <functional>
#include <span>
#include <string>

namespace xbond::bpf {

// The map of that number in the object, by name.
using MapNamer = std::function<std::string(uint32_t)>;

// "(07) r1 += -8" for the instruction at `index`; both slots of a wide one in one line. Any bytes are taken.
std::string disassemble(std::span<const bpf_insn> code, size_t index, const MapNamer& map_name);

}  // namespace xbond::bpf
