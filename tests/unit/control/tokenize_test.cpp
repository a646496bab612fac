#include "lib/control/tokenize.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace xbond::control {
namespace {

using Words = std::vector<std::string>;

struct Good {
  const char* line;
  Words words;
};

TEST(Tokenize, SplitsQuotesEscapesAndComments) {
  const std::vector<Good> cases{
      {"", {}},
      {"   \t ", {}},
      {"# show bond", {}},
      {"  # x", {}},
      {"show bond", {"show", "bond"}},
      {"\tshow\t \tbond  ", {"show", "bond"}},
      {"show bond # all of them", {"show", "bond"}},
      {"a#b c", {"a#b", "c"}},
      {"\"#\" '#' \\#", {"#", "#", "#"}},
      {"\"a b\" 'c d'", {"a b", "c d"}},
      {"a\"b c\"d'e f'", {"ab cde f"}},
      {"\"\" ''", {"", ""}},
      {"a\\ b", {"a b"}},
      {"\\\"a\\'", {"\"a'"}},
      {"\"a\\\"b\\\\c\\nd\"", {"a\"b\\c\\nd"}},
      {"'a\\b\"c'", {"a\\b\"c"}},
      {"\"tab\there\"", {"tab\there"}},
      {"caf\xc3\xa9", {"caf\xc3\xa9"}},
  };
  for (const Good& good : cases) {
    const auto words = tokenize(good.line);
    ASSERT_TRUE(words.ok()) << good.line << ": " << words.error().text;
    EXPECT_EQ(*words, good.words) << good.line;
  }
}

std::string error_of(std::string_view line) {
  const auto words = tokenize(line);
  return words ? "accepted" : words.error().text;
}

TEST(Tokenize, RefusesWhatIsOpenOrUnreadable) {
  EXPECT_EQ(error_of("show \"bond"), "missing closing \" for the one at column 6");
  EXPECT_EQ(error_of("it's"), "missing closing ' for the one at column 3");
  EXPECT_EQ(error_of("show bond\\"), "backslash at the end of the line");
  EXPECT_EQ(error_of(std::string_view("a\0b", 3)), "control character 0x00 at column 2");
  EXPECT_EQ(error_of("a \033[31m"), "control character 0x1b at column 3");
  EXPECT_EQ(error_of("a\177"), "control character 0x7f at column 2");
  EXPECT_EQ(error_of("a\nb"), "control character 0x0a at column 2");
  EXPECT_EQ(error_of("'\r'"), "control character 0x0d at column 2");
}

TEST(Tokenize, HasBounds) {
  EXPECT_TRUE(tokenize(std::string(kMaxWord, 'a')).ok());
  EXPECT_EQ(error_of("x " + std::string(kMaxWord + 1, 'a')), "word 2 is longer than 524288 bytes");
  EXPECT_TRUE(tokenize("a" + std::string(kMaxLine - 1, ' ')).ok());
  EXPECT_EQ(error_of(std::string(kMaxLine + 1, ' ')), "line of 1048577 bytes: at most 1048576 are taken");
  std::string many;
  for (size_t i = 0; i < kMaxWords; ++i) many += "a ";
  EXPECT_EQ(tokenize(many)->size(), kMaxWords);
  EXPECT_EQ(error_of(many + "a"), "more than 65536 words in a line");
}

TEST(Tokenize, PartialLineKeepsTheLastWordOpen) {
  const auto blank = tokenize_partial("show bond ");
  EXPECT_EQ(blank->words, (Words{"show", "bond"}));
  EXPECT_EQ(blank->last, "");
  const auto word = tokenize_partial("show bo");
  EXPECT_EQ(word->words, Words{"show"});
  EXPECT_EQ(word->last, "bo");
  const auto quote = tokenize_partial("xdp attach \"my dir/a");
  EXPECT_EQ(quote->last, "my dir/a");
  EXPECT_EQ(quote->quote, '"');
  EXPECT_FALSE(quote->closed);
  EXPECT_TRUE(tokenize_partial("show # bo")->closed);
  EXPECT_TRUE(tokenize_partial("show bo\\")->closed);
  EXPECT_FALSE(tokenize_partial("a\001").ok());
}

// Whatever is escaped must come back as itself, in any of the three ways of writing it.
TEST(Tokenize, EscapeIsItsInverse) {
  std::mt19937 random(1);
  const std::string alphabet = "ab \t\"'\\#/.";
  for (int round = 0; round < 1000; ++round) {
    std::string text;
    for (size_t i = random() % 12 + 1; i > 0; --i) text += alphabet[random() % alphabet.size()];
    for (const char quote : {'\0', '"', '\''}) {
      const std::string mark = quote == 0 ? "" : std::string(1, quote);
      const std::string line = mark + escape(text, quote) + mark;
      const auto words = tokenize(line);
      ASSERT_TRUE(words.ok()) << line;
      EXPECT_EQ(*words, Words{text}) << line;
    }
  }
}

TEST(Tokenize, AnyBytesGiveWordsOrOneLine) {
  std::mt19937 random(2);
  for (int round = 0; round < 2000; ++round) {
    std::string line;
    for (size_t i = random() % 40; i > 0; --i) {
      line += random() % 4 == 0 ? static_cast<char>(random()) : " \"'\\#ab"[random() % 7];
    }
    const auto words = tokenize(line);
    const auto partial = tokenize_partial(line);
    if (words) {
      ASSERT_TRUE(partial.ok());
      Words all = partial->words;
      if (all.size() < words->size()) all.push_back(partial->last);
      EXPECT_EQ(all, *words);
    } else {
      EXPECT_EQ(words.error().text.find_first_of(std::string_view("\n\0\033", 3)), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace xbond::control
