// The host's tables by themselves, and what programs get where there is nothing to ask. How their answers compare with
// the kernel's is in tests/conformance.
#include <gtest/gtest.h>
#include <linux/fib_rules.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "bpf_compat/helper/host_reader.hpp"
#include "bpf_compat/helper/netlink_dump.hpp"
#include "tests/unit/bpf/asm.hpp"

namespace xbond::bpf {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace): the instructions' names

HostAddress ip(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
  return {a, b, c, d};
}

HostTables::Flow flow(HostAddress destination) {
  return {.family = AF_INET, .source = {}, .destination = destination, .input = 1, .output = 0, .tos = 0, .mark = 0};
}

HostTables::Route route(uint8_t type, uint32_t interface, uint32_t priority = 0) {
  HostTables::Route out{.type = type, .priority = priority};
  out.hops.push_back({.kernel = interface});
  return out;
}

uint32_t out_of(const HostTables::Found& found) {
  return found.route && found.error == 0 ? found.route->hops.front().kernel : 0;
}

TEST(HostTables, LongestPrefixThenLowestMetric) {
  HostTables tables;
  tables.add(AF_INET, 254, {{}, 0}, route(RTN_UNICAST, 1));
  tables.add(AF_INET, 254, {ip(10, 1, 0, 0), 16}, route(RTN_UNICAST, 2));
  tables.add(AF_INET, 254, {ip(10, 1, 7, 0), 23}, route(RTN_UNICAST, 4, 9));
  tables.add(AF_INET, 254, {ip(10, 1, 6, 0), 23}, route(RTN_UNICAST, 3, 5));
  tables.finish();
  EXPECT_EQ(out_of(tables.in_table(flow(ip(192, 0, 2, 1)), 254)), 1U);
  EXPECT_EQ(out_of(tables.in_table(flow(ip(10, 1, 8, 1)), 254)), 2U);
  EXPECT_EQ(out_of(tables.in_table(flow(ip(10, 1, 7, 1)), 254)), 3U);
  EXPECT_EQ(tables.in_table(flow(ip(10, 1, 7, 1)), 7).error, ENETUNREACH);
}

TEST(HostTables, RulesInOrderOfTheirPriority) {
  HostTables tables;
  tables.add(AF_INET, 254, {{}, 0}, route(RTN_UNICAST, 1));
  tables.add(AF_INET, 100, {ip(10, 0, 0, 0), 8}, route(RTN_THROW, 0));
  tables.add(AF_INET, 100, {{}, 0}, route(RTN_UNICAST, 2));
  tables.add(AF_INET, {.priority = 32766, .action = FR_ACT_TO_TBL, .table = 254});
  tables.add(AF_INET, {.priority = 5, .action = FR_ACT_TO_TBL, .table = 100});
  tables.add(AF_INET, {.priority = 4, .action = FR_ACT_PROHIBIT, .destination = {ip(10, 9, 0, 0), 16}});
  tables.add(AF_INET, {.priority = 1, .action = FR_ACT_BLACKHOLE, .never = true});
  tables.finish();
  EXPECT_EQ(out_of(tables.by_rules(flow(ip(192, 0, 2, 1)))), 2U);
  EXPECT_EQ(out_of(tables.by_rules(flow(ip(10, 1, 1, 1)))), 1U) << "thrown back to the rules";
  EXPECT_EQ(tables.by_rules(flow(ip(10, 9, 1, 1))).error, EACCES);
}

TEST(HostTables, NumbersOfProgramsAndOfTheHost) {
  const std::array names = {HostName{.ifindex = 1, .name = "lo"},
                            HostName{.ifindex = 7, .name = "no-such-one", .mtu = 9000}};
  const auto tables = read_host_tables(names);
  ASSERT_TRUE(tables) << tables.error().text;
  ASSERT_TRUE((*tables)->by_ifindex(1));
  EXPECT_EQ((*tables)->by_ifindex(1)->kernel, 1U);
  ASSERT_TRUE((*tables)->by_ifindex(7));
  EXPECT_EQ((*tables)->by_ifindex(7)->kernel, 0U);
  EXPECT_EQ((*tables)->by_ifindex(7)->mtu, 9000U);
  EXPECT_FALSE((*tables)->by_ifindex(2));
}

TEST(HostTables, AttributesThatLieAboutTheirLength) {
  std::array<std::byte, 12> bytes{};
  size_t seen = 0;
  const auto count = [&](uint16_t, std::span<const std::byte>) { ++seen; };
  for (const uint16_t length : {0, 3, 4, 12, 13, 0xffff}) {
    std::memcpy(bytes.data(), &length, sizeof(length));
    for_each_attribute(bytes, count);
  }
  EXPECT_EQ(seen, 2U) << "of 4 bytes and of 12; behind the first nothing of a length";
}

// The whole way of a program: unknown interfaces, then a table that is published.
TEST(HostTables, CheckMtuAsksThePublishedTables) {
  auto tables = std::make_unique<HostTables>();
  tables->add(HostTables::Interface{.ifindex = 7, .mtu = 50});
  tables->finish();
  HostTables::publish(std::move(tables), BurstGrace::instance());
  const auto ask = [](int32_t ifindex) {
    return join({movr(6, 1), mov(2, 0), store(BPF_W, 10, -4, 2), mov(2, ifindex), movr(3, 10), alu(BPF_ADD, 3, -4),
                 mov(4, 0), mov(5, 0), call(BPF_FUNC_check_mtu), jump(BPF_JSLT, 0, 0, 2), load(BPF_W, 1, 10, -4),
                 alur(BPF_ADD, 0, 1), leave()});
  };
  Frame fits(64);
  EXPECT_EQ(Bench(ask(7)).run(fits).verdict, 50U);
  Frame longer(65);
  EXPECT_EQ(Bench(ask(7)).run(longer).verdict, 51U);
  EXPECT_EQ(Bench(ask(0)).run(fits).verdict, 50U) << "0 is the frame's own";
  EXPECT_EQ(Bench(ask(8)).run(fits).verdict, static_cast<uint32_t>(-ENODEV));
}

}  // namespace
}  // namespace xbond::bpf
