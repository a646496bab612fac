#include "lib/control/nearest.hpp"

#include <gtest/gtest.h>

namespace xbond::control {
namespace {

using Words = std::vector<std::string>;
const Words kWords{"show bond", "show port info", "start", "stop", "quit"};

TEST(Nearest, FindsSlipsAndAbbreviations) {
  EXPECT_EQ(nearest("shwo bond", kWords), Words{"show bond"});
  EXPECT_EQ(nearest("quti", kWords), Words{"quit"});
  EXPECT_EQ(nearest("stat", kWords), Words{"start"});
  EXPECT_EQ(nearest("stp", kWords), Words{"stop"});
  EXPECT_EQ(nearest("sh po in", kWords), Words{"show port info"});
  EXPECT_EQ(nearest("showw bnd", kWords), Words{"show bond"});
}

TEST(Nearest, IsSilentWhereNothingIsClose) {
  EXPECT_EQ(nearest("frobnicate", kWords), Words{});
  EXPECT_EQ(nearest("", kWords), Words{});
  EXPECT_EQ(nearest("x", Words{"y", "ab"}), Words{});
  EXPECT_EQ(nearest(std::string(1000, 's'), kWords), Words{});
  EXPECT_EQ(nearest("a", Words{std::string(1000, 'a')}), Words{});
}

TEST(Nearest, OffersTheClosestOnesOnceAndAtMostThree) {
  EXPECT_EQ(nearest("bat", Words{"cat", "bat1", "cat", "hat", "rat", "mat"}), (Words{"cat", "bat1", "hat"}));
  EXPECT_EQ(nearest("abcdef", Words{"abcdeXY", "abcdeX"}), Words{"abcdeX"});
}

TEST(Nearest, Wording) {
  EXPECT_EQ(did_you_mean({}), "");
  EXPECT_EQ(did_you_mean(Words{"a"}), "; did you mean \"a\"?");
  EXPECT_EQ(did_you_mean(Words{"a", "b", "c"}), "; did you mean \"a\", \"b\" or \"c\"?");
}

}  // namespace
}  // namespace xbond::control
