#include "app/xbond/option_source.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "app/xbond/options.hpp"

namespace xbond::app {
namespace {

// Each option as "where|name|value".
std::vector<std::string> listed(const Result<std::vector<Given>>& given) {
  if (!given) return {"ERROR " + given.error().text};
  std::vector<std::string> list;
  for (const Given& option : *given) list.push_back(option.where + "|" + option.name + "|" + option.value);
  return list;
}

using Words = std::vector<std::string>;

TEST(CommandLine, Forms) {
  EXPECT_EQ(listed(from_command_line({})), Words{});
  EXPECT_EQ(listed(from_command_line({"--port", "0", "--port=1,host=off", "-i", "-a", "--check", "-h"})),
            (Words{"|port|0", "|port|1,host=off", "|interactive|", "|auto-start|", "|check|", "|help|"}));
  EXPECT_EQ(listed(from_command_line({"--xdp", "b=a.o:p", "--xdp=c=d.o"})), (Words{"|xdp|b=a.o:p", "|xdp|c=d.o"}));
}

std::string error_of(const Words& argv) {
  const auto given = from_command_line(argv);
  return given ? "accepted" : given.error().text;
}

TEST(CommandLine, Errors) {
  EXPECT_EQ(error_of({"--prot", "0"}), "unknown option --prot; did you mean \"--port\"? (\"--help\" lists all)");
  EXPECT_EQ(error_of({"--vdev", "net_null0"}),
            "unknown option --vdev; EAL options go before \"--\" (\"--help\" lists all)");
  EXPECT_EQ(error_of({"-l", "0"}), "unknown option -l; EAL options go before \"--\" (\"--help\" lists all)");
  EXPECT_EQ(error_of({"-l0"}), "unknown option -l0; EAL options go before \"--\" (\"--help\" lists all)");
  EXPECT_EQ(error_of({"--inter"}),
            "unknown option --inter; did you mean \"--interactive\"? (\"--help\" lists all)");  // no abbreviations
  EXPECT_EQ(error_of({"--port"}), "--port: a value is missing");
  EXPECT_EQ(error_of({"--port="}), "--port: a value is missing");
  EXPECT_EQ(error_of({"--burst", "--check"}), "--burst: a value is missing");
  EXPECT_EQ(error_of({"--cmdline-file", "-x"}), "--cmdline-file: a value is missing");
  EXPECT_EQ(error_of({"--cmdline-file=-x"}), "accepted");
  EXPECT_EQ(error_of({"--check=yes"}), "--check takes no value");
  EXPECT_EQ(error_of({"start"}), "unexpected word \"start\": options begin with -- (\"--help\" lists all)");
  EXPECT_EQ(error_of({"--check", "--", "x"}), "unexpected word \"x\": options begin with -- (\"--help\" lists all)");
  EXPECT_EQ(error_of({""}), "unexpected word \"\": options begin with -- (\"--help\" lists all)");
}

TEST(CommandLine, AnythingGetsOptionsOrOneLine) {
  const Words words{
      "--port", "-i", "--", "-", "=", "--=", "-=", "--port=", "", "--burst=1", "x", "-ia", "--no-such", "\n", "---"};
  std::mt19937 random(5);
  for (int round = 0; round < 3000; ++round) {
    Words argv;
    for (size_t i = random() % 5; i > 0; --i) argv.push_back(words[random() % words.size()]);
    const auto given = from_command_line(argv);
    EXPECT_NE(given.ok(), !given.ok() && !given.error().text.empty());
  }
}

class ConfigFile : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }
  Words read(const std::string& text) {
    std::ofstream(path_, std::ios::binary) << text;
    return listed(from_file(path_));
  }
  std::string at(int line) { return path_ + ":" + std::to_string(line) + ": "; }
  std::string path_ = testing::TempDir() + "xbond-config-test.conf";
};

TEST_F(ConfigFile, Forms) {
  EXPECT_EQ(
      read("# comment\n\nport = 0,host=off\n  bond bond0,mode=active-backup   # why\r\n--xdp=bond0=a#b.o\n\tcheck\n"
           "burst\t= 64\ninteractive"),
      (Words{at(3) + "|port|0,host=off", at(4) + "|bond|bond0,mode=active-backup", at(5) + "|xdp|bond0=a#b.o",
             at(6) + "|check|", at(7) + "|burst|64", at(8) + "|interactive|"}));
  EXPECT_EQ(read("xdp b=my prog.o"), Words{at(1) + "|xdp|b=my prog.o"});
  EXPECT_EQ(read(""), Words{});
}

TEST_F(ConfigFile, ErrorsNameTheirLine) {
  const auto error = [&](int line, const std::string& text) { return Words{"ERROR " + at(line) + text}; };
  EXPECT_EQ(read("check\nprot 0\n"),
            error(2, "unknown option --prot; did you mean \"--port\"? (\"--help\" lists all)"));
  EXPECT_EQ(read("port\n"), error(1, "--port: a value is missing"));
  EXPECT_EQ(read("port =\n"), error(1, "--port: a value is missing"));
  EXPECT_EQ(read("\ncheck yes\n"), error(2, "--check takes no value"));
  EXPECT_EQ(read("config x"), error(1, "config is for the command line only"));
  EXPECT_EQ(read("--help"), error(1, "help is for the command line only"));
  EXPECT_EQ(read("version"), error(1, "version is for the command line only"));
  EXPECT_EQ(read("--"), error(1, "dashes without an option's name"));
  EXPECT_EQ(read("port \0010"), error(1, "control character 0x01 at column 6"));
  EXPECT_EQ(read(std::string("port 0\0", 7)), error(1, "control character 0x00 at column 7"));
  EXPECT_EQ(read("check\n" + std::string(70000, 'x')), error(2, "line is longer than 65536 bytes"));
  EXPECT_EQ(read(std::string(70000, '\n')), error(65537, "more than 65536 lines"));
  EXPECT_EQ(read("= 3"), error(1, "an option's name is missing before ="));
}

TEST_F(ConfigFile, FileErrors) {
  EXPECT_EQ(listed(from_file("/nowhere/at/all")), Words{"ERROR --config /nowhere/at/all: No such file or directory"});
  EXPECT_EQ(listed(from_file("/")), Words{"ERROR --config /: Is a directory"});
}

TEST_F(ConfigFile, AnythingGetsOptionsOrOneLine) {
  const std::string alphabet = "-=# \t\nport0check,\x80\x01";
  std::mt19937 random(6);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (size_t i = random() % 60; i > 0; --i) text += alphabet[random() % alphabet.size()];
    const Words list = read(text);
    for (const std::string& item : list) EXPECT_EQ(item.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace xbond::app
