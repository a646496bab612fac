// EAL's defaults, over invented machines.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "lib/port/eal.hpp"
#include "tests/unit/port/fixture.hpp"

namespace xbond::port {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using Words = std::vector<std::string>;

constexpr uint64_t kGigabyte = 1ull << 30;
const Machine kPlain{.free_hugepage_bytes = 0, .cpus = {0, 1}};
const Machine kHuge{.free_hugepage_bytes = kGigabyte, .cpus = {0, 1}};

bool has_pair(const Words& words, const std::string& first, const std::string& second) {
  for (size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == first && words[i + 1] == second) return true;
  return false;
}

TEST(EalArguments, PlainMachine) {
  EXPECT_THAT(eal_arguments({}, {}, kPlain),
              ElementsAre("--no-huge", "--no-shconf", "-m", "512", "--iova-mode=va", "--no-pci", "-l", "0,1",
                          "--file-prefix=xbond", "--log-level=error"));
}

TEST(EalArguments, HugepagesGoWithInMemoryAndNeverWithNoHuge) {
  EXPECT_THAT(eal_arguments({}, {}, kHuge), ElementsAre("--in-memory", "--iova-mode=va", "--no-pci", "-l", "0,1",
                                                        "--file-prefix=xbond", "--log-level=error"));
}

TEST(EalArguments, TooFewHugepagesAreLeftAlone) {
  const Machine few{.free_hugepage_bytes = 4ull << 20, .cpus = {0}};
  EXPECT_THAT(eal_arguments({}, {}, few), Contains("--no-huge"));
  // More is asked for than is free
  EXPECT_THAT(eal_arguments({"-m", "2048"}, {}, kHuge), Contains("--no-huge"));
  EXPECT_THAT(eal_arguments({"-m2048"}, {}, kHuge), Contains("--no-huge"));
  EXPECT_THAT(eal_arguments({"-m", "1024"}, {}, kHuge), Contains("--in-memory"));
  EXPECT_THAT(eal_arguments({"-m", "99999999999999999999"}, {}, kHuge), Contains("--in-memory"));  // EAL refuses it
}

TEST(EalArguments, GivenMemoryIsNotContradicted) {
  for (const char* chosen :
       {"--in-memory", "--socket-mem=64", "--huge-dir=/dev/hugepages", "--legacy-mem", "--single-file-segments",
        "--match-allocations", "--huge-unlink=never", "--socket-limit=100", "--proc-type=secondary"}) {
    for (const Machine& machine : {kPlain, kHuge}) {
      const Words words = eal_arguments({chosen}, {}, machine);
      EXPECT_THAT(words, Not(Contains("--no-huge"))) << chosen;
      EXPECT_THAT(words, Not(Contains("-m"))) << chosen;
      EXPECT_EQ(std::count(words.begin(), words.end(), "--in-memory"), std::string(chosen) == "--in-memory") << chosen;
    }
  }
}

TEST(EalArguments, NoHugeGivenOnAMachineWithHugepages) {
  const Words words = eal_arguments({"--no-huge"}, {}, kHuge);
  EXPECT_THAT(words, Not(Contains("--in-memory")));
  EXPECT_THAT(words, Contains("--no-shconf"));
  EXPECT_TRUE(has_pair(words, "-m", "512"));
  EXPECT_EQ(std::count(words.begin(), words.end(), "--no-huge"), 1);
}

TEST(EalArguments, GivenSizeStays) {
  const Words words = eal_arguments({"-m", "64"}, {}, kPlain);
  EXPECT_TRUE(has_pair(words, "-m", "64"));
  EXPECT_EQ(std::count(words.begin(), words.end(), "-m"), 1);
  EXPECT_THAT(eal_arguments({"-m64"}, {}, kPlain), Not(Contains("-m")));
}

TEST(EalArguments, PciDevicesAreAllowedByAddress) {
  const Words words = eal_arguments({}, {"net_null0", "3b:00.0", "0000:3b:00.1", "0000:3b:00.0", "0"}, kPlain);
  EXPECT_THAT(words, Not(Contains("--no-pci")));
  EXPECT_TRUE(has_pair(words, "-a", "0000:3b:00.0"));  // completed, and once
  EXPECT_TRUE(has_pair(words, "-a", "0000:3b:00.1"));
  EXPECT_EQ(std::count(words.begin(), words.end(), "-a"), 2);
}

TEST(EalArguments, GivenPciListsAreRespected) {
  // Named already, with driver arguments and without its domain
  Words words = eal_arguments({"-a", "3b:00.0,safe-mode-support=1"}, {"0000:3b:00.0", "0000:3b:00.1"}, kPlain);
  EXPECT_FALSE(has_pair(words, "-a", "0000:3b:00.0"));
  EXPECT_TRUE(has_pair(words, "-a", "0000:3b:00.1"));
  // An allow-list alone asks for PCI
  EXPECT_THAT(eal_arguments({"-a0000:3b:00.0"}, {}, kPlain), Not(Contains("--no-pci")));
  EXPECT_THAT(eal_arguments({"--allow=0000:3b:00.0"}, {"3b:00.0"}, kPlain), Not(Contains("-a")));
  // A block-list excludes allow-lists
  for (const Words& given : {Words{"-b", "0000:01:00.0"}, Words{"--block=0000:01:00.0"}}) {
    words = eal_arguments(given, {"0000:3b:00.0"}, kPlain);
    EXPECT_THAT(words, Not(Contains("-a")));
    EXPECT_THAT(words, Not(Contains("--no-pci")));
  }
  words = eal_arguments({"--no-pci"}, {"0000:3b:00.0"}, kPlain);
  EXPECT_THAT(words, Not(Contains("-a")));
  EXPECT_EQ(std::count(words.begin(), words.end(), "--no-pci"), 1);
}

TEST(EalArguments, GivenCoresPrefixLogsAndIovaAreRespected) {
  for (const Words& given : {Words{"-l", "1"}, Words{"-l1"}, Words{"-c", "3"}, Words{"--lcores=0@1"},
                             Words{"--lcores", "0@1"}, Words{"-S", "1"}, Words{"-s2"}, Words{"--lco=0"}}) {
    const Words words = eal_arguments(given, {}, kPlain);
    EXPECT_FALSE(has_pair(words, "-l", "0,1")) << given[0];
    EXPECT_THAT(words, Contains("--no-pci")) << given[0];
  }
  const Words words =
      eal_arguments({"--file-prefix", "mine", "--log-level=lib.eal:debug", "--iova-mode", "pa"}, {}, kPlain);
  EXPECT_THAT(words, Not(Contains("--file-prefix=xbond")));
  EXPECT_THAT(words, Not(Contains("--log-level=error")));
  EXPECT_THAT(words, Not(Contains("--iova-mode=va")));
}

TEST(EalArguments, ValuesAreNotOptions) {
  // What follows an option that takes a value is that value, whatever it looks like.
  EXPECT_THAT(eal_arguments({"--file-prefix", "--no-huge"}, {}, kHuge), Contains("--in-memory"));
  EXPECT_THAT(eal_arguments({"--vdev", "-l"}, {}, kPlain), Contains("-l").Times(2));
  EXPECT_TRUE(has_pair(eal_arguments({"-d", "-m"}, {}, kPlain), "-m", "512"));
}

TEST(EalArguments, AbbreviationsCountAsGetoptTakesThem) {
  EXPECT_THAT(eal_arguments({"--in-mem"}, {}, kPlain), Not(Contains("--no-huge")));
  EXPECT_THAT(eal_arguments({"--log", "debug"}, {}, kPlain), Not(Contains("--log-level=error")));
  EXPECT_THAT(eal_arguments({"--log=debug"}, {}, kPlain), Not(Contains("--log-level=error")));
}

TEST(EalArguments, OddWordsDoNoHarm) {
  const Words odd = {"", "-", "--", "--=", "-l"};
  const Words words = eal_arguments(odd, {"", ":", ":3b:00.0", "zz"}, kPlain);
  EXPECT_TRUE(std::equal(odd.begin(), odd.end(), words.begin()));
  EXPECT_THAT(words, Contains("--no-pci"));
}

TEST(EalArguments, ManyCpus) {
  Machine big{.free_hugepage_bytes = 0, .cpus = {}};
  for (unsigned cpu = 100; cpu < 300; ++cpu) big.cpus.push_back(cpu);
  const Words words = eal_arguments({}, {}, big);
  const auto at = std::find(words.begin(), words.end(), "--lcores");
  ASSERT_NE(at, words.end());
  EXPECT_TRUE((at + 1)->starts_with("0@100,1@101,"));
  EXPECT_TRUE((at + 1)->ends_with(",127@227"));  // EAL holds 128
  EXPECT_THAT(eal_arguments({}, {}, Machine{}), Not(Contains("-l")));
}

TEST(Machine, ReadsThisOne) {
  const Machine machine = read_machine();
  EXPECT_FALSE(machine.cpus.empty());
  EXPECT_TRUE(std::is_sorted(machine.cpus.begin(), machine.cpus.end()));
}

TEST(Eal, StartsQuietlyForAnOrdinaryUser) {
  const test::OrdinaryUser& seen = test::ordinary_user();
  ASSERT_TRUE(seen.tried);
  EXPECT_EQ(seen.status, 0) << seen.output;
  EXPECT_EQ(seen.output, "");
}

TEST(Eal, StartsOnce) {
  auto again = Eal::init("again", {"--no-huge"});
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().code, EALREADY);
}

}  // namespace
}  // namespace xbond::port
