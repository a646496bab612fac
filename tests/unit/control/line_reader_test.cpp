#include "lib/control/line_reader.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace xbond::control {
namespace {

using Words = std::vector<std::string>;

// All that is there; a line too long as "!".
Words drain(LineReader& reader) {
  Words lines;
  std::string line;
  for (;;) {
    const auto next = reader.next(line);
    if (next == LineReader::Next::nothing) return lines;
    lines.push_back(next == LineReader::Next::line ? line : "!");
  }
}

TEST(LineReader, LinesAcrossFeeds) {
  LineReader reader(100);
  reader.feed("one\ntw");
  EXPECT_EQ(drain(reader), Words{"one"});
  reader.feed("o\r\n\nthree");
  EXPECT_EQ(drain(reader), (Words{"two", ""}));
  reader.end();
  EXPECT_EQ(drain(reader), Words{"three"});
  EXPECT_EQ(drain(reader), Words{});
  EXPECT_EQ(reader.number(), 4u);
}

TEST(LineReader, TooLongIsSaidOnceAndSkipped) {
  LineReader reader(4);
  reader.feed("12345");
  EXPECT_EQ(drain(reader), Words{"!"});
  EXPECT_EQ(reader.held(), 0u);
  for (int i = 0; i < 100; ++i) {
    reader.feed("more and more");
    EXPECT_EQ(drain(reader), Words{});
    EXPECT_EQ(reader.held(), 0u);
  }
  reader.feed("end\n1234\n12345\nab\n");
  EXPECT_EQ(drain(reader), (Words{"1234", "!", "ab"}));
  EXPECT_EQ(reader.number(), 4u);
}

TEST(LineReader, TooLongAtTheEnd) {
  LineReader reader(4);
  reader.feed("ok\n12345");
  reader.end();
  EXPECT_EQ(drain(reader), (Words{"ok", "!"}));
  EXPECT_EQ(drain(reader), Words{});
}

// The way the bytes are cut must not matter.
TEST(LineReader, CutsDoNotMatter) {
  std::mt19937 random(4);
  for (int round = 0; round < 500; ++round) {
    std::string text;
    for (size_t i = random() % 200; i > 0; --i) text += random() % 5 == 0 ? '\n' : 'x';
    LineReader whole(8), parts(8);
    whole.feed(text);
    whole.end();
    Words lines;
    for (size_t at = 0; at < text.size();) {
      const size_t size = random() % 9 + 1;
      parts.feed(std::string_view(text).substr(at, size));
      at += size;
      for (const std::string& line : drain(parts)) lines.push_back(line);
    }
    parts.end();
    for (const std::string& line : drain(parts)) lines.push_back(line);
    EXPECT_EQ(lines, drain(whole)) << text;
  }
}

}  // namespace
}  // namespace xbond::control
