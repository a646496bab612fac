// Maps of targets, and what the redirect helpers say of a frame.
#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/map/devmap_hash.hpp"
#include "bpf_compat/map/target_array.hpp"
#include "tests/unit/bpf/asm.hpp"
#include "tests/unit/bpf/map_bench.hpp"

namespace xbond::bpf::test {
namespace {

MapSpec targets_spec(uint32_t type, uint32_t value = 4, uint32_t entries = 4) {
  auto spec = spec_of(type, 4, value, entries);
  spec.name = "targets";
  return spec;
}

int put(Map& map, uint32_t key, uint32_t value, uint64_t flags = BPF_ANY) {
  return map.copy_update(in(key), in(value), flags);
}

TEST(TargetMap, DevmapErrno) {
  const auto map = make(targets_spec(BPF_MAP_TYPE_DEVMAP, 8));
  struct Value {
    uint32_t ifindex, program;
  };
  const auto set = [&](uint32_t key, Value value, uint64_t flags) {
    return map->copy_update(in(key), in(value), flags);
  };
  Value value{};
  EXPECT_EQ(map->copy_lookup(in(uint32_t{1}), out(value)), -ENOENT);
  EXPECT_EQ(set(1, {3, 0}, BPF_ANY), 0);
  EXPECT_EQ(map->copy_lookup(in(uint32_t{1}), out(value)), 0);
  EXPECT_EQ(value.ifindex, 3U);
  EXPECT_EQ(set(1, {3, 0}, BPF_NOEXIST), -EEXIST);
  EXPECT_EQ(set(2, {3, 0}, BPF_NOEXIST), -EEXIST) << "arrays have all their entries";
  EXPECT_EQ(set(4, {3, 0}, BPF_ANY), -E2BIG);
  EXPECT_EQ(set(1, {3, 0}, 3), -EINVAL);
  EXPECT_EQ(set(1, {0, 5}, BPF_ANY), -EINVAL) << "a program needs a device";
  EXPECT_EQ(set(1, {3, 0x7fffffff}, BPF_ANY), -EINVAL);
  EXPECT_EQ(set(1, {3, 0xffffffff}, BPF_ANY), 0);
  EXPECT_EQ(map->copy_lookup(in(uint32_t{1}), out(value)), 0);
  EXPECT_EQ(value.program, 0U);
  EXPECT_EQ(set(1, {0, 0}, BPF_ANY), 0);
  EXPECT_EQ(map->copy_lookup(in(uint32_t{1}), out(value)), -ENOENT);
  EXPECT_EQ(map->copy_erase(in(uint32_t{1})), 0);
  EXPECT_EQ(map->copy_erase(in(uint32_t{4})), -EINVAL);
  EXPECT_EQ(refusal(targets_spec(BPF_MAP_TYPE_DEVMAP, 6)), EINVAL);
  EXPECT_EQ(refusal(targets_spec(BPF_MAP_TYPE_XSKMAP, 8)), EINVAL);
}

TEST(TargetMap, DevmapHashErrno) {
  const auto map = make(targets_spec(BPF_MAP_TYPE_DEVMAP_HASH, 4, 2));
  EXPECT_EQ(put(*map, 1000, 0), -EINVAL);
  EXPECT_EQ(put(*map, 1000, 3, BPF_EXIST), 0) << "the kernel does not ask";
  EXPECT_EQ(put(*map, 1000, 3, BPF_NOEXIST), -EEXIST);
  EXPECT_EQ(put(*map, 1001, 3), 0);
  EXPECT_EQ(put(*map, 1002, 3), -E2BIG);
  EXPECT_EQ(map->copy_erase(in(uint32_t{7})), -ENOENT);
  EXPECT_EQ(map->copy_erase(in(uint32_t{1000})), 0);

  const auto with_programs = make(targets_spec(BPF_MAP_TYPE_DEVMAP_HASH, 8, 2));
  const std::array<uint32_t, 2> plain{3, 0}, no_such_program{3, 0x7fffffff};
  const auto set = [&](const auto& value, uint64_t flags) {
    return with_programs->copy_update(in(uint32_t{1}), in(value), flags);
  };
  EXPECT_EQ(set(no_such_program, BPF_NOEXIST), -EINVAL);
  EXPECT_EQ(set(plain, BPF_NOEXIST), 0);
  EXPECT_EQ(set(no_such_program, BPF_NOEXIST), -EEXIST) << "the entry is looked for first";
  EXPECT_EQ(set(no_such_program, BPF_ANY), -EINVAL);
}

TEST(TargetMap, CpumapAndXskmapErrno) {
  const auto cpus = make(targets_spec(BPF_MAP_TYPE_CPUMAP, 4, 8), 2);
  EXPECT_EQ(put(*cpus, 1, 192), 0);
  EXPECT_EQ(put(*cpus, 2, 192), -ENODEV) << "there are two workers";
  EXPECT_EQ(put(*cpus, 8, 192), -E2BIG);
  EXPECT_EQ(put(*cpus, 1, 16385), -EOVERFLOW);
  EXPECT_EQ(put(*cpus, 1, 192, BPF_NOEXIST), -EEXIST);
  EXPECT_EQ(refusal(targets_spec(BPF_MAP_TYPE_CPUMAP, 4, 8193)), E2BIG);
  const auto sockets = make(targets_spec(BPF_MAP_TYPE_XSKMAP));
  uint32_t value = 0;
  EXPECT_EQ(put(*sockets, 1, 5, BPF_EXIST), -ENOENT);
  EXPECT_EQ(put(*sockets, 1, 5, BPF_NOEXIST), 0);
  EXPECT_EQ(put(*sockets, 1, 5, BPF_NOEXIST), -EEXIST);
  EXPECT_EQ(sockets->copy_lookup(in(uint32_t{1}), out(value)), -EOPNOTSUPP);
}

TEST(TargetMap, ProgramsOfEntriesMustBeForThem) {
  const auto object = Object::of("test.o", {targets_spec(BPF_MAP_TYPE_DEVMAP, 8)},
                                 {{.name = "p", .section = "xdp", .insns = {mov(0, 2), leave()}},
                                  {.name = "egress", .section = "xdp/devmap", .insns = {mov(0, 2), leave()}}});
  const auto program = Program::load(object, object.programs()[0], {});
  ASSERT_TRUE(program);
  auto& map = *(*program)->maps()[0];
  const uint32_t key = 1;
  const auto set = [&](uint32_t id) { return map.copy_update(in(key), in(std::array<uint32_t, 2>{3, id}), BPF_ANY); };
  EXPECT_EQ(set((*program)->id()), -EINVAL);
  auto egress = (*program)->sibling("egress");
  ASSERT_TRUE(egress);
  const auto id = (*egress)->id();
  EXPECT_EQ(set(id), 0);
  *egress = nullptr;
  EXPECT_TRUE(Program::find(id)) << "the entry keeps it";
  EXPECT_EQ(map.copy_erase(in(key)), 0);
  EXPECT_FALSE(Program::find(id));
}

Code redirect_code(int64_t key, int64_t flags) {
  return join({map_pointer(1, 0), mov(2, key), mov(3, flags), call(BPF_FUNC_redirect_map), leave()});
}

TEST(Redirect, AKeyThatIsThere) {
  for (const auto type : {BPF_MAP_TYPE_DEVMAP, BPF_MAP_TYPE_DEVMAP_HASH, BPF_MAP_TYPE_CPUMAP, BPF_MAP_TYPE_XSKMAP}) {
    Bench bench(redirect_code(1, XDP_PASS), {targets_spec(type)});
    EXPECT_EQ(bench.run().verdict, uint32_t{XDP_PASS}) << "the action that the flags name";
    EXPECT_EQ(put(bench.map(0), 1, 9), 0);
    Frame frame;
    EXPECT_EQ(bench.run(frame).verdict, uint32_t{XDP_REDIRECT});
    EXPECT_EQ(frame.view.redirect.map, &bench.map(0));
    EXPECT_EQ(frame.view.redirect.key, 1U);
    EXPECT_EQ(frame.view.redirect.ifindex, 9U);
    EXPECT_EQ(frame.view.redirect.flags, 0U);
  }
}

TEST(Redirect, FlagsAreTheKernels) {
  const auto verdict = [](uint32_t type, int64_t flags) {
    return Bench(redirect_code(77, flags), {targets_spec(type)}).run().verdict;
  };
  for (const int64_t action : {XDP_ABORTED, XDP_DROP, XDP_PASS, XDP_TX})
    EXPECT_EQ(verdict(BPF_MAP_TYPE_DEVMAP, action), static_cast<uint32_t>(action));
  EXPECT_EQ(verdict(BPF_MAP_TYPE_DEVMAP, 4), uint32_t{XDP_ABORTED});
  EXPECT_EQ(verdict(BPF_MAP_TYPE_DEVMAP, BPF_F_BROADCAST), uint32_t{XDP_REDIRECT});
  EXPECT_EQ(verdict(BPF_MAP_TYPE_DEVMAP_HASH, BPF_F_BROADCAST | BPF_F_EXCLUDE_INGRESS), uint32_t{XDP_REDIRECT});
  EXPECT_EQ(verdict(BPF_MAP_TYPE_CPUMAP, int64_t{BPF_F_BROADCAST} | XDP_PASS), uint32_t{XDP_ABORTED});
  EXPECT_TRUE(Bench(redirect_code(0, 0), {array_spec("a", 4, 1)}).run().fault.ends_with("not a map"));
  Bench broadcast(redirect_code(0, BPF_F_BROADCAST | BPF_F_EXCLUDE_INGRESS), {targets_spec(BPF_MAP_TYPE_DEVMAP)});
  Frame frame;
  broadcast.run(frame);
  EXPECT_EQ(frame.view.redirect.flags, uint32_t{BPF_F_BROADCAST | BPF_F_EXCLUDE_INGRESS});
}

// Passes what the test lets pass.
struct Steps : Grace {
  uint64_t start() noexcept override { return ++last; }
  bool passed(uint64_t token) noexcept override { return token <= allowed; }
  uint64_t last = 0, allowed = 0;
};

// How often every burst has to end before the program of a replaced entry goes.
uint32_t periods_until_gone(uint32_t type, const char* section) {
  static Steps grace;  // outlives maps
  const auto object = Object::of("test.o", {targets_spec(type, 8)},
                                 {{.name = "p", .section = "xdp", .insns = {mov(0, 2), leave()}},
                                  {.name = "there", .section = section, .insns = {mov(0, 2), leave()}}});
  auto program = Program::load(object, object.programs()[0], {.cpus = 4, .grace = &grace});
  auto there = (*program)->sibling("there");
  const std::weak_ptr<const Program> gone = *there;
  auto& map = *(*program)->maps()[0];
  const uint32_t key = 1;
  EXPECT_EQ(map.copy_update(in(key), in(std::array<uint32_t, 2>{3, (*there)->id()}), BPF_ANY), 0);
  *there = nullptr;
  EXPECT_FALSE(gone.expired());
  EXPECT_EQ(map.copy_update(in(key), in(std::array<uint32_t, 2>{4, 0}), BPF_ANY), 0);
  uint32_t periods = 0;
  for (; !gone.expired() && periods < 5; ++periods) {
    grace.allowed = grace.last;
    // Control comes by again
    EXPECT_EQ(map.copy_update(in(uint32_t{2}), in(std::array<uint32_t, 2>{4, 0}), BPF_ANY), 0);
  }
  return periods;
}

TEST(TargetMap, AReplacedProgramLivesAsLongAsFramesMayMeetIt) {
  EXPECT_EQ(periods_until_gone(BPF_MAP_TYPE_DEVMAP, "xdp/devmap"), 1U);
  EXPECT_EQ(periods_until_gone(BPF_MAP_TYPE_DEVMAP_HASH, "xdp/devmap"), 1U);
  EXPECT_EQ(periods_until_gone(BPF_MAP_TYPE_CPUMAP, "xdp/cpumap"), 2U) << "they wait for the other worker";
}

TEST(TargetMap, AnInterfaceThatIsNoMoreLeavesTheMap) {
  const auto array = make(targets_spec(BPF_MAP_TYPE_DEVMAP));
  const auto hash = make(targets_spec(BPF_MAP_TYPE_DEVMAP_HASH));
  for (const auto& map : {array, hash})
    for (const uint32_t key : {0U, 1U, 2U}) EXPECT_EQ(put(*map, key, key == 1 ? 8 : 9), 0);
  static_cast<TargetArrayMap&>(*array).forget(9);
  static_cast<DevmapHash&>(*hash).forget(9);
  for (const auto& map : {array, hash}) {
    uint32_t value = 0;
    EXPECT_EQ(map->copy_lookup(in(uint32_t{0}), out(value)), -ENOENT);
    EXPECT_EQ(map->copy_lookup(in(uint32_t{1}), out(value)), 0);
    EXPECT_EQ(map->copy_lookup(in(uint32_t{2}), out(value)), -ENOENT);
  }
}

TEST(Redirect, ByInterfaceNumber) {
  const auto code = [](int64_t flags) { return Code{mov(1, 5), mov(2, flags), call(BPF_FUNC_redirect), leave()}; };
  Frame frame;
  EXPECT_EQ(Bench(code(0)).run(frame).verdict, uint32_t{XDP_REDIRECT});
  EXPECT_EQ(frame.view.redirect.map, nullptr);
  EXPECT_EQ(frame.view.redirect.ifindex, 5U);
  EXPECT_EQ(Bench(code(1)).run(frame).verdict, uint32_t{XDP_ABORTED});
}

TEST(Redirect, EntriesAreReadOnly) {
  const auto access = [](bool write) {
    Bench bench(join({store_imm(BPF_W, 10, -4, 1), map_pointer(1, 0), movr(2, 10), alu(BPF_ADD, 2, -4),
                      call(BPF_FUNC_map_lookup_elem), jump(BPF_JNE, 0, 0, 1), leave(),
                      write ? store_imm(BPF_W, 0, 0, 1) : load(BPF_W, 0, 0, 0), leave()}),
                {targets_spec(BPF_MAP_TYPE_DEVMAP)});
    EXPECT_EQ(put(bench.map(0), 1, 9), 0);
    return bench.run();
  };
  EXPECT_EQ(access(false).verdict, 9U);
  EXPECT_TRUE(access(true).fault.ends_with("write to a map that programs may only read"));
}

}  // namespace
}  // namespace xbond::bpf::test
