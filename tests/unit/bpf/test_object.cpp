// Opening objects: what is in them, which program is meant, and one clear line for each that can't be.
#include <gtest/gtest.h>
#include <linux/bpf.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "bpf_compat/object/elf_view.hpp"
#include "bpf_compat/object/object.hpp"

namespace xbond::bpf {
namespace {

std::string path_of(const std::string& name) {
  return std::string(XBOND_BPF_OBJECTS) + "/" + name;
}

std::vector<std::byte> bytes_of(const std::string& name) {
  std::ifstream file(path_of(name), std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

Result<const ProgramSpec*> select(const Result<Object>& object, std::string_view wanted = "") {
  return object ? object->select(wanted) : Result<const ProgramSpec*>(object.error());
}

TEST(Object, ProgramAndMapsAreRead) {
  const auto object = Object::open(path_of("xdp_count.o"));
  ASSERT_TRUE(object) << object.error().text;
  ASSERT_EQ(object->maps().size(), 2U);
  const auto& counts = object->maps()[0];
  EXPECT_EQ(counts.name, "counts");
  EXPECT_EQ(counts.type, BPF_MAP_TYPE_ARRAY);
  EXPECT_EQ(counts.key_size, 4U);
  EXPECT_EQ(counts.value_size, 8U);
  EXPECT_EQ(counts.max_entries, 6U);
  EXPECT_FALSE(counts.frozen);
  EXPECT_EQ(object->maps()[1].type, BPF_MAP_TYPE_PERCPU_ARRAY);
  ASSERT_EQ(object->programs().size(), 1U);
  EXPECT_EQ(object->programs()[0].name, "xdp_count");
  EXPECT_EQ(object->programs()[0].section, "xdp");
  const auto program = object->select("");
  ASSERT_TRUE(program);
  EXPECT_EQ(*program, &object->programs()[0]);
}

TEST(Object, MapsAreRelocatedByIndex) {
  const auto object = Object::open(path_of("xdp_count.o"));
  ASSERT_TRUE(object);
  std::vector<int> indices;
  for (const auto& insn : object->programs()[0].insns)
    if (insn.code == (BPF_LD | BPF_IMM | BPF_DW)) {
      EXPECT_EQ(insn.src_reg, BPF_PSEUDO_MAP_IDX);
      indices.push_back(insn.imm);
    }
  EXPECT_NE(std::ranges::find(indices, 0), indices.end());
  EXPECT_NE(std::ranges::find(indices, 1), indices.end());
}

TEST(Object, DataSectionsBecomeMaps) {
  const auto object = Object::open(path_of("conf_globals.o"));
  ASSERT_TRUE(object) << object.error().text;
  const auto find = [&](std::string_view name) {
    const auto it = std::ranges::find(object->maps(), name, &MapSpec::name);
    return it == object->maps().end() ? nullptr : &*it;
  };
  const auto* constants = find(".rodata");
  ASSERT_TRUE(constants);
  EXPECT_TRUE(constants->frozen);
  EXPECT_EQ(constants->initial.size(), constants->value_size);
  const auto* data = find(".data");
  ASSERT_TRUE(data);
  EXPECT_FALSE(data->frozen);
  EXPECT_NE(std::ranges::count(data->initial, std::byte{0}), static_cast<ptrdiff_t>(data->initial.size()));
  const auto* bss = find(".bss");
  ASSERT_TRUE(bss);
  EXPECT_EQ(std::ranges::count(bss->initial, std::byte{0}), static_cast<ptrdiff_t>(bss->initial.size()));
}

TEST(Object, TwoProgramsNeedAName) {
  const auto object = Object::open(path_of("xdp_two.o"));
  ASSERT_TRUE(object);
  const auto none = object->select("");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().text.find("name one of first (section xdp), second (section xdp)"), std::string::npos)
      << none.error().text;
  const auto by_section = object->select("xdp");
  ASSERT_FALSE(by_section);
  EXPECT_NE(by_section.error().text.find("holds several programs"), std::string::npos) << by_section.error().text;
  const auto second = object->select("second");
  ASSERT_TRUE(second);
  EXPECT_EQ((*second)->name, "second");
  const auto wrong = object->select("third");
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().code, ENOENT);
  EXPECT_NE(wrong.error().text.find("no program third; it has first (section xdp), second (section xdp)"),
            std::string::npos)
      << wrong.error().text;
}

TEST(Object, SectionNamesOfEveryKind) {
  const auto object = Object::open(path_of("xdp_sections.o"));
  ASSERT_TRUE(object) << object.error().text;
  for (const auto* section : {"xdp", "xdp.frags", "xdp/devmap", "xdp/cpumap", "xdp.frags/devmap", "xdp.frags/cpumap"}) {
    const auto program = object->select(section);
    ASSERT_TRUE(program) << program.error().text;
    EXPECT_EQ((*program)->section, section);
  }
  EXPECT_EQ(object->programs().size(), 6U);
}

TEST(Object, SectionOfUnknownTypeCountsWhenNamed) {
  const auto object = Object::open(path_of("xdp_untyped.o"));
  ASSERT_TRUE(object) << object.error().text;
  EXPECT_TRUE(object->programs().empty());
  const auto none = object->select("");
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().text.find("the type of section my_filter can't be deduced: to use its program as XDP, name it "
                                   "(untyped)"),
            std::string::npos)
      << none.error().text;
  for (const auto* name : {"untyped", "my_filter"}) {
    const auto program = object->select(name);
    ASSERT_TRUE(program) << program.error().text;
    EXPECT_EQ((*program)->name, "untyped");
    EXPECT_FALSE((*program)->insns.empty());
  }
}

TEST(Object, NoXdpProgram) {
  const auto object = Object::open(path_of("xdp_none.o"));
  const auto none = select(object);
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().text.find("no XDP program; of other types: filter (section socket)"), std::string::npos)
      << none.error().text;
  const auto named = select(object, "filter");
  ASSERT_FALSE(named);
  EXPECT_NE(named.error().text.find("filter (section socket) is not an XDP program"), std::string::npos);
}

