#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lib/control/console.hpp"
#include "tests/unit/control/sample_table.hpp"

namespace xbond::control {
namespace {

class RunFile : public testing::Test {
 protected:
  void TearDown() override { std::filesystem::remove(path_); }

  Status run(const std::string& text, const std::function<bool()>& stop = nullptr) {
    std::ofstream(path_, std::ios::binary) << text;
    testing::internal::CaptureStdout();
    Status ran = run_file(sample_table(), path_, stop);
    output_ = testing::internal::GetCapturedStdout();
    return ran;
  }

  std::string path_ = testing::TempDir() + "xbond-run-file-test.txt";
  std::string output_;
};

TEST_F(RunFile, RunsEachLine) {
  EXPECT_TRUE(run("# start\n\nstart\r\n  stop # now").ok());
  EXPECT_EQ(output_, "start=start, \nstop=stop, \n");
}

TEST_F(RunFile, StopsAtTheFirstErrorAndNamesItsPlace) {
  const Status ran = run("start\n\nshow prot\nstop\n");
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().text,
            path_ + ":3: unknown command \"show prot\"; did you mean \"show port\"? (\"help\" lists all)");
  EXPECT_EQ(output_, "start=start, \n");
}

TEST_F(RunFile, KeepsTheHandlersErrorNumber) {
  const Status ran = run("break\n");
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().code, EIO);
  EXPECT_EQ(ran.error().text, path_ + ":1: it broke");
  EXPECT_EQ(output_, "");
}

TEST_F(RunFile, LongLines) {
  const std::string hex(500000, 'f');
  EXPECT_TRUE(run("set bond b OPT " + hex + "\nstart\n").ok());
  EXPECT_NE(output_.find(hex), std::string::npos);
  const Status ran = run("start\n" + std::string(1100000, 'x') + "\n");
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().text, path_ + ":2: line is longer than 1048576 bytes");
}

TEST_F(RunFile, RefusesControlCharacters) {
  const Status ran = run(std::string("start\nsto\0p\n", 12));
  ASSERT_FALSE(ran.ok());
  EXPECT_EQ(ran.error().text, path_ + ":2: control character 0x00 at column 4");
}

TEST_F(RunFile, AsksStopBetweenLines) {
  int asked = 0;
  EXPECT_TRUE(run("start\nstop\nbreak\n", [&] { return ++asked > 3; }).ok());
  EXPECT_EQ(output_, "start=start, \nstop=stop, \n");
}

TEST_F(RunFile, FileErrors) {
  EXPECT_EQ(run_file(sample_table(), "/nowhere/at/all", nullptr).error().text,
            "cannot open /nowhere/at/all: No such file or directory");
  EXPECT_EQ(run_file(sample_table(), "/", nullptr).error().text, "cannot read /: Is a directory");
}

}  // namespace
}  // namespace xbond::control
