#include "lib/control/syntax.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>

#include "lib/control/tokenize.hpp"

namespace xbond::control {
namespace {

using Words = std::vector<std::string>;

// What the line is bound to; nothing where the syntax does not take it.
std::optional<Bound> bind(const char* syntax, const std::string& line) {
  const auto parsed = Syntax::parse(syntax);
  EXPECT_TRUE(parsed.ok()) << syntax;
  const Words words = *tokenize(line);
  Walk walk(*parsed);
  for (const std::string& word : words) {
    if (!walk.step(word)) return std::nullopt;
  }
  if (!walk.complete()) return std::nullopt;
  return walk.bound(words);
}

struct Case {
  const char* syntax;
  const char* line;
  std::optional<Bound> bound;
};

TEST(Syntax, BindsWords) {
  const char* port = "show port info|stats|xstats [PORT] [json]";
  const char* create = "create NAME mode MODE [OPTION VALUE]... [json]";
  const char* update = "update MAP key KEY... value VALUE... [any|exist]";
  const std::vector<Case> cases{
      {"quit", "quit", Bound{{"quit", {"quit"}}}},
      {"quit", "qui", std::nullopt},
      {"quit", "quit now", std::nullopt},
      {"quit", "QUIT", std::nullopt},
      {port, "show port", std::nullopt},
      {port, "show port stats", Bound{{"show", {"show"}}, {"port", {"port"}}, {"info", {"stats"}}}},
      {port, "show port info p0", Bound{{"show", {"show"}}, {"port", {"port"}}, {"info", {"info"}}, {"PORT", {"p0"}}}},
      // A literal wins over a placeholder that could take the word.
      {port, "show port info json",
       Bound{{"show", {"show"}}, {"port", {"port"}}, {"info", {"info"}}, {"json", {"json"}}}},
      {port, "show port info json json",
       Bound{{"show", {"show"}}, {"port", {"port"}}, {"info", {"info"}}, {"PORT", {"json"}}, {"json", {"json"}}}},
      {port, "show port info a b", std::nullopt},
      {create, "create b mode 1", Bound{{"create", {"create"}}, {"NAME", {"b"}}, {"mode", {"mode"}}, {"MODE", {"1"}}}},
      {create, "create b mode 1 x 1 y 2 json",
       Bound{{"create", {"create"}},
             {"NAME", {"b"}},
             {"mode", {"mode"}},
             {"MODE", {"1"}},
             {"OPTION", {"x", "y"}},
             {"VALUE", {"1", "2"}},
             {"json", {"json"}}}},
      {create, "create b mode 1 x 1 y", std::nullopt},
      {update, "update m key 1 2 value 3 4 5",
       Bound{{"update", {"update"}},
             {"MAP", {"m"}},
             {"key", {"key"}},
             {"KEY", {"1", "2"}},
             {"value", {"value"}},
             {"VALUE", {"3", "4", "5"}}}},
      {update, "update m key value value 3 exist",
       Bound{{"update", {"update"}},
             {"MAP", {"m"}},
             {"key", {"key"}},
             {"KEY", {"value"}},
             {"value", {"value"}},
             {"VALUE", {"3"}},
             {"any", {"exist"}}}},
      {update, "update m key value 3", std::nullopt},
      {"port start PORT|all", "port start all", Bound{{"port", {"port"}}, {"start", {"start"}}, {"PORT", {"all"}}}},
      {"hash FRAME|@FILE", "hash @f", Bound{{"hash", {"hash"}}, {"FRAME", {"@f"}}}},
      {"load @FILE", "load f", std::nullopt},
      {"load @FILE", "load @f", Bound{{"load", {"load"}}, {"@FILE", {"@f"}}}},
      {"a [b [C]]", "a b c", Bound{{"a", {"a"}}, {"b", {"b"}}, {"C", {"c"}}}},
      {"a [b [C]]", "a c", std::nullopt},
      {"mode 802.3ad", "mode 802.3ad", Bound{{"mode", {"mode"}}, {"802.3ad", {"802.3ad"}}}},
      {"x [[A]]...", "x 1 2", Bound{{"x", {"x"}}, {"A", {"1", "2"}}}},
      {"x NAME", "x ''", Bound{{"x", {"x"}}, {"NAME", {""}}}},
  };
  for (const Case& c : cases) EXPECT_EQ(bind(c.syntax, c.line), c.bound) << c.syntax << " <- " << c.line;
}

TEST(Syntax, RefusesMalformedOnes) {
  for (const char* bad :
       {"", "   ", "a ]", "a [", "a [b", "a []", "a |b", "a b|", "a b||c", "...", "a [[[[[[[[[b]]]]]]]]]"}) {
    EXPECT_FALSE(Syntax::parse(bad).ok()) << bad;
  }
  EXPECT_EQ(Syntax::parse("a [b").error().text, "syntax \"a [b\": [ without ]");
}

TEST(Syntax, PhrasesAreTheFixedBeginnings) {
  EXPECT_EQ(Syntax::parse("show port info|stats [PORT]")->phrases(), (Words{"show port info", "show port stats"}));
  EXPECT_EQ(Syntax::parse("quit")->phrases(), Words{"quit"});
  EXPECT_EQ(Syntax::parse("PORT up")->phrases(), Words{});
}

// Two repeated groups that can both take every word have exponentially many readings; the walk must not try each.
TEST(Walk, AmbiguityCostsNoMoreThanWordsTimesNodes) {
  const auto syntax = Syntax::parse("x [A]... [B]... [C D]... [E]... y");
  Walk walk(*syntax);
  ASSERT_TRUE(walk.step("x"));
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 20000; ++i) ASSERT_TRUE(walk.step("1"));
  EXPECT_FALSE(walk.complete());
  ASSERT_TRUE(walk.step("y"));
  EXPECT_TRUE(walk.complete());
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(Walk, StaysWhereItWasAfterAWrongWord) {
  const auto syntax = Syntax::parse("show bond [NAME]");
  Walk walk(*syntax);
  ASSERT_TRUE(walk.step("show"));
  ASSERT_FALSE(walk.step("port"));
  EXPECT_EQ(walk.taken(), 1u);
  EXPECT_TRUE(walk.step("bond"));
  EXPECT_TRUE(walk.complete());
  EXPECT_TRUE(walk.only_literals());
  EXPECT_TRUE(walk.step("bond0"));
  EXPECT_FALSE(walk.only_literals());
}

}  // namespace
}  // namespace xbond::control
