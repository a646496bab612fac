// CO-RE relocations, against the types that are built in: the results don't depend on the machine.
#include <gtest/gtest.h>
#include <linux/bpf.h>
#include <linux/ipv6.h>

#include <fstream>
#include <map>

#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/object/core_patch.hpp"
#include "bpf_compat/object/core_relocate.hpp"
#include "bpf_compat/object/kernel_types.hpp"
#include "bpf_compat/object/object.hpp"
#include "tests/unit/bpf/asm.hpp"

namespace xbond::bpf {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): the instructions' names

std::string path_of(const std::string& name) {
  return std::string(XBOND_BPF_OBJECTS) + "/" + name;
}

// What the object finds, by slot of its map.
std::map<uint32_t, uint64_t> results(const Object& object) {
  const auto program = Program::load(object, object.programs().front(), {.cpus = 1});
  EXPECT_TRUE(program) << program.error().text;
  if (!program) return {};
  std::vector<uint8_t> packet(64, 0);
  packet[14] = 0x4b;       // version 4, eleven words of header
  packet[14 + 9] = 0x11;   // protocol
  packet[14 + 12] = 0x0a;  // source address
  Frame frame{std::span<const uint8_t>(packet)};
  uint32_t verdict = 0;
  (*program)->run_burst({&frame.view, 1}, &verdict, 0);
  EXPECT_EQ((*program)->faults().last, "");
  EXPECT_EQ(verdict, 7U) << "ingress_ifindex";
  std::map<uint32_t, uint64_t> out;
  for (uint32_t slot = 0; slot < 16; ++slot) {
    uint64_t value = 0;
    (*program)->maps()[0]->copy_lookup(std::as_bytes(std::span(&slot, 1)),
                                       std::as_writable_bytes(std::span(&value, 1)));
    out[slot] = value;
  }
  return out;
}

TEST(Core, EveryKind) {
  const auto object = Object::open(path_of("conf_core.o"));
  ASSERT_TRUE(object) << object.error().text;
  auto found = results(*object);
  EXPECT_EQ(found[0], 3U) << "rx_queue_index, 32 bits wide here";
  EXPECT_EQ(found[1], 1000U) << "a field that is not there";
  EXPECT_EQ(found[2], 4U) << "size of data";
  EXPECT_EQ(found[3], 0U) << "a type that is not there";
  EXPECT_EQ(found[4], 1U) << "struct ethhdr";
  EXPECT_EQ(found[5], 14U) << "its size";
  EXPECT_EQ(found[6], 1U) << "XDP_PASS is there";
  EXPECT_EQ(found[7], 0U) << "another is not";
  EXPECT_EQ(found[8], offsetof(ipv6hdr, saddr) + 3);
  EXPECT_EQ(found[9], 16U);
  EXPECT_EQ(found[10], 60U) << "ihl is the lower half of the first byte";
  EXPECT_EQ(found[11], 60U);
  EXPECT_EQ(found[12], 0U);
  EXPECT_EQ(found[13], 0x11U);
  EXPECT_EQ(found[14], 0x0aU);
  EXPECT_EQ(found[15], 0xbU);
}

TEST(Core, BuiltInTypesAreEnough) {
  const auto types = load_uapi_types();
  ASSERT_TRUE(types) << types.error().text;
  for (const auto* name :
       {"xdp_md", "ethhdr", "vlan_hdr", "iphdr", "ipv6hdr", "tcphdr", "udphdr", "icmphdr", "icmp6hdr"})
    EXPECT_GT(btf__find_by_name_kind(types->get(), name, BTF_KIND_STRUCT), 0) << name;
  EXPECT_GT(btf__find_by_name_kind(types->get(), "xdp_action", BTF_KIND_ENUM), 0);
}

