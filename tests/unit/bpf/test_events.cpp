// Ring buffers and perf events: what programs write is what control reads.
#include <unistd.h>

#include <atomic>
#include <numeric>
#include <thread>

#include "bpf_compat/map/events.hpp"
#include "tests/unit/bpf/asm.hpp"
#include "tests/unit/bpf/map_bench.hpp"

namespace xbond::bpf::test {
namespace {

MapSpec ring_spec(uint32_t bytes = 4096) {
  return spec_of(BPF_MAP_TYPE_RINGBUF, 0, 0, bytes);
}
MapSpec perf_spec(uint32_t entries = 2) {
  return spec_of(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4, entries);
}

struct Record {
  uint32_t cpu, index;
  std::vector<uint8_t> data;
};

std::vector<Record> drain(Map& map) {
  std::vector<Record> records;
  EXPECT_EQ(map.drain([&](const Event& event) {
    const auto* bytes = reinterpret_cast<const uint8_t*>(event.data.data());
    records.push_back({event.cpu, event.index, {bytes, bytes + event.data.size()}});
    return true;
  }),
            0);
  return records;
}

TEST(RingBuf, ShapesAndWhatItHasNot) {
  EXPECT_EQ(refusal(ring_spec(4096)), 0);
  EXPECT_EQ(refusal(ring_spec(2048)), EINVAL);
  EXPECT_EQ(refusal(ring_spec(12288)), EINVAL);
  EXPECT_EQ(refusal(ring_spec(0)), EINVAL);
  EXPECT_EQ(refusal(spec_of(BPF_MAP_TYPE_RINGBUF, 4, 0, 4096)), EINVAL);
  const auto map = make(ring_spec());
  EXPECT_EQ(map->copy_lookup({}, {}), -524);
  EXPECT_EQ(map->copy_update({}, {}, 0), -524);
  EXPECT_EQ(map->copy_erase({}), -524);
  EXPECT_EQ(map->next_key({}, {}), -524);
  EXPECT_EQ(make(array_spec("a", 4, 1))->drain([](const Event&) { return true; }), -524);
}

TEST(RingBuf, RecordsAreNeverCutAndComeInOrder) {
  const auto map = make(ring_spec());
  auto& ring = static_cast<RingBufMap&>(*map);
  uint8_t next = 0;
  for (uint32_t round = 0; round < 300; ++round) {
    const uint32_t bytes = round * 37 % 1500;
    auto* record = ring.reserve(bytes);
    ASSERT_TRUE(record);
    for (uint32_t i = 0; i < bytes; ++i) record[i] = static_cast<std::byte>(next + i);
    EventRing::commit(record, round % 5 == 4);
    const auto records = drain(*map);
    ASSERT_EQ(records.size(), round % 5 == 4 ? 0U : 1U);
    if (!records.empty()) {
      std::vector<uint8_t> expected(bytes);
      std::iota(expected.begin(), expected.end(), next);
      ASSERT_EQ(records[0].data, expected);
    }
    ++next;
  }
}

TEST(RingBuf, FullAsTheKernelsAndNothingOvertakes) {
  const auto map = make(ring_spec());
  auto& ring = static_cast<RingBufMap&>(*map);
  EXPECT_EQ(ring.reserve(4096 - 8), nullptr) << "one byte stays free";
  EXPECT_EQ(ring.reserve(UINT32_MAX), nullptr);
  auto* first = ring.reserve(2000);
  auto* second = ring.reserve(2000);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(ring.reserve(100), nullptr);
  EXPECT_EQ(ring.lost(), 3U);
  EventRing::commit(second, false);
  EXPECT_TRUE(drain(*map).empty()) << "the first one is not there yet";
  EventRing::commit(first, false);
  EXPECT_EQ(drain(*map).size(), 2U);
  EXPECT_EQ(ring.query(BPF_RB_RING_SIZE), 4096U);
  EXPECT_EQ(ring.query(BPF_RB_AVAIL_DATA), 0U);
  EXPECT_EQ(ring.query(BPF_RB_PROD_POS), 4016U);
  EXPECT_EQ(ring.query(BPF_RB_CONS_POS), 4016U);
}

// Reserves 16 bytes, writes 8 at `offset`, and ends it by `end` (0: not at all).
Code reserve_code(int offset, int end) {
  auto code = join({map_pointer(1, 0), mov(2, 16), mov(3, 0), call(BPF_FUNC_ringbuf_reserve), jump(BPF_JNE, 0, 0, 2),
                    mov(0, 9), leave(), store_imm(BPF_DW, 0, offset, 0x41)});
  if (end != 0) code = join({code, movr(1, 0), mov(2, 0), call(end)});
  return join({code, mov(0, XDP_PASS), leave()});
}

TEST(RingBuf, AReaderMayStop) {
  const auto map = make(ring_spec());
  for (int i = 0; i < 3; ++i) EventRing::commit(static_cast<RingBufMap&>(*map).reserve(8), false);
  int seen = 0;
  map->drain([&](const Event&) { return ++seen < 2; });
  EXPECT_EQ(seen, 2);
  EXPECT_EQ(drain(*map).size(), 1U);
}

TEST(RingBuf, ProgramsReserveSubmitAndDiscard) {
  Bench submit(reserve_code(8, BPF_FUNC_ringbuf_submit), {ring_spec()});
  EXPECT_EQ(submit.run().verdict, uint32_t{XDP_PASS}) << submit.error.text;
  auto records = drain(submit.map(0));
  ASSERT_EQ(records.size(), 1U);
  ASSERT_EQ(records[0].data.size(), 16U);
  EXPECT_EQ(records[0].data[8], 0x41);
  Bench discard(reserve_code(0, BPF_FUNC_ringbuf_discard), {ring_spec()});
  EXPECT_EQ(discard.run().verdict, uint32_t{XDP_PASS});
  EXPECT_TRUE(drain(discard.map(0)).empty());
  // Full after so many: the program sees null
  uint32_t taken = 0;
  while (submit.run().verdict == XDP_PASS) ++taken;
  EXPECT_EQ(taken, 4095U / 24);
}

TEST(RingBuf, RulesOfReservedRecords) {
  EXPECT_TRUE(Bench(reserve_code(9, BPF_FUNC_ringbuf_submit), {ring_spec()}).run().fault.ends_with("map values"));
  EXPECT_TRUE(Bench(reserve_code(-8, BPF_FUNC_ringbuf_submit), {ring_spec()}).run().fault.ends_with("map values"));
  Bench left(reserve_code(0, 0), {ring_spec()});
  EXPECT_TRUE(left.run().fault.ends_with("with a reserved record or a spin lock in hand"));
  EXPECT_TRUE(drain(left.map(0)).empty());
  EXPECT_EQ(static_cast<RingBufMap&>(left.map(0)).query(BPF_RB_AVAIL_DATA), 0U) << "taken back";
  // Twice, and after its end
  const auto twice =
      join({map_pointer(1, 0), mov(2, 16), mov(3, 0), call(BPF_FUNC_ringbuf_reserve), movr(6, 0), movr(1, 6), mov(2, 0),
            call(BPF_FUNC_ringbuf_submit), movr(1, 6), mov(2, 0), call(BPF_FUNC_ringbuf_submit), leave()});
  EXPECT_TRUE(Bench(twice, {ring_spec()}).run().fault.ends_with("not a reserved record"));
  EXPECT_TRUE(
      Bench({mov(1, 0), call(BPF_FUNC_ringbuf_submit), leave()}).run().fault.ends_with("not a reserved record"));
}

TEST(RingBuf, OutputCopiesOrSaysWhy) {
  const auto output = [](int64_t bytes, int64_t flags) {
    return join({store_imm(BPF_DW, 10, -8, 0x42), map_pointer(1, 0), movr(2, 10), alu(BPF_ADD, 2, -8), mov(3, bytes),
                 mov(4, flags), call(BPF_FUNC_ringbuf_output), leave()});
  };
  Bench bench(output(8, 0), {ring_spec()});
  uint32_t taken = 0;
  while (bench.run().verdict == 0) ++taken;
  EXPECT_EQ(static_cast<int32_t>(bench.run().verdict), -EAGAIN);
  EXPECT_EQ(taken, 4095U / 16);
  EXPECT_EQ(drain(bench.map(0)).size(), taken);
  EXPECT_EQ(bench.run().verdict, 0U);
  EXPECT_EQ(static_cast<int32_t>(Bench(output(8, 4), {ring_spec()}).run().verdict), -EINVAL);
  EXPECT_NE(Bench(output(9, 0), {ring_spec()}).run().fault, "");
  EXPECT_TRUE(Bench(output(8, 0), {array_spec("a", 8, 1)}).run().fault.ends_with("not a map"));
}

TEST(PerfEvents, DataAndPacketOfEachWorker) {
  const auto code = [](uint64_t flags, int64_t bytes) {
    return join({store_imm(BPF_DW, 10, -8, 0x42), map_pointer(2, 0), wide(3, flags), movr(4, 10), alu(BPF_ADD, 4, -8),
                 mov(5, bytes), call(BPF_FUNC_perf_event_output), leave()});
  };
  const auto result = [&](uint64_t flags, int64_t bytes) {
    return static_cast<int32_t>(Bench(code(flags, bytes), {perf_spec()}).run().verdict);
  };
  Bench bench(code(BPF_F_CURRENT_CPU | uint64_t{4} << 32, 8), {perf_spec()});
  EXPECT_EQ(bench.run(1).verdict, 0U) << bench.error.text;
  EXPECT_EQ(bench.run(0).verdict, 0U);
  const auto records = drain(bench.map(0));
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[1].cpu, 1U);
  EXPECT_EQ(records[1].index, 1U);
  EXPECT_EQ(records[1].data, (std::vector<uint8_t>{0x42, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3}));
  EXPECT_EQ(result(0, 8), 0);
  EXPECT_EQ(result(1, 8), -EOPNOTSUPP);
  EXPECT_EQ(result(2, 8), -E2BIG);
  EXPECT_EQ(result(uint64_t{1} << 60, 8), -EINVAL);
  EXPECT_EQ(result(uint64_t{65} << 32, 8), -EFAULT);
  EXPECT_EQ(result(uint64_t{64} << 32, 0), 0);
  EXPECT_EQ(static_cast<int32_t>(Bench(code(BPF_F_CURRENT_CPU, 8), {perf_spec(1)}).run(1).verdict), -E2BIG);
}

TEST(PerfEvents, ASlowReaderIsCounted) {
  Bench bench(join({map_pointer(2, 0), wide(3, BPF_F_CURRENT_CPU | uint64_t{64} << 32), mov(4, 0), mov(5, 0),
                    call(BPF_FUNC_perf_event_output), leave()}),
              {perf_spec()});
  while (bench.run().verdict == 0) {
  }
  EXPECT_EQ(static_cast<int32_t>(bench.run().verdict), -ENOSPC);
  EXPECT_EQ(static_cast<PerfEventMap&>(bench.map(0)).lost(), 2U);
  EXPECT_GT(drain(bench.map(0)).size(), 1000U);
  EXPECT_EQ(bench.run().verdict, 0U);
}

TEST(RingBufThreads, ManyWritersOneReader) {
  const auto map = make(ring_spec(1 << 16), 3);
  constexpr uint64_t kEach = 4000;
  std::vector<std::thread> writers;
  for (uint64_t cpu = 0; cpu < 2; ++cpu)
    writers.emplace_back([&, cpu] {
      for (uint64_t i = 0; i < kEach;) {
        auto* record = static_cast<RingBufMap&>(*map).reserve(16);
        if (!record) {
          std::this_thread::yield();
          continue;
        }
        const std::array<uint64_t, 2> content{cpu, i++};
        std::memcpy(record, &content, sizeof(content));
        EventRing::commit(record, false);
      }
    });
  std::array<uint64_t, 2> expected{};
  while (expected[0] + expected[1] < 2 * kEach)
    for (const auto& record : drain(*map)) {
      std::array<uint64_t, 2> content{};
      ASSERT_EQ(record.data.size(), sizeof(content));
      std::memcpy(&content, record.data.data(), sizeof(content));
      ASSERT_EQ(content[1], expected.at(content[0])++);
    }
  for (auto& writer : writers) writer.join();
}

// --- spin locks, and text

MapSpec locked_spec(uint32_t type) {
  auto spec = spec_of(type, 4, 16, 2);
  spec.spin_lock = 4;
  return spec;
}

// Finds key 0 (or ends with 9), then `body` with the value in r6.
Code with_value(const Code& body) {
  return join({store_imm(BPF_W, 10, -4, 0), map_pointer(1, 0), movr(2, 10), alu(BPF_ADD, 2, -4),
               call(BPF_FUNC_map_lookup_elem), jump(BPF_JNE, 0, 0, 2), mov(0, 9), leave(), movr(6, 0), body});
}
const Code kLock{movr(1, 6), alu(BPF_ADD, 1, 4), call(BPF_FUNC_spin_lock)};
const Code kUnlock{movr(1, 6), alu(BPF_ADD, 1, 4), call(BPF_FUNC_spin_unlock)};

TEST(SpinLock, ControlNeitherSeesNorWritesIt) {
  for (const auto type : {BPF_MAP_TYPE_ARRAY, BPF_MAP_TYPE_HASH}) {
    const auto map = make(locked_spec(type));
    const std::array<uint32_t, 4> value{1, 0xffffffff, 3, 4};
    std::array<uint32_t, 4> back{};
    const uint32_t key = 0;
    EXPECT_EQ(map->copy_update(in(key), in(value), BPF_ANY), 0);
    EXPECT_EQ(map->copy_update(in(key), in(value), BPF_F_LOCK), 0);
    EXPECT_EQ(map->copy_update(in(key), in(value), BPF_F_LOCK | BPF_NOEXIST), -EEXIST);
    EXPECT_EQ(map->copy_lookup(in(key), out(back)), 0);
    EXPECT_EQ(back, (std::array<uint32_t, 4>{1, 0, 3, 4}));
    const BurstGrace::Burst burst;
    EXPECT_EQ(static_cast<uint32_t*>(map->lookup(&key, 0))[1], 0U);
    auto bad = locked_spec(type);
    bad.spin_lock = 14;
    EXPECT_EQ(refusal(bad), EINVAL);
  }
}

TEST(SpinLock, ExcludesOtherWorkers) {
  // Under the lock: two fields grow together, not atomically
  const auto grow = join({kLock, load(BPF_W, 1, 6, 8), alu(BPF_ADD, 1, 1), store(BPF_W, 6, 8, 1), load(BPF_W, 1, 6, 12),
                          alu(BPF_ADD, 1, 1), store(BPF_W, 6, 12, 1), kUnlock, mov(0, 2), leave()});
  Bench bench(with_value(grow), {locked_spec(BPF_MAP_TYPE_ARRAY)});
  ASSERT_TRUE(bench.program) << bench.error.text;
  std::vector<std::thread> workers;
  for (uint32_t cpu = 0; cpu < 2; ++cpu)
    workers.emplace_back([&, cpu] {
      for (int i = 0; i < 3000; ++i) bench.run(cpu);
    });
  for (auto& worker : workers) worker.join();
  std::array<uint32_t, 4> value{};
  EXPECT_EQ(bench.map(0).copy_lookup(in(uint32_t{0}), out(value)), 0);
  EXPECT_EQ(value[2], 6000U);
  EXPECT_EQ(value[3], 6000U);
}

TEST(SpinLock, BrokenRulesHarmNobody) {
  const auto fault = [](const Code& body) {
    Bench bench(with_value(join({body, mov(0, 2), leave()})), {locked_spec(BPF_MAP_TYPE_ARRAY)});
    const auto text = bench.run().fault;
    // Whatever it did, the lock is free
    EXPECT_EQ(bench.map(0).copy_update(in(uint32_t{0}), in(std::array<uint32_t, 4>{}), BPF_F_LOCK), 0);
    return text;
  };
  EXPECT_EQ(fault(join({kLock, kUnlock})), "");
  EXPECT_TRUE(fault(kLock).ends_with("spin lock in hand"));
  EXPECT_TRUE(fault(join({kLock, kLock}))
                  .ends_with("spin lock taken twice, held for ever, or given back without having been taken"));
  EXPECT_NE(fault(kUnlock), "");
  EXPECT_NE(fault(Code{mov(1, 0), call(BPF_FUNC_spin_lock)}), "");
  // A program that writes into its lock: others must not wait for ever
  Bench forged(with_value(join({store_imm(BPF_W, 6, 4, 1), kLock, mov(0, 2), leave()})),
               {locked_spec(BPF_MAP_TYPE_ARRAY)});
  EXPECT_NE(forged.run().fault, "");
  EXPECT_EQ(forged.map(0).copy_update(in(uint32_t{0}), in(std::array<uint32_t, 4>{}), BPF_F_LOCK), -EBUSY);
}

TEST(Strncmp, AsTheKernels) {
  const auto compare = [](const std::array<char, 8>& a, const std::array<char, 8>& b, int64_t length) {
    uint64_t left = 0;
    uint64_t right = 0;
    std::memcpy(&left, a.data(), 8);
    std::memcpy(&right, b.data(), 8);
    Bench bench(join({wide(1, left), store(BPF_DW, 10, -16, 1), wide(1, right), store(BPF_DW, 10, -8, 1), movr(1, 10),
                      alu(BPF_ADD, 1, -16), mov(2, length), movr(3, 10), alu(BPF_ADD, 3, -8), call(BPF_FUNC_strncmp),
                      leave()}));
    return static_cast<int32_t>(bench.run().verdict);
  };
  EXPECT_EQ(compare({"abc"}, {"abc"}, 8), 0);
  EXPECT_EQ(compare({"abc"}, {"abd"}, 8), -1);
  EXPECT_EQ(compare({"abc"}, {"abd"}, 2), 0);
  EXPECT_EQ(compare({"b"}, {"abd"}, 8), 1);
  EXPECT_EQ(compare({"abc"}, {"ab"}, 8), 1);
}

}  // namespace
}  // namespace xbond::bpf::test
