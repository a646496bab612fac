// What libbpf alone would refuse, leave undone or crash on: one form comes out of all of it.
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/object/elf_image.hpp"
#include "bpf_compat/object/object.hpp"
#include "tests/unit/bpf/asm.hpp"

namespace xbond::bpf {
namespace {

std::vector<std::byte> bytes_of(const std::string& name) {
  std::ifstream file(std::string(XBOND_BPF_OBJECTS) + "/" + name, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Object opened(std::span<const std::byte> bytes) {
  auto object = Object::open(bytes, "o");
  EXPECT_TRUE(object) << object.error().text;
  return object ? std::move(*object) : Object::of("none", {}, {});
}

const MapSpec& map_of(const Object& object, std::string_view name) {
  static const MapSpec kNone;
  const auto it = std::ranges::find(object.maps(), name, &MapSpec::name);
  EXPECT_NE(it, object.maps().end()) << name;
  return it == object.maps().end() ? kNone : *it;
}

std::vector<bpf_insn> code_of(const Object& object, std::string_view name) {
  const auto* program = object.find(name);
  EXPECT_TRUE(program) << name;
  return program ? program->insns : std::vector<bpf_insn>{};
}

// The verdict of a program on a frame of that length, and an error or a fault.
test::Outcome verdict(const Object& object, std::string_view name, size_t length = 64) {
  const auto spec = object.select(name);
  if (!spec) return {0, spec.error().text};
  const auto program = Program::load(object, **spec, {.cpus = 1});
  if (!program) return {0, program.error().text};
  test::Frame frame(length);
  uint32_t result = 0;
  (*program)->run_burst({&frame.view, 1}, &result, 0);
  return {result, (*program)->faults().last};
}

TEST(Normalise, LegacyMaps) {
  const auto object = opened(bytes_of("xdp_legacy_maps.o"));
  ASSERT_EQ(object.maps().size(), 1U);
  const auto& map = map_of(object, "old");
  EXPECT_EQ(map.type, BPF_MAP_TYPE_ARRAY);
  EXPECT_EQ(map.key_size, 4U);
  EXPECT_EQ(map.value_size, 8U);
  EXPECT_EQ(map.max_entries, 1U);
  EXPECT_FALSE(map.pinned);
  EXPECT_EQ(verdict(object, "legacy").verdict, static_cast<uint32_t>(XDP_PASS));
}

TEST(Normalise, LegacyBesideCurrentMapsAndStaticOnes) {
  const auto object = opened(bytes_of("conf_legacy.o"));
  EXPECT_EQ(object.maps().size(), 3U);
  EXPECT_EQ(map_of(object, "current").max_entries, 3U);
  EXPECT_EQ(map_of(object, "old").max_entries, 4U);
  EXPECT_EQ(map_of(object, "hidden").type, BPF_MAP_TYPE_PERCPU_ARRAY);
  const auto outcome = verdict(object, "", 63);
  EXPECT_EQ(outcome.fault, "");
  EXPECT_EQ(outcome.verdict, static_cast<uint32_t>(XDP_PASS));
}

TEST(Normalise, IprouteMaps) {
  const auto object = opened(bytes_of("xdp_iproute_maps.o"));
  const auto& outer = map_of(object, "outer");
  EXPECT_TRUE(outer.pinned);
  ASSERT_TRUE(outer.inner);
  EXPECT_EQ(outer.inner->value_size, 8U);
  EXPECT_EQ(outer.inner->max_entries, 3U);
  ASSERT_EQ(outer.initial_refs.size(), 1U);
  EXPECT_EQ(outer.initial_refs[0].key, 1U);
  EXPECT_EQ(outer.initial_refs[0].target, "inner");
  EXPECT_FALSE(map_of(object, "inner").pinned);
}

TEST(Normalise, FirstValuesAndPinning) {
  const auto object = opened(bytes_of("xdp_map_values.o"));
  const auto& tables = map_of(object, "tables");
  EXPECT_TRUE(tables.pinned);
  ASSERT_TRUE(tables.inner);
  EXPECT_EQ(tables.inner->max_entries, 4U);
  ASSERT_EQ(tables.initial_refs.size(), 2U);
  EXPECT_EQ(tables.initial_refs[0].key, 2U);
  EXPECT_EQ(tables.initial_refs[0].target, "first");
  EXPECT_EQ(tables.initial_refs[1].key, 5U);
  EXPECT_EQ(tables.initial_refs[1].target, "second");
  const auto& jumps = map_of(object, "jumps");
  EXPECT_FALSE(jumps.pinned) << "a pinning value that libbpf does not know";
  ASSERT_EQ(jumps.initial_refs.size(), 1U);
  EXPECT_EQ(jumps.initial_refs[0].key, 3U);
  EXPECT_EQ(jumps.initial_refs[0].target, "leaf");
}

TEST(Normalise, StaticProgram) {
  const auto object = opened(bytes_of("xdp_static.o"));
  EXPECT_EQ(verdict(object, "").verdict, static_cast<uint32_t>(XDP_PASS));
  EXPECT_EQ(object.programs().front().name, "hidden");
}

// Old compilers gave functions no type, and no size either.
TEST(Normalise, FunctionsWithoutType) {
  const auto good = bytes_of("xdp_two.o");
  const auto view = ElfView::open(good);
  ASSERT_TRUE(view);
  ElfImage image(*view);
  for (size_t i = 0; i < image.symbols(); ++i) {
    auto& symbol = image.symbol(i);
    if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC) continue;
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE);
    symbol.st_size = 0;
  }
  const auto object = opened(image.write());
  const auto before = opened(good);
  ASSERT_EQ(object.programs().size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(object.programs()[i].name, before.programs()[i].name);
    EXPECT_EQ(object.programs()[i].insns.size(), before.programs()[i].insns.size());
  }
}

TEST(Normalise, CalleesOfTheOwnSection) {
  const auto object = opened(bytes_of("conf_own_section.o"));
  ASSERT_EQ(object.programs().size(), 1U) << "static functions that are called are no programs";
  const auto code = code_of(object, "conf_own_section");
  EXPECT_EQ(std::ranges::count_if(code, isa::is_local_call), 3);
  const auto outcome = verdict(object, "", 65);
  EXPECT_EQ(outcome.fault, "");
  EXPECT_EQ(outcome.verdict, (1U + 65U) & 3U);
}

TEST(Normalise, KernelFunctions) {
  const auto object = opened(bytes_of("xdp_iproute_maps.o"));
  const auto strong = object.select("strong");
  ASSERT_FALSE(strong);
  EXPECT_EQ(strong.error().code, ENOTSUP);
  EXPECT_NE(strong.error().text.find("bpf_ct_release, which has no meaning here"), std::string::npos)
      << strong.error().text;
  // A weak one that is not there is a null pointer, and its call can't be reached
  const auto code = code_of(object, "weak");
  EXPECT_TRUE(std::ranges::any_of(code, [](const bpf_insn& i) { return i.imm == isa::kUnresolvedCall; }));
  EXPECT_TRUE(object.select("weak"));
}

TEST(Normalise, StructOpsIsNamed) {
  const auto object = Object::open(bytes_of("xdp_struct_ops.o"), "o");
  ASSERT_FALSE(object);
  EXPECT_EQ(object.error().code, ENOTSUP);
  EXPECT_NE(object.error().text.find("map dummy is of type struct_ops"), std::string::npos) << object.error().text;
}

TEST(Normalise, UnresolvedCodeFaultsWhenReached) {
  test::Bench bench(
      test::join({test::mov(0, 2), test::jump(BPF_JEQ, 0, 2, 1), test::call(isa::kUnresolvedCall), test::leave()}));
  EXPECT_EQ(bench.run().verdict, 2U);
  test::Bench reached(test::join({test::call(isa::kUnresolvedCall), test::leave()}));
  EXPECT_NE(reached.run().fault.find("CO-RE relocation without a match"), std::string::npos);
}

// Byte by byte: an error line or an object, never a crash.
TEST(Normalise, DamagedFilesGiveOneLine) {
  for (const auto* name : {"conf_legacy.o", "xdp_map_values.o", "xdp_iproute_maps.o", "conf_own_section.o"}) {
    const auto good = bytes_of(name);
    ASSERT_GT(good.size(), 1000U);
    for (size_t i = 0; i < good.size(); i += 5) {
      auto bad = good;
      bad[i] ^= std::byte{0xff};
      const auto object = Object::open(bad, "damaged");
      if (!object) {
        EXPECT_TRUE(object.error().text.starts_with("object damaged: ")) << object.error().text;
      }
    }
  }
}

}  // namespace
}  // namespace xbond::bpf
