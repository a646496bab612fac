#include "lib/control/explain.hpp"

#include <gtest/gtest.h>

#include "tests/unit/control/sample_table.hpp"

namespace xbond::control {
namespace {

std::string why(const std::string& line) {
  static const CommandTable table = sample_table();
  std::string out;
  const Status ran = table.run(line, out);
  return ran ? "accepted" : ran.error().text;
}

TEST(Explain, UnknownCommand) {
  EXPECT_EQ(why("shwo bond"), "unknown command \"shwo bond\"; did you mean \"show bond\"? (\"help\" lists all)");
  EXPECT_EQ(why("shwo bond bond0 json"),
            "unknown command \"shwo bond\"; did you mean \"show bond\"? (\"help\" lists all)");
  EXPECT_EQ(why("shwo"), "unknown command \"shwo\"; did you mean \"show\"? (\"help\" lists all)");
  EXPECT_EQ(why("stat"), "unknown command \"stat\"; did you mean \"start\"? (\"help\" lists all)");
  EXPECT_EQ(why("frobnicate it"), "unknown command \"frobnicate\" (\"help\" lists all)");
  EXPECT_EQ(why("SHOW bond"), "unknown command \"SHOW\" (\"help\" lists all)");
}

TEST(Explain, AbbreviationsAreNotAcceptedButUnderstood) {
  EXPECT_EQ(why("sh po in"), "unknown command \"sh po in\"; did you mean \"show port info\"? (\"help\" lists all)");
}

TEST(Explain, UnknownSecondWord) {
  EXPECT_EQ(why("show bnod"), "unknown command \"show bnod\"; did you mean \"show bond\"? (\"help\" lists all)");
  EXPECT_EQ(why("show everything"),
            "unknown command \"show everything\"; \"show\" is followed by one of: port, bond, stats");
}

TEST(Explain, MissingWord) {
  EXPECT_EQ(why("show"), "show: missing word after \"show\", one of: port, bond, stats");
  EXPECT_EQ(why("show port"),
            "show port: missing word after \"port\", one of: info, stats, xstats, summary; syntax: show port "
            "info|stats|xstats|summary [PORT] [json]");
  EXPECT_EQ(why("xdp attach bond0"),
            "xdp attach bond0: missing OBJ after \"bond0\"; syntax: xdp attach TARGET OBJ [PROGRAM] [force]");
  EXPECT_EQ(why("set bond bond0 mode"),
            "set bond bond0 mode: missing VALUE after \"mode\"; syntax: set bond NAME OPTION VALUE");
  EXPECT_EQ(why("set bond bond0"),
            "set bond bond0: missing OPTION after \"bond0\"; syntax: set bond NAME up|down or: set bond NAME OPTION "
            "VALUE");
}

TEST(Explain, UnexpectedAndSurplusWords) {
  EXPECT_EQ(why("show port inof"),
            "unexpected word \"inof\" after \"port\"; did you mean \"info\"?; syntax: show port "
            "info|stats|xstats|summary [PORT] [json]");
  EXPECT_EQ(why("start now"), "surplus word \"now\" after \"start\"; syntax: start");
  EXPECT_EQ(why("show bond bond0 jsno"),
            "unexpected word \"jsno\" after \"bond0\"; did you mean \"json\"?; syntax: show bond [NAME] [json]");
  EXPECT_EQ(why("show bond bond0 json more"), "surplus word \"more\" after \"json\"; syntax: show bond [NAME] [json]");
}

TEST(Explain, LongWordsAreCut) {
  const std::string text = why("start " + std::string(100000, 'x'));
  EXPECT_EQ(text, "surplus word \"" + std::string(60, 'x') + "...\" after \"start\"; syntax: start");
  EXPECT_LT(why(std::string(400000, 'x')).size(), 200u);
}

TEST(Explain, TokenizersErrorsPassThrough) {
  EXPECT_EQ(why("show \"bond"), "missing closing \" for the one at column 6");
}

}  // namespace
}  // namespace xbond::control