TEST(Object, WrongFiles) {
  const auto error = [](const std::string& path) {
    const auto object = Object::open(path);
    EXPECT_FALSE(object) << path;
    return object ? Error{} : object.error();
  };
  EXPECT_EQ(error("/nonexistent/x.o").code, ENOENT);
  EXPECT_EQ(error("/nonexistent/x.o").text, "object /nonexistent/x.o: No such file or directory");
  EXPECT_EQ(error("/").text, "object /: not a regular file");
  EXPECT_EQ(error("/dev/null").text, "object /dev/null: not a regular file");
  EXPECT_NE(error("/bin/sh").text.find("not BPF code (ELF machine"), std::string::npos);
  const auto empty = Object::open(std::span<const std::byte>{}, "empty");
  ASSERT_FALSE(empty);
  EXPECT_EQ(empty.error().text, "object empty: not an ELF file");
}

// Calls whose relocations are gone, or named so that libbpf leaves them alone, lead to no function.
TEST(Object, CallsWithoutRelocationsAreRefused) {
  const auto good = bytes_of("conf_calls.v3.o");
  const auto view = ElfView::open(good);
  ASSERT_TRUE(view) << view.error().text;
  const auto sections = view->sections();
  const auto it = std::ranges::find(sections, ".relxdp", &ElfView::Section::name);
  ASSERT_NE(it, sections.end());
  const auto table = read_at<Elf64_Ehdr>(good, 0)->e_shoff;
  const auto header_at = table + static_cast<size_t>(it - sections.begin()) * sizeof(Elf64_Shdr);

  auto typeless = good;
  const uint32_t type = SHT_PROGBITS;
  std::memcpy(typeless.data() + header_at + offsetof(Elf64_Shdr, sh_type), &type, sizeof(type));
  const auto no_relocations = Object::open(typeless, "o");
  ASSERT_FALSE(no_relocations);
  EXPECT_TRUE(no_relocations.error().text.starts_with("object o: a call in section xdp leads to no function"))
      << no_relocations.error().text;

  auto misnamed = good;
  const auto debug = std::ranges::find_if(sections, [](const auto& s) { return s.name.starts_with(".debug_"); });
  ASSERT_NE(debug, sections.end());
  std::memcpy(misnamed.data() + header_at + offsetof(Elf64_Shdr, sh_name), &debug->header.sh_name, sizeof(uint32_t));
  const auto hidden = Object::open(misnamed, "o");
  ASSERT_FALSE(hidden);
  EXPECT_TRUE(hidden.error().text.starts_with("object o: relocations of section xdp are in section .debug_"))
      << hidden.error().text;
}

// Every prefix, and every byte turned over: an error line or an object, never a crash. (The fuzzer goes further.)
TEST(Object, DamagedFilesGiveOneLine) {
  const auto good = bytes_of("xdp_count.o");
  ASSERT_GT(good.size(), 1000U);
  const auto check = [](std::span<const std::byte> bytes) {
    const auto object = Object::open(bytes, "damaged");
    if (object) return;
    EXPECT_TRUE(object.error().text.starts_with("object damaged: ")) << object.error().text;
    EXPECT_EQ(object.error().text.find('\n'), std::string::npos);
  };
  for (size_t length = 0; length < good.size(); length += 7) check(std::span(good).first(length));
  for (size_t i = 0; i < good.size(); ++i) {
    if (i > 256 && i % 3 != 0) continue;
    auto bad = good;
    bad[i] ^= std::byte{0xff};
    check(bad);
  }
}

}  // namespace
}  // namespace xbond::bpf
