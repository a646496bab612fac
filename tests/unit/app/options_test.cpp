#include "app/xbond/options.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace xbond::app {
namespace {

using Words = std::vector<std::string>;

Options parsed(const Words& argv) {
  auto options = parse_options(argv);
  EXPECT_TRUE(options.ok()) << options.error().text;
  return options ? *options : Options{};
}

std::string error_of(const Words& argv) {
  const auto options = parse_options(argv);
  return options ? "accepted" : options.error().text;
}

TEST(Options, EveryOne) {
  const std::string commands = testing::TempDir() + "xbond-options-test.cmd";
  std::ofstream(commands) << "start\n";
  const Options o = parsed({"--port",
                            "net_null0,host=off",
                            "--port=1",
                            "--bond",
                            "bond0,member=net_ring0,member=net_ring1",
                            "--xdp",
                            "bond0=a.o:p",
                            "--xdp",
                            "1=b.o",
                            "--bpf-engine",
                            "interpreter",
                            "-i",
                            "-a",
                            "--check",
                            "--cmdline-file",
                            commands,
                            "--control-socket",
                            "/run/x.sock",
                            "--portmask",
                            "0xc",
                            "--rxq",
                            "2",
                            "--txq",
                            "3",
                            "--rxd",
                            "512",
                            "--txd",
                            "256",
                            "--burst",
                            "64",
                            "--nb-cores",
                            "4",
                            "--stats-period",
                            "5"});
  ASSERT_EQ(o.ports.size(), 2u);
  EXPECT_EQ(o.ports[0].device, "net_null0");
  EXPECT_FALSE(o.ports[0].host);
  EXPECT_EQ(o.ports[1].device, "1");
  ASSERT_EQ(o.bonds.size(), 1u);
  EXPECT_EQ(o.bonds[0].members, (Words{"net_ring0", "net_ring1"}));
  EXPECT_EQ(o.bonds[0].options.at(0).second, "balance-rr");
  ASSERT_EQ(o.xdp.size(), 2u);
  EXPECT_EQ(o.xdp[0].program, "p");
  EXPECT_EQ(o.xdp[1].target, "1");
  EXPECT_EQ(o.engine, bpf::EngineKind::interpreter);
  EXPECT_TRUE(o.interactive);
  EXPECT_TRUE(o.auto_start);
  EXPECT_TRUE(o.check);
  EXPECT_FALSE(o.help);
  EXPECT_FALSE(o.version);
  EXPECT_EQ(o.cmdline_file, commands);
  EXPECT_EQ(o.control_socket, "/run/x.sock");
  EXPECT_EQ(o.portmask, 0xcu);
  EXPECT_EQ(o.rxq, 2);
  EXPECT_EQ(o.txq, 3);
  EXPECT_EQ(o.rxd, 512);
  EXPECT_EQ(o.txd, 256);
  EXPECT_EQ(o.burst, 64);
  EXPECT_EQ(o.nb_cores, 4);
  EXPECT_EQ(o.stats_period, 5u);
  EXPECT_TRUE(o.eal.empty());
  std::filesystem::remove(commands);
}

TEST(Options, Defaults) {
  const Options o = parsed({"--port", "0"});
  EXPECT_EQ(o.engine, bpf::EngineKind::automatic);
  EXPECT_FALSE(o.interactive || o.auto_start || o.check || o.help || o.version);
  EXPECT_EQ(o.portmask, 0u);
  EXPECT_EQ(o.rxq, 0);
  EXPECT_EQ(o.txq, 0);
  EXPECT_EQ(o.rxd, 1024);
  EXPECT_EQ(o.txd, 1024);
  EXPECT_EQ(o.burst, 32);
  EXPECT_EQ(o.nb_cores, 1);
  EXPECT_EQ(o.stats_period, 0u);
}

TEST(Options, EalOptionsStandBeforeTheDashes) {
  const Options o = parsed({"-l", "0-1", "--vdev", "net_null0", "--", "--port", "net_null0"});
  EXPECT_EQ(o.eal, (Words{"-l", "0-1", "--vdev", "net_null0"}));
  EXPECT_TRUE(parsed({"--", "--port", "0"}).eal.empty());
  EXPECT_EQ(error_of({"-l", "0", "--port", "0"}),
            "unknown option -l; EAL options go before \"--\" (\"--help\" lists all)");
}

TEST(Options, HelpAndVersionNeedNoPort) {
  EXPECT_TRUE(parsed({"--help"}).help);
  EXPECT_TRUE(parsed({"-h"}).help);
  EXPECT_TRUE(parsed({"--version"}).version);
  EXPECT_EQ(error_of({}), "no port: give --port, --bond or --portmask (\"--help\" shows examples)");
  EXPECT_EQ(error_of({"-l", "0", "--"}), "no port: give --port, --bond or --portmask (\"--help\" shows examples)");
}

TEST(Options, NumbersHaveRanges) {
  struct Range {
    const char* name;
    unsigned low, high;
  };
  for (const Range& range :
       {Range{"burst", 1, 128}, Range{"nb-cores", 1, 128}, Range{"rxq", 1, 1024}, Range{"txq", 1, 1024},
        Range{"rxd", 1, 32768}, Range{"txd", 1, 32768}, Range{"stats-period", 0, 86400}}) {
    const std::string name = std::string("--") + range.name;
    EXPECT_EQ(error_of({"--port=0", name, std::to_string(range.low)}), "accepted") << name;
    EXPECT_EQ(error_of({"--port=0", name, std::to_string(range.high)}), "accepted") << name;
    const std::string above = std::to_string(range.high + 1);
    EXPECT_EQ(error_of({"--port=0", name, above}), name + ": \"" + above + "\" is not a number from " +
                                                       std::to_string(range.low) + " to " + std::to_string(range.high));
    EXPECT_NE(error_of({"--port=0", name + "=-1"}), "accepted") << name;
    EXPECT_NE(error_of({"--port=0", name, "x"}), "accepted") << name;
    EXPECT_EQ(error_of({"--port=0", name, "0"}) == "accepted", range.low == 0) << name;
  }
}

TEST(Options, APortIsUsedOnce) {
  EXPECT_EQ(error_of({"--port", "p", "--port", "p,host=off"}), "port p is given twice by --port");
  EXPECT_EQ(error_of({"--port", "3b:00.0", "--port", "0000:3B:00.0"}), "port 0000:3b:00.0 is given twice by --port");
  EXPECT_EQ(error_of({"--port", "1", "--portmask", "3"}), "port 1 is given by --port and by --portmask");
  EXPECT_EQ(error_of({"--port", "p", "--bond", "b,member=p"}),
            "port p is in b and given by --port: a bond's member is no port by itself");
  EXPECT_EQ(error_of({"--bond", "b,member=0", "--portmask", "1"}),
            "port 0 is in b and given by --portmask: a bond's member is no port by itself");
  EXPECT_EQ(error_of({"--bond", "bond0,member=net_ring0", "--bond", "bond1,member=net_ring0"}),
            "port net_ring0 is in bond0 and in bond1: a port can be in one bond only");
  EXPECT_EQ(error_of({"--bond", "b,member=p,member=p"}), "port p is in b twice");
  EXPECT_EQ(error_of({"--bond", "b,member=1,member=01"}), "port 1 is in b twice");
}

TEST(Options, BondNames) {
  EXPECT_EQ(error_of({"--bond", "b,member=p", "--bond", "b,member=q"}), "bond b is given twice");
  EXPECT_EQ(error_of({"--port", "b", "--bond", "b,member=q"}),
            "b is a port by --port and a bond by --bond: give the bond another name");
  EXPECT_EQ(error_of({"--bond", "b,member=b"}), "bond b is within itself");
  EXPECT_EQ(error_of({"--bond", "a,member=b", "--bond", "b,member=c", "--bond", "c,member=a"}),
            "bond a is within itself");
  EXPECT_EQ(error_of({"--bond", "a,member=b", "--bond", "b,member=p"}), "accepted");
}

TEST(Options, XdpTargets) {
  EXPECT_EQ(error_of({"--bond", "b,member=p", "--port", "q", "--xdp", "x=a.o"}),
            "--xdp: \"x\" is no port or bond given here; there are: b, p, q");
  EXPECT_EQ(error_of({"--xdp", "q=a.o", "--port", "q"}), "accepted");
  EXPECT_EQ(error_of({"--bond", "b,member=p", "--xdp", "p=a.o"}), "accepted");
  EXPECT_EQ(error_of({"--portmask", "2", "--xdp", "1=a.o"}), "accepted");
  EXPECT_EQ(error_of({"--port", "q", "--xdp", "q=a.o", "--xdp", "q=b.o"}), "--xdp: q is given two programs");
}

TEST(Options, SingleValuedTwice) {
  EXPECT_EQ(error_of({"--port=0", "--burst", "1", "--burst", "1"}), "--burst is given twice");
  EXPECT_EQ(error_of({"--port=0", "-i", "--interactive"}), "--interactive is given twice");
}

TEST(Options, FilesAndNames) {
  EXPECT_EQ(error_of({"--port=0", "--cmdline-file", "/nowhere/at/all"}),
            "--cmdline-file /nowhere/at/all: No such file or directory");
  EXPECT_EQ(error_of({"--port=0", "--cmdline-file", "/"}), "--cmdline-file /: is a directory");
  const std::string path(108, 's');
  EXPECT_EQ(error_of({"--port=0", "--control-socket", path}),
            "--control-socket " + path + ": a socket's path has at most 107 bytes");
  EXPECT_EQ(error_of({"--port=0", "--bpf-engine", "turbo"}).find("--bpf-engine: "), 0u);
  EXPECT_EQ(error_of({"--portmask", "xyz"}), "--portmask: \"xyz\" is not a hexadecimal mask of 64 bits with a bit set");
}

class Config : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  Words with(const std::string& text, Words argv = {}) {
    std::ofstream(path_) << text;
    argv.insert(argv.end(), {"--config", path_});
    return argv;
  }
  std::string path_ = testing::TempDir() + "xbond-options-test.conf";
};