// A member's offset as the built-in types have it, for a struct of a program's own.
class Patch : public ::testing::Test {
 protected:
  Patch() : types_(btf__new_empty()), target_(btf__new_empty()) {
    for (auto* types : {types_.get(), target_.get()}) {
      unsigned_[types] = static_cast<uint32_t>(btf__add_int(types, "unsigned int", 4, 0));
      signed_[types] = static_cast<uint32_t>(btf__add_int(types, "long", 8, BTF_INT_SIGNED));
    }
  }
  static std::vector<std::byte> bytes(const Code& code) {
    const auto raw = std::as_bytes(std::span(code));
    return {raw.begin(), raw.end()};
  }
  static bpf_insn first(const std::vector<std::byte>& code) { return *read_at<bpf_insn>(code, 0); }
  core::Change change(core::Value before, core::Value after) { return {before, after, types_.get(), target_.get()}; }

  BtfHandle types_, target_;
  std::map<const btf*, uint32_t> unsigned_, signed_;
};

TEST_F(Patch, MemoryTakesOffsetAndWidth) {
  auto code = bytes({load(BPF_DW, 1, 2, 8)});
  const core::Value before{.number = 8, .size = 8, .leaf_type = unsigned_[types_.get()]};
  const core::Value after{.number = 20, .size = 4, .leaf_type = unsigned_[target_.get()]};
  ASSERT_TRUE(core::patch(code, 0, change(before, after)));
  EXPECT_EQ(first(code).off, 20);
  EXPECT_EQ(first(code).code, BPF_LDX | BPF_W | BPF_MEM);
}

TEST_F(Patch, SignedFieldsOfAnotherWidthCanNotBeLoaded) {
  auto code = bytes({load(BPF_DW, 1, 2, 8)});
  const core::Value before{.number = 8, .size = 8, .leaf_type = signed_[types_.get()]};
  const core::Value after{.number = 20, .size = 4, .leaf_type = unsigned_[target_.get()]};
  ASSERT_TRUE(core::patch(code, 0, change(before, after)));
  EXPECT_EQ(first(code).imm, isa::kUnresolvedCall);
}

TEST_F(Patch, WhatIsNotThereCanNotBeReached) {
  auto code = bytes(join({wide(3, 5), leave()}));
  ASSERT_TRUE(core::patch(code, 0, change({.number = 5}, {.known = false})));
  for (const size_t slot : {0, 8}) EXPECT_EQ(read_at<bpf_insn>(code, slot)->imm, isa::kUnresolvedCall);
}

TEST_F(Patch, WideConstants) {
  auto code = bytes(wide(3, 0x100000005));
  ASSERT_TRUE(core::patch(code, 0, change({.number = 0x100000005}, {.number = 0x2fedcba98})));
  EXPECT_EQ(static_cast<uint32_t>(first(code).imm), 0xfedcba98U);
  EXPECT_EQ(read_at<bpf_insn>(code, 8)->imm, 2);
}

TEST_F(Patch, InstructionsThatDoNotFit) {
  const auto refused = [&](const Code& insns, size_t offset, core::Value before, core::Value after) {
    auto code = bytes(insns);
    return !core::patch(code, offset, change(before, after));
  };
  EXPECT_TRUE(refused({mov(1, 4)}, 0, {.number = 5}, {.number = 6})) << "compiled for another number";
  EXPECT_TRUE(refused({movr(1, 2)}, 0, {}, {})) << "no constant";
  EXPECT_TRUE(refused({leave()}, 0, {}, {})) << "takes no number";
  EXPECT_TRUE(refused({mov(1, 4)}, 4, {.number = 4}, {})) << "in the middle of an instruction";
  EXPECT_TRUE(refused({mov(1, 4)}, 8, {.number = 4}, {})) << "behind the end";
  EXPECT_TRUE(refused({load(BPF_W, 1, 2, 4)}, 0, {.number = 4}, {.number = 40000})) << "too far";
  EXPECT_TRUE(refused({wide(1, 4)[0]}, 0, {.number = 4}, {})) << "half of a wide instruction";
  EXPECT_FALSE(refused({mov(1, 4)}, 0, {.number = 4}, {.number = 6}));
  EXPECT_FALSE(refused({mov(1, 9)}, 0, {.number = 4, .exact = false}, {.number = 6})) << "a bitfield";
}

}  // namespace
}  // namespace xbond::bpf
