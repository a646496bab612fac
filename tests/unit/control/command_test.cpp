#include "lib/control/command.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "tests/unit/control/sample_table.hpp"

namespace xbond::control {
namespace {

using Words = std::vector<std::string>;

std::string run(const std::string& line) {
  static const CommandTable table = sample_table();
  std::string out;
  const Status ran = table.run(line, out);
  return ran ? out : "ERROR " + ran.error().text;
}

TEST(Command, RunsTheBestReading) {
  EXPECT_EQ(run(""), "");
  EXPECT_EQ(run("  # nothing"), "");
  EXPECT_EQ(run("start"), "start=start, \n");
  EXPECT_EQ(run("show port xstats net_ring0 # why"), "PORT=net_ring0, info=xstats, port=port, show=show, \n");
  EXPECT_EQ(run("set bond bond0 up"), "NAME=bond0, bond=bond, set=set, up=up, \n");
  EXPECT_EQ(run("set bond bond0 miimon 100"), "NAME=bond0, OPTION=miimon, VALUE=100, bond=bond, set=set, \n");
  EXPECT_EQ(run("xdp attach b o.o force"), "OBJ=o.o, TARGET=b, attach=attach, force=force, xdp=xdp, \n");
  EXPECT_EQ(run("xdp attach b 'my o.o' prog force"),
            "OBJ=my o.o, PROGRAM=prog, TARGET=b, attach=attach, force=force, xdp=xdp, \n");
}

TEST(Command, FailureShowsNothingButTheError) {
  std::string out = "before\n";
  const CommandTable table = sample_table();
  const Status ran = table.run("break", out);
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().text, "it broke");
  EXPECT_EQ(ran.error().code, EIO);
  EXPECT_EQ(out, "before\n");
}

TEST(Command, ArgsAreEmptyWhereAbsent) {
  Args args;
  args.bound["WORD"] = {"a", "b"};
  EXPECT_TRUE(args.has("WORD"));
  EXPECT_FALSE(args.has("json"));
  EXPECT_EQ(args.get("WORD"), "a");
  EXPECT_EQ(args.get("json"), "");
  EXPECT_EQ(args.rest("WORD").size(), 2u);
  EXPECT_TRUE(args.rest("json").empty());
}

TEST(Command, HelpListsAllInGroups) {
  EXPECT_EQ(run("help"),
            "help [WORD...]                                     list the commands, or those that begin so\n"
            "\n"
            "show port info|stats|xstats|summary [PORT] [json]  what a port is and did\n"
            "show bond [NAME] [json]                            a bond and its members\n"
            "show stats [json]                                  counters\n"
            "\n"
            "set bond NAME up|down                              switch a bond on or off\n"
            "set bond NAME OPTION VALUE                         set a bonding option\n"
            "\n"
            "xdp attach TARGET OBJ [PROGRAM] [force]            attach a program\n"
            "bond hash NAME FRAME|@FILE [json]                  the member that a frame takes\n"
            "start                                              start forwarding\n"
            "stop                                               stop forwarding\n"
            "break                                              fail\n");
}

TEST(Command, HelpOfABeginning) {
  EXPECT_EQ(run("help set"),
            "set bond NAME up|down       switch a bond on or off\n"
            "set bond NAME OPTION VALUE  set a bonding option\n");
  EXPECT_EQ(run("help show port stats"), "show port info|stats|xstats|summary [PORT] [json]  what a port is and did\n");
  EXPECT_EQ(run("help shwo"), "ERROR no command begins with \"shwo\" (\"help\" lists all)");
  EXPECT_EQ(sample_table().help("\"open"), "");
}

TEST(CommandDeathTest, MalformedSyntaxEndsTheProcess) {
  CommandTable table;
  const Handler nothing = [](const Args&, std::string&) -> Status { return {}; };
  EXPECT_DEATH(table.add({"show [bond", "", nothing}), "\\[ without \\]");
  EXPECT_DEATH(table.add({"show bond", "", {}}), "no handler");
}

Words complete(const std::string& line) {
  static const CommandTable table = sample_table();
  return table.complete(line);
}

TEST(Complete, WordsByPosition) {
  EXPECT_EQ(complete(""), (Words{"bond", "break", "help", "set", "show", "start", "stop", "xdp"}));
  EXPECT_EQ(complete("s"), (Words{"set", "show", "start", "stop"}));
  EXPECT_EQ(complete("show"), Words{"show"});
  EXPECT_EQ(complete("show "), (Words{"bond", "port", "stats"}));
  EXPECT_EQ(complete("show port s"), (Words{"stats", "summary"}));
  EXPECT_EQ(complete("show port info "), (Words{"json", "net_pcap0", "net_ring0", "net_ring1"}));
  EXPECT_EQ(complete("show port info net_r"), (Words{"net_ring0", "net_ring1"}));
  EXPECT_EQ(complete("show port info net_ring0 "), Words{"json"});
  EXPECT_EQ(complete("show port info net_ring0 json "), Words{});
  EXPECT_EQ(complete("set bond bond0 "), (Words{"down", "miimon", "mode", "primary", "up"}));
  EXPECT_EQ(complete("show \"po"), Words{"port"});
  EXPECT_EQ(complete("nonsense "), Words{});
  EXPECT_EQ(complete("show # "), Words{});
  EXPECT_EQ(complete("show \001"), Words{});
}

TEST(Complete, PlaceholdersKnowTheWordsBefore) {
  EXPECT_EQ(complete("set bond bond1 mode "), (Words{"balance-rr", "balance-xor"}));
  EXPECT_EQ(complete("set bond bond1 primary "), Words{"bond1-value"});
}

TEST(Complete, HelpCompletesCommands) {
  EXPECT_EQ(complete("help sho"), Words{"show"});
  EXPECT_EQ(complete("help show "), (Words{"bond", "port", "stats"}));
}

class CompletePath : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "xbond-complete-XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    for (const char* file : {"a.o", "ab c.o", "b.o", ".hidden"}) std::ofstream(directory_ / file) << "x";
    std::filesystem::create_directory(directory_ / "adir");
  }
  void TearDown() override { std::filesystem::remove_all(directory_); }
  std::filesystem::path directory_;
};