TEST_F(Config, AddsUpAndGivesWay) {
  const Options o = parsed(with("port = p\nburst = 64\nrxq 2\ncheck\n", {"--port", "q", "--burst", "16"}));
  ASSERT_EQ(o.ports.size(), 2u);
  EXPECT_EQ(o.ports[0].device, "p");
  EXPECT_EQ(o.ports[1].device, "q");
  EXPECT_EQ(o.burst, 16);
  EXPECT_EQ(o.rxq, 2);
  EXPECT_TRUE(o.check);
}

TEST_F(Config, ErrorsNameFileAndLine) {
  EXPECT_EQ(error_of(with("port p\n\nport p\n")), path_ + ":3: port p is given twice by --port");
  EXPECT_EQ(error_of(with("# x\nburst 0\nport p")), path_ + ":2: --burst: \"0\" is not a number from 1 to 128");
  EXPECT_EQ(error_of(with("burst 1\nburst 2\n")), path_ + ":2: --burst is given twice");
  EXPECT_EQ(error_of(with("port p\nxdp q=a.o\n")),
            path_ + ":2: --xdp: \"q\" is no port or bond given here; there are: p");
  EXPECT_EQ(error_of(with("port p\n", {"--port", "p"})), "port p is given twice by --port");
  EXPECT_EQ(error_of({"--config", "/nowhere/at/all"}), "--config /nowhere/at/all: No such file or directory");
}

