// Helpers: results, and that a program can't make them touch what it may not touch itself.
#include <time.h>

#include <array>
#include <numeric>

#include "tests/unit/bpf/asm.hpp"

namespace xbond::bpf::test {
namespace {

// r0's low 32 bits of a call with the given registers, on a frame of 64 counting bytes.
struct Result32 {
  int32_t value;
  std::string fault;
};

Result32 run(Bench bench, Frame& frame) {
  const auto outcome = bench.run(frame);
  return {static_cast<int32_t>(outcome.verdict), outcome.fault};
}

TEST(MapHelpers, UpdateLookupDelete) {
  Bench bench(
      join({store_imm(BPF_W, 10, -4, 2), store_imm(BPF_DW, 10, -16, 42), map_pointer(1, 0), movr(2, 10),
            alu(BPF_ADD, 2, -4), movr(3, 10), alu(BPF_ADD, 3, -16), mov(4, BPF_ANY), call(BPF_FUNC_map_update_elem),
            movr(6, 0), map_pointer(1, 0), movr(2, 10), alu(BPF_ADD, 2, -4), call(BPF_FUNC_map_lookup_elem),
            jump(BPF_JEQ, 0, 0, 3), load(BPF_DW, 0, 0, 0), alur(BPF_ADD, 0, 6), leave(), leave()}),
      {array_spec("m", 8, 3)});
  EXPECT_EQ(bench.run().verdict, 42U) << bench.error.text;

  const auto rc = [](int helper, int64_t key, int64_t flags) {
    Bench one(join({store_imm(BPF_W, 10, -4, key), map_pointer(1, 0), movr(2, 10), alu(BPF_ADD, 2, -4), movr(3, 10),
                    alu(BPF_ADD, 3, -16), mov(4, flags), call(helper), leave()}),
              {percpu_spec("m", 8, 3)});
    return static_cast<int32_t>(one.run().verdict);
  };
  EXPECT_EQ(rc(BPF_FUNC_map_update_elem, 3, 0), -E2BIG);
  EXPECT_EQ(rc(BPF_FUNC_map_update_elem, 0, BPF_NOEXIST), -EEXIST);
  EXPECT_EQ(rc(BPF_FUNC_map_update_elem, 0, 7), -EINVAL);
  EXPECT_EQ(rc(BPF_FUNC_map_update_elem, 0, BPF_EXIST), 0);
  EXPECT_EQ(rc(BPF_FUNC_map_delete_elem, 0, 0), -EINVAL);
  EXPECT_EQ(rc(BPF_FUNC_map_lookup_elem, 3, 0), 0);
}

TEST(MapHelpers, ArgumentsAreChecked) {
  const auto fault = [](int helper, const Part& first, const Part& second, const Part& third, uint32_t flags = 0) {
    return Bench(join({first, second, third, mov(4, 0), call(helper), mov(0, XDP_PASS), leave()}),
                 {array_spec("m", 8, 3, flags), array_spec("n", 8, 3)})
        .run()
        .fault;
  };
  const Code stack_key{movr(2, 10), alu(BPF_ADD, 2, -4)};
  const Code stack_value{movr(3, 10), alu(BPF_ADD, 3, -8)};
  for (const auto helper : {BPF_FUNC_map_lookup_elem, BPF_FUNC_map_update_elem, BPF_FUNC_map_delete_elem}) {
    const auto ends = [&](const std::string& text, std::string_view words) {
      EXPECT_TRUE(text.ends_with(words)) << helper << ": " << text;
    };
    ends(fault(helper, mov(1, 0), stack_key, stack_value), "helper called with an argument that is not a map");
    ends(fault(helper, movr(1, 10), stack_key, stack_value), "helper called with an argument that is not a map");
    ends(fault(helper, join({map_pointer(1, 0), alu(BPF_ADD, 1, 8)}), stack_key, stack_value),
         "helper called with an argument that is not a map");
    ends(fault(helper, join({map_pointer(1, 0), alu(BPF_ADD, 1, 128)}), stack_key, stack_value),
         "helper called with an argument that is not a map");
    // A key half outside the stack
    ends(fault(helper, map_pointer(1, 0), Code{movr(2, 10), alu(BPF_ADD, 2, -2)}, stack_value),
         "helper called with memory that can't be read");
    ends(fault(helper, map_pointer(1, 0), mov(2, 0), stack_value), "helper called with memory that can't be read");
    EXPECT_EQ(fault(helper, join({map_pointer(1, 0), alu(BPF_ADD, 1, 64)}), stack_key, stack_value), "");
  }
  EXPECT_TRUE(fault(BPF_FUNC_map_update_elem, map_pointer(1, 0), stack_key, Code{movr(3, 10), alu(BPF_ADD, 3, -7)})
                  .ends_with("memory that can't be read"));
  EXPECT_TRUE(fault(BPF_FUNC_map_update_elem, map_pointer(1, 0), stack_key, stack_value, BPF_F_RDONLY_PROG)
                  .ends_with("write to a map that programs may only read"));
}

TEST(XdpRoom, AdjustHead) {
  const auto adjust = [](int64_t offset, Frame& frame) {
    return run(Bench({mov(2, offset), call(BPF_FUNC_xdp_adjust_head), leave()}), frame).value;
  };
  Frame frame;
  auto* const start = frame.view.data;
  EXPECT_EQ(adjust(-20, frame), 0);
  EXPECT_EQ(frame.view.data, start - 20);
  EXPECT_EQ(frame.view.data_meta, start - 20);
  EXPECT_EQ(adjust(20, frame), 0);
  EXPECT_EQ(adjust(50, frame), 0);
  EXPECT_EQ(frame.packet().size(), 14U);
  EXPECT_EQ(adjust(1, frame), -EINVAL);
  EXPECT_EQ(adjust(-50 - static_cast<int64_t>(Frame::kHeadroom), frame), 0);
  EXPECT_EQ(frame.view.data, frame.view.hard_start);
  EXPECT_EQ(adjust(-1, frame), -EINVAL);
  EXPECT_EQ(adjust(INT32_MIN, frame), -EINVAL);
  EXPECT_EQ(adjust(INT32_MAX, frame), -EINVAL);
  EXPECT_EQ(frame.view.data, frame.view.hard_start);
}

TEST(XdpRoom, AdjustHeadTakesMetadataAlong) {
  Frame frame;
  frame.view.data_meta -= 8;
  for (int i = 0; i < 8; ++i) frame.view.data_meta[i] = static_cast<uint8_t>(0xa0 + i);
  Bench bench({mov(2, -4), call(BPF_FUNC_xdp_adjust_head), leave()});
  EXPECT_EQ(bench.run(frame).verdict, 0U);
  EXPECT_EQ(frame.view.data - frame.view.data_meta, 8);
  EXPECT_EQ(frame.view.data_meta[0], 0xa0);
  EXPECT_EQ(frame.view.data_meta[7], 0xa7);
  // The room in front is the metadata's too
  const auto room = frame.view.data_meta - frame.view.hard_start;
  Bench too_far({mov(2, -room - 1), call(BPF_FUNC_xdp_adjust_head), leave()});
  EXPECT_EQ(static_cast<int32_t>(too_far.run(frame).verdict), -EINVAL);
}

TEST(XdpRoom, AdjustTail) {
  const auto adjust = [](int64_t offset, Frame& frame) {
    return run(Bench({mov(2, offset), call(BPF_FUNC_xdp_adjust_tail), leave()}), frame).value;
  };
  Frame frame;
  EXPECT_EQ(adjust(-50, frame), 0);
  EXPECT_EQ(frame.packet().size(), 14U);
  EXPECT_EQ(adjust(-1, frame), -EINVAL);
  EXPECT_EQ(adjust(10, frame), 0);
  for (size_t i = 14; i < 24; ++i) EXPECT_EQ(frame.packet()[i], 0) << i;  // grown bytes are zeroed
  const auto room = frame.view.hard_end - frame.view.data_end;
  EXPECT_EQ(adjust(room + 1, frame), -EINVAL);
  EXPECT_EQ(adjust(room, frame), 0);
  EXPECT_EQ(frame.view.data_end, frame.view.hard_end);
  EXPECT_EQ(adjust(1, frame), -EINVAL);
  EXPECT_EQ(adjust(INT32_MIN, frame), -EINVAL);
}

TEST(XdpRoom, AdjustMeta) {
  const auto adjust = [](int64_t offset, Frame& frame) {
    return run(Bench({mov(2, offset), call(BPF_FUNC_xdp_adjust_meta), leave()}), frame).value;
  };
  Frame frame;
  EXPECT_EQ(adjust(-8, frame), 0);
  EXPECT_EQ(frame.view.data - frame.view.data_meta, 8);
  EXPECT_EQ(adjust(-6, frame), -EACCES);
  EXPECT_EQ(adjust(12, frame), -EINVAL);
  EXPECT_EQ(adjust(8, frame), 0);
  EXPECT_EQ(adjust(-static_cast<int64_t>(Frame::kHeadroom), frame), 0);
  EXPECT_EQ(adjust(-4, frame), -EINVAL);
  EXPECT_EQ(adjust(INT32_MIN, frame), -EINVAL);
}

TEST(XdpRoom, OldPointersAreCheckedAnew) {
  // The tail is cut; the bytes behind it are no longer the packet's
  Bench bench({load(BPF_W, 6, 1, 0), mov(2, -10), call(BPF_FUNC_xdp_adjust_tail), load(BPF_B, 3, 6, 53),
               load(BPF_B, 3, 6, 54), mov(0, 2), leave()});
  EXPECT_EQ(bench.run().fault, "instruction 4: read outside stack, packet and map values");
}

TEST(XdpRoom, ContextIsChecked) {
  for (const auto helper : {BPF_FUNC_xdp_adjust_head, BPF_FUNC_xdp_adjust_tail, BPF_FUNC_xdp_adjust_meta,
                            BPF_FUNC_xdp_get_buff_len, BPF_FUNC_xdp_load_bytes, BPF_FUNC_xdp_store_bytes}) {
    Bench bench({movr(1, 10), mov(2, 0), movr(3, 10), mov(4, 0), call(helper), leave()});
    EXPECT_EQ(bench.run().fault, "instruction 4: helper called with an argument that is not the context") << helper;
  }
}

TEST(XdpBytes, LoadAndStore) {
  const auto call_it = [](int helper, int64_t offset, int64_t length, int64_t at = -64) {
    Frame frame;
    return run(Bench({mov(2, offset), movr(3, 10), alu(BPF_ADD, 3, at), mov(4, length), call(helper), leave()}), frame);
  };
  for (const auto helper : {BPF_FUNC_xdp_load_bytes, BPF_FUNC_xdp_store_bytes}) {
    EXPECT_EQ(call_it(helper, 0, 64).value, 0);
    EXPECT_EQ(call_it(helper, 63, 1).value, 0);
    EXPECT_EQ(call_it(helper, 63, 2).value, -EINVAL);
    EXPECT_EQ(call_it(helper, 64, 1).value, -EINVAL);
    EXPECT_EQ(call_it(helper, 0x10000, 1).value, -EFAULT);
    EXPECT_EQ(call_it(helper, -1, 1).value, -EFAULT);
    EXPECT_TRUE(call_it(helper, 0, 0).fault.ends_with("a size that it does not take"));
    const auto* words =
        helper == BPF_FUNC_xdp_load_bytes ? "memory that can't be written" : "memory that can't be read";
    EXPECT_TRUE(call_it(helper, 0, 65).fault.ends_with(words));
    EXPECT_TRUE(call_it(helper, 0, 4, -513).fault.ends_with(words));
  }
  Frame frame;
  Bench copy({mov(2, 10), movr(6, 1), movr(3, 10), alu(BPF_ADD, 3, -8), mov(4, 4), call(BPF_FUNC_xdp_load_bytes),
              movr(1, 6), mov(2, 0), movr(3, 10), alu(BPF_ADD, 3, -8), mov(4, 4), call(BPF_FUNC_xdp_store_bytes),
              movr(1, 6), call(BPF_FUNC_xdp_get_buff_len), leave()});
  EXPECT_EQ(copy.run(frame).verdict, 64U);
  EXPECT_EQ(frame.packet()[0], 10);
  EXPECT_EQ(frame.packet()[3], 13);
}

// RFC 1071's own way, over bytes
uint16_t reference_sum(std::span<const uint8_t> bytes) {
  uint32_t sum = 0;
  for (size_t i = 0; i < bytes.size(); i += 2) sum += static_cast<uint32_t>(bytes[i] | bytes[i + 1] << 8);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >> 16);
  return static_cast<uint16_t>(sum);
}

TEST(Csum, Differences) {
  const auto diff = [](int64_t from_size, int64_t to_size, int64_t seed) {
    Frame frame;
    return run(Bench({load(BPF_W, 6, 1, 0), movr(1, 6), mov(2, from_size), movr(3, 6), alu(BPF_ADD, 3, 32),
                      mov(4, to_size), mov(5, seed), call(BPF_FUNC_csum_diff), leave()}),
               frame)
        .value;
  };
  const auto bytes = Frame::counting(64);
  EXPECT_EQ(diff(0, 0, 0x12345678), 0x12345678);
  EXPECT_EQ(diff(0, 20, 0), reference_sum(std::span(bytes).subspan(32, 20)));
  // Taking the same bytes out again leaves nothing (ones' complement minus zero)
  const auto in = static_cast<uint32_t>(diff(0, 32, 0));
  EXPECT_EQ((in + static_cast<uint32_t>(diff(32, 0, 0))) % 0xffff,
            (in + (0xffffU - reference_sum(std::span(bytes).first(32)))) % 0xffff);
  EXPECT_EQ(diff(3, 0, 0), -EINVAL);
  EXPECT_EQ(diff(0, 6, 0), -EINVAL);
  Frame frame;
  EXPECT_TRUE(
      run(Bench({mov(1, 0), mov(2, 4), mov(3, 0), mov(4, 0), mov(5, 0), call(BPF_FUNC_csum_diff), leave()}), frame)
          .fault.ends_with("memory that can't be read"));
}

uint64_t wide_result(int helper) {
  Bench bench(join({call(helper), map_value(1, 0, 0), store(BPF_DW, 1, 0, 0), mov(0, 2), leave()}),
              {array_spec("m", 8, 1)});
  EXPECT_EQ(bench.run(1).verdict, 2U) << bench.error.text;
  uint64_t value = 0;
  const uint32_t key = 0;
  EXPECT_EQ(bench.map(0).copy_lookup(std::as_bytes(std::span(&key, 1)), std::as_writable_bytes(std::span(&value, 1))),
            0);
  return value;
}

uint64_t now(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
}

TEST(Time, IsTheMachines) {
  struct Clock {
    int helper;
    clockid_t clock;
  };
  for (const auto& c :
       {Clock{BPF_FUNC_ktime_get_ns, CLOCK_MONOTONIC}, Clock{BPF_FUNC_ktime_get_boot_ns, CLOCK_BOOTTIME},
        Clock{BPF_FUNC_ktime_get_coarse_ns, CLOCK_MONOTONIC_COARSE}, Clock{BPF_FUNC_ktime_get_tai_ns, CLOCK_TAI}}) {
    const auto before = now(c.clock);
    const auto value = wide_result(c.helper);
    EXPECT_GE(value, before);
    EXPECT_LE(value, now(c.clock));
  }
  const auto jiffies = wide_result(BPF_FUNC_jiffies64);
  EXPECT_NEAR(static_cast<double>(jiffies - ((uint64_t{1} << 32) - 75'000)),
              static_cast<double>(now(CLOCK_MONOTONIC) / 4'000'000), 25);
}

TEST(Cpu, IsTheWorkersNumber) {
  EXPECT_EQ(wide_result(BPF_FUNC_get_smp_processor_id), 1U);
}

TEST(Random, HasAllBitsAndNeverRepeatsSoon) {
  Bench bench({call(BPF_FUNC_get_prandom_u32), leave()});
  uint32_t ones = 0;
  uint32_t zeros = 0;
  uint32_t last = bench.run().verdict;
  int same = 0;
  for (int i = 0; i < 200; ++i) {
    const auto value = bench.run().verdict;
    ones |= value;
    zeros |= ~value;
    same += value == last ? 1 : 0;
    last = value;
  }
  EXPECT_EQ(ones, 0xffffffffU);
  EXPECT_EQ(zeros, 0xffffffffU);
  EXPECT_LT(same, 3);
  EXPECT_LE(wide_result(BPF_FUNC_get_prandom_u32), 0xffffffffU);
}

// Puts `format` on the stack and prints it with r3 … r5.
struct Printed {
  int32_t result;
  std::vector<std::string> lines;
  std::string fault;
};

Printed print(const std::string& format, std::array<int64_t, 3> arguments, int64_t size_change = 0) {
  Code code;
  const auto size = static_cast<int64_t>(format.size()) + 1;
  for (int64_t i = 0; i < size; ++i)
    code.push_back(store_imm(BPF_B, 10, static_cast<int>(i - size), static_cast<uint8_t>(format.c_str()[i])));
  const auto rest =
      Code{movr(1, 10),          alu(BPF_ADD, 1, -size), mov(2, size + size_change),  mov(3, arguments[0]),
           mov(4, arguments[1]), mov(5, arguments[2]),   call(BPF_FUNC_trace_printk), leave()};
  code.insert(code.end(), rest.begin(), rest.end());
  Bench bench(code);
  const auto outcome = bench.run();
  Printed printed{static_cast<int32_t>(outcome.verdict), {}, outcome.fault};
  bench.program->drain_trace([&](std::string_view line) { printed.lines.emplace_back(line); });
  return printed;
}

TEST(Trace, FormatsAsTheKernel) {
  const auto one = [](const std::string& format, std::array<int64_t, 3> arguments) {
    const auto printed = print(format, arguments);
    EXPECT_EQ(printed.lines.size(), 1U) << format;
    return printed.lines.empty() ? "" : printed.lines.front();
  };
  EXPECT_EQ(one("plain", {}), "plain");
  EXPECT_EQ(one("line end\n", {}), "line end");
  EXPECT_EQ(one("%d %u %x", {-1, -1, 255}), "-1 4294967295 ff");
  EXPECT_EQ(one("%lld %llu %lx", {-1, 7, 255}), "-1 7 ff");
  EXPECT_EQ(one("%5d|%-5d|%05d", {42, 42, 42}), "   42|42   |00042");
  EXPECT_EQ(one("100%% %c", {'x', 0, 0}), "100% x");
  EXPECT_EQ(print("abc", {}).result, 3);
  EXPECT_EQ(print("%d", {1234, 0, 0}).result, 4);
}

TEST(Trace, RefusesWhatTheKernelRefuses) {
  EXPECT_EQ(print("%n", {}).result, -EINVAL);
  EXPECT_EQ(print("%f", {}).result, -EINVAL);
  EXPECT_EQ(print("%", {}).result, -EINVAL);
  EXPECT_EQ(print("%l", {}).result, -EINVAL);
  EXPECT_EQ(print("%*d", {}).result, -EINVAL);
  EXPECT_EQ(print("%999999999d", {}).result, -EINVAL);
  EXPECT_EQ(print("%d%d%d%d", {}).result, -EINVAL);
  EXPECT_EQ(print("\x01", {}).result, -EINVAL);
  EXPECT_EQ(print("abc", {}, -1).result, -EINVAL);  // no NUL at the end
  EXPECT_TRUE(print("abc", {}, -4).fault.ends_with("a size that it does not take"));
  EXPECT_TRUE(print("abc", {}, 1).fault.ends_with("memory that can't be read"));
  // A string that can't be read is no reason to stop
  EXPECT_EQ(print("<%s>", {8, 0, 0}).lines, std::vector<std::string>{"<>"});
}

TEST(Trace, IsBoundedAndCountsWhatItLoses) {
  Bench bench(join({store_imm(BPF_H, 10, -2, 'x'), movr(1, 10), alu(BPF_ADD, 1, -2), mov(2, 2), mov(3, 0), mov(4, 0),
                    mov(5, 0), call(BPF_FUNC_trace_printk), leave()}));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(bench.run().verdict, 1U);
  size_t lines = 0;
  const auto lost = bench.program->drain_trace([&](std::string_view line) {
    EXPECT_EQ(line, "x");
    ++lines;
  });
  EXPECT_EQ(lines, 64U);
  EXPECT_EQ(lost, 1000U - 64);
  EXPECT_EQ(bench.program->drain_trace([&](std::string_view) { ++lines; }), lost);
  EXPECT_EQ(lines, 64U);
}

TEST(Trace, VectorForm) {
  Bench bench(join({store_imm(BPF_W, 10, -8, 0x25206425), store_imm(BPF_W, 10, -4, 0x00000064),  // "%d %d"
                    store_imm(BPF_DW, 10, -24, 5), store_imm(BPF_DW, 10, -16, 6), movr(1, 10), alu(BPF_ADD, 1, -8),
                    mov(2, 8), movr(3, 10), alu(BPF_ADD, 3, -24), mov(4, 16), call(BPF_FUNC_trace_vprintk), leave()}));
  EXPECT_EQ(bench.run().verdict, 3U) << bench.error.text;
  std::vector<std::string> lines;
  bench.program->drain_trace([&](std::string_view line) { lines.emplace_back(line); });
  EXPECT_EQ(lines, std::vector<std::string>{"5 6"});
}

}  // namespace
}  // namespace xbond::bpf::test