TEST_F(CompletePath, FilesAndDirectories) {
  const std::string base = directory_.string() + "/";
  EXPECT_EQ(complete("xdp attach bond0 " + base), (Words{base + "a.o", base + "ab c.o", base + "adir/", base + "b.o"}));
  EXPECT_EQ(complete("xdp attach bond0 " + base + "a"), (Words{base + "a.o", base + "ab c.o", base + "adir/"}));
  EXPECT_EQ(complete("xdp attach bond0 " + base + "ab\\ "), Words{base + "ab c.o"});
  EXPECT_EQ(complete("xdp attach bond0 " + base + "."), Words{base + ".hidden"});
  EXPECT_EQ(complete("xdp attach bond0 " + base + "none/"), Words{});
  EXPECT_EQ(complete("bond hash bond0 @" + base + "b"), Words{"@" + base + "b.o"});
  EXPECT_EQ(complete("bond hash bond0 " + base + "b"), Words{});
}

// Random lines of known and unknown words: an answer or one clean line, and completions that fit.
TEST(Command, AnyLineGetsAnAnswer) {
  const CommandTable table = sample_table();
  const Words words{"show", "bond",   "port",  "info", "json", "set", "up",  "help",
                    "xdp",  "attach", "bond0", "\"",   "\\",   "#",   "a b", "\x80"};
  std::mt19937 random(3);
  for (int round = 0; round < 1000; ++round) {
    std::string line;
    for (size_t i = random() % 7; i > 0; --i) line += words[random() % words.size()] + (random() % 5 == 0 ? "" : " ");
    std::string out;
    const Status ran = table.run(line, out);
    if (!ran) {
      EXPECT_TRUE(out.empty());
      EXPECT_FALSE(ran.error().text.empty());
      EXPECT_EQ(ran.error().text.find('\n'), std::string::npos) << ran.error().text;
      EXPECT_LT(ran.error().text.size(), 600u);
    }
    for (const std::string& word : table.complete(line)) EXPECT_FALSE(word.empty());
  }
}

}  // namespace
}  // namespace xbond::control