TEST_F(Config, AValueThatGivesWayIsNotChecked) {
  EXPECT_EQ(parsed(with("burst 999\nport p", {"--burst", "16"})).burst, 16);
}

TEST(Help, NamesEveryOptionInItsGroup) {
  const std::string text = help_text();
  size_t at = 0;
  for (const char* part : {"Usage: xbond [EAL options] -- [options]",
                           "Ports and bonds:",
                           "--port PORT[,KEY=VALUE]...",
                           "host=on|off",
                           "--bond NAME[,OPTION=VALUE]...",
                           "--portmask HEX",
                           "XDP:",
                           "--xdp TARGET=OBJ[:PROGRAM]",
                           "--bpf-engine ENGINE (=auto)",
                           "Running:",
                           "-i [ --interactive ]",
                           "--cmdline-file FILE",
                           "-a [ --auto-start ]",
                           "--control-socket PATH",
                           "--stats-period SECONDS (=0)",
                           "--config FILE",
                           "--check",
                           "Queues and cores (testpmd's names):",
                           "--rxq N",
                           "--txq N",
                           "--rxd N (=1024)",
                           "--txd N (=1024)",
                           "--burst N (=32)",
                           "--nb-cores N (=1)",
                           "Other:",
                           "-h [ --help ]",
                           "--version",
                           "Examples:"}) {
    const size_t found = text.find(part, at);
    ASSERT_NE(found, std::string::npos) << part << " is missing or in another place of\n" << text;
    at = found;
  }
  for (size_t start = 0; start < text.size();) {
    const size_t end = text.find('\n', start);
    EXPECT_LE(end - start, 120u) << text.substr(start, end - start);
    start = end + 1;
  }
}

// The defaults that the text shows are those that are used.
TEST(Help, ShowsTheDefaults) {
  const Options o;
  const std::string text = help_text();
  EXPECT_NE(text.find("--rxd N (=" + std::to_string(o.rxd) + ")"), std::string::npos);
  EXPECT_NE(text.find("--txd N (=" + std::to_string(o.txd) + ")"), std::string::npos);
  EXPECT_NE(text.find("--burst N (=" + std::to_string(o.burst) + ")"), std::string::npos);
  EXPECT_NE(text.find("--nb-cores N (=" + std::to_string(o.nb_cores) + ")"), std::string::npos);
}

}  // namespace
}  // namespace xbond::app
