#include <gtest/gtest.h>

#include <limits>

#include "bpf_compat/json.hpp"

namespace xbond::json {
namespace {

TEST(JsonString, PlainTextOnlyGetsQuotes) {
  EXPECT_EQ(quote("net_pcap0"), R"("net_pcap0")");
  EXPECT_EQ(quote(""), R"("")");
  EXPECT_EQ(quote("a/b 'c'"), R"("a/b 'c'")");
}

TEST(JsonString, QuotesAndBackslashesAreEscaped) {
  EXPECT_EQ(quote(R"(a"b\c)"), R"("a\"b\\c")");
}

TEST(JsonString, ControlCharactersAreEscaped) {
  EXPECT_EQ(quote("\b\f\n\r\t"), R"("\b\f\n\r\t")");
  for (int c = 0; c < 0x20; c++) {
    const std::string text = quote(std::string(1, static_cast<char>(c)));
    for (const char out : text) EXPECT_GE(static_cast<uint8_t>(out), 0x20) << c;
  }
  EXPECT_EQ(quote(std::string_view("\0x", 2)), R"("\u0000x")");
  EXPECT_EQ(quote("\x1f\x7f"), R"("\u001f\u007f")");
}

TEST(JsonString, WellFormedUtf8Passes) {
  for (const std::string text : {"\xc3\xa4", "\xe2\x82\xac", "\xed\x9f\xbf", "\xee\x80\x80", "\xf0\x9f\x98\x80",
                                 "\xf4\x8f\xbf\xbf", "\xc2\x80", "\xe0\xa0\x80", "\xf0\x90\x80\x80"})
    EXPECT_EQ(quote(text), '"' + text + '"');
}

TEST(JsonString, EachBadByteBecomesTheReplacementCharacter) {
  const std::string r = "\xef\xbf\xbd";
  EXPECT_EQ(quote("\xff"), '"' + r + '"');
  EXPECT_EQ(quote("\x80z"), '"' + r + "z\"");
  EXPECT_EQ(quote("\xc0\xaf"), '"' + r + r + '"');                  // overlong /
  EXPECT_EQ(quote("\xe0\x80\x80"), '"' + r + r + r + '"');          // overlong
  EXPECT_EQ(quote("\xed\xa0\x80"), '"' + r + r + r + '"');          // surrogate
  EXPECT_EQ(quote("\xf4\x90\x80\x80"), '"' + r + r + r + r + '"');  // beyond U+10FFFF
  EXPECT_EQ(quote("\xe2\x82"), '"' + r + r + '"');                  // cut short
  EXPECT_EQ(quote("\xc3\"x"), '"' + r + "\\\"x\"");                 // must not swallow the quote
}

TEST(JsonWriter, NestsWithCommas) {
  Writer w;
  w.begin_object().member("name", "bond0").member("up", true).member("active", std::string("p1"));
  w.key("members").begin_array();
  w.begin_object().member("port", uint16_t{7}).end_object();
  w.begin_object().end_object();
  w.begin_array().end_array();
  w.end_array();
  w.key("none").null().end_object();
  EXPECT_EQ(w.take(), R"({"name":"bond0","up":true,"active":"p1","members":[{"port":7},{},[]],"none":null})");
}

TEST(JsonWriter, NumbersOfEveryWidth) {
  Writer w;
  w.begin_array()
      .value(uint8_t{255})
      .value(int8_t{-128})
      .value(std::numeric_limits<uint64_t>::max())
      .value(std::numeric_limits<int64_t>::min())
      .value(0.5)
      .value(std::numeric_limits<double>::quiet_NaN())
      .value(-std::numeric_limits<double>::infinity())
      .end_array();
  EXPECT_EQ(w.take(), "[255,-128,18446744073709551615,-9223372036854775808,0.5,null,null]");
}

TEST(JsonWriter, KeysAreEscapedAndRawIsNot) {
  Writer w;
  w.begin_object().member("a\"b", false).key("r").raw(R"({"x":1})").end_object();
  EXPECT_EQ(w.take(), R"({"a\"b":false,"r":{"x":1}})");
}

TEST(JsonWriter, CanBeUsedAgainAfterTake) {
  Writer w;
  EXPECT_EQ(w.value("x").take(), R"("x")");
  EXPECT_EQ(w.begin_array().end_array().take(), "[]");
}

}  // namespace
}  // namespace xbond::json
