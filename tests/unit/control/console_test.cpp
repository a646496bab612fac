#include "lib/control/console.hpp"

#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include <cstring>
#include <thread>

#include "lib/control/event_loop.hpp"
#include "lib/unique_fd.hpp"
#include "tests/unit/control/child.hpp"
#include "tests/unit/control/sample_table.hpp"

namespace xbond::control {
namespace {

// A console with the sample table and `quit`.
void console(int wake_fd = -1, Services services = {}) {
  bool quit = false;
  CommandTable table = sample_table();
  table.add({"quit", "end", [&quit](const Args&, std::string&) -> Status {
               quit = true;
               return {};
             }});
  run_console(
      table, wake_fd, [&quit] { return quit; }, services);
}

Child on_terminal() {
  Child child = Child::on_terminal([] { console(); });
  child.expect("xbond> ");
  return child;
}

TEST(Console, RunsLinesAndQuits) {
  Child child = on_terminal();
  child.send("start\r");
  EXPECT_NE(child.expect("xbond> ").find("start=start, \n"), std::string::npos);
  child.send("break\r");
  EXPECT_NE(child.expect("xbond> ").find("\nit broke\n"), std::string::npos);
  child.send("shwo bond\n");
  child.expect("did you mean \"show bond\"?");
  child.send("quit\r");
  EXPECT_EQ(child.wait_for_end(), 0);
}

TEST(Console, TabCompletesTheOnlyWord) {
  Child child = on_terminal();
  child.send("sho\tpo\tinf\tjs\t");
  child.expect("show port info json ");
  child.send("\r");
  child.expect("info=info, json=json, port=port, show=show, ");
}

TEST(Console, TabListsAndInsertsTheCommonPart) {
  Child child = on_terminal();
  child.send("show \t");
  child.expect(" bond\n port\n stats\n");
  child.expect("xbond> show ");
  child.send("port stats net_r\t");
  child.expect("net_ring");
  child.send("\t");
  child.expect(" net_ring0\n net_ring1\n");
  child.send("1\r");
  child.expect("PORT=net_ring1, info=stats, ");
}

TEST(Console, QuestionMarkListsWithoutInserting) {
  Child child = on_terminal();
  child.send("sta?");
  child.expect("\n start\n");
  child.expect("xbond> sta");
  child.send("rt\r");
  child.expect("start=start, ");
}

TEST(Console, EditsTheLine) {
  Child child = on_terminal();
  child.send("stXrt\033[D\033[D\177a\r");  // two to the left, X deleted, a in its place
  child.expect("start=start, ");
  child.send("op\001st\r");  // to the beginning
  child.expect("stop=stop, ");
}

TEST(Console, HistoryBringsLinesBack) {
  Child child = on_terminal();
  child.send("start\rstop\r");
  child.expect("stop=stop, ");
  child.send("\033[A\033[A\r");
  child.expect("start=start, ");
}

TEST(Console, ControlCClearsTheLine) {
  Child child = on_terminal();
  child.send("show bond \003start\r");
  child.expect("start=start, ");
  child.send("quit\r");
  EXPECT_EQ(child.wait_for_end(), 0);
}

TEST(Console, LongestLineIsTakenALongerOneRefused) {
  Child child = on_terminal();
  child.send("start " + std::string(506, 'x') + "\r");
  child.expect("surplus word \"xxx");
  child.send("start " + std::string(507, 'x') + "\r");
  child.expect("line is longer than 512 characters: use @FILE for long words, or --cmdline-file\n");
  // Cursor keys on a full line are no characters of it; Ctrl-C forgets the overflow.
  child.send("start " + std::string(506, 'x') + "\033[D\033[C\r");
  child.expect("surplus word");
  child.send(std::string(600, 'x') + "\003start\r");
  child.expect("start=start, ");
}

// The editor keeps what is left and what is right of the cursor apart; both together must stay within its buffer.
TEST(Console, FloodOnBothSidesOfTheCursor) {
  Child child = on_terminal();
  for (int i = 0; i < 20; ++i) {
    child.send(std::string(700, 'a') + '\001' + std::string(700, 'b') + "\013\031\031\031\t?");
    child.send("\003");
    child.expect("xbond> ");
  }
  child.send("\003start\r");
  child.expect("start=start, ");
}

TEST(Console, RawModeOnlyWhileItRuns) {
  int wake = eventfd(0, 0);
  Child child = Child::on_terminal([wake] {
    termios before{}, after{};
    tcgetattr(0, &before);
    console();
    tcgetattr(0, &after);
    EXPECT_EQ(before.c_lflag, after.c_lflag);
    EXPECT_EQ(before.c_iflag, after.c_iflag);
    console(wake);
    tcgetattr(0, &after);
    EXPECT_EQ(before.c_lflag, after.c_lflag);
  });
  child.expect("xbond> ");
  termios mode{};
  tcgetattr(child.terminal(), &mode);
  EXPECT_EQ(mode.c_lflag & (ICANON | ECHO | ISIG), 0u);
  child.send("half a line\004");  // not on an empty line: nothing ends
  child.send("\003\004");         // now it is
  child.expect("xbond> ");
  child.expect("xbond> ");
  child.send("half");
  child.expect("half");
  const uint64_t one = 1;
  ASSERT_EQ(write(wake, &one, sizeof one), 8);
  EXPECT_EQ(child.wait_for_end(), 0);
  close(wake);
}

TEST(Console, NoticesComeAboveTheLineBeingTyped) {
  int trigger = eventfd(0, 0);
  Child child = Child::on_terminal([trigger] {
    const auto notices = std::move(*Notices::create());
    std::thread poster([&] {
      uint64_t count = 0;
      EXPECT_EQ(read(trigger, &count, sizeof count), 8);
      notices->post("net_ring0: link is down");
    });
    console(-1, {.notices = notices.get()});
    poster.join();
  });
  child.expect("xbond> ");
  child.send("show bo");
  child.expect("show bo");
  const uint64_t one = 1;
  ASSERT_EQ(write(trigger, &one, sizeof one), 8);
  EXPECT_EQ(child.expect("link is down\n"), "net_ring0: link is down\n");
  EXPECT_NE(child.raw().find("show bo\r\033[2Knet_ring0: link is down\r\n"), std::string::npos);
  child.expect("xbond> show bo");
  child.send("nd\r");
  child.expect("bond=bond, show=show, ");
  child.send("quit\r");
  EXPECT_EQ(child.wait_for_end(), 0);
  close(trigger);
}

TEST(Console, HangupEnds) {
  Child child = Child::on_terminal([] {
    signal(SIGHUP, SIG_IGN);
    console();
  });
  child.expect("xbond> ");
  child.hang_up();
  EXPECT_EQ(child.wait_for_end(), 0);
}

TEST(PipedConsole, NoPromptNoEchoErrorsOnStderr) {
  Child child = Child::on_pipes([] { console(); });
  child.send("start\n\n# comment\nbreak\r\nshow bond\nstop");
  child.close_input();
  EXPECT_EQ(child.all_output(), "start=start, \nbond=bond, show=show, \nstop=stop, \n");
  EXPECT_EQ(child.all_errors(), "it broke\n");
  EXPECT_EQ(child.wait_for_end(), 0);
}

TEST(PipedConsole, AnswersEachLineAtOnceAndStopsAtQuit) {
  Child child = Child::on_pipes([] { console(); });
  child.send("start\n");
  child.expect("start=start, \n");
  child.send("quit\nstart\n");
  EXPECT_EQ(child.all_output(), "");
  EXPECT_EQ(child.wait_for_end(), 0);
}

TEST(PipedConsole, LongLinesAreTakenUpToTheBound) {
  Child child = Child::on_pipes([] { console(); });
  const std::string hex(400000, 'a');
  child.send("set bond b OPT " + hex + "\n");
  EXPECT_NE(child.expect("set=set, \n").find(hex), std::string::npos);
  child.send(std::string(1100000, 'b') + "\nstart\n");
  child.expect("start=start, \n");
  child.close_input();
  EXPECT_EQ(child.all_errors(), "line is longer than 1048576 bytes\n");
}

TEST(PipedConsole, TakesARegularFile) {
  Child child = Child::on_pipes([] {
    const int file = memfd_create("commands", 0);
    EXPECT_EQ(write(file, "start\nstop\n", 11), 11);
    lseek(file, 0, SEEK_SET);
    dup2(file, STDIN_FILENO);
    console();
  });
  EXPECT_EQ(child.all_output(), "start=start, \nstop=stop, \n");
  EXPECT_EQ(child.wait_for_end(), 0);
}

TEST(PipedConsole, NoticesGoToStderrAndWakeEnds) {
  const int wake = eventfd(0, 0);
  Child child = Child::on_pipes([wake] {
    const auto notices = std::move(*Notices::create());
    notices->post("early");
    console(wake, {.notices = notices.get()});
  });
  child.send("start\n");
  child.expect("start=start, \n");
  const uint64_t one = 1;
  ASSERT_EQ(write(wake, &one, sizeof one), 8);
  EXPECT_EQ(child.wait_for_end(), 0);
  EXPECT_EQ(child.all_errors(), "early\n");
  close(wake);
}

TEST(Services, ServeWithoutStdin) {
  const int wake = eventfd(0, 0);
  Child child = Child::on_pipes([wake] {
    const auto notices = std::move(*Notices::create());
    notices->post("one");
    run_services(wake, nullptr, {.notices = notices.get()});
    notices->post("two");
    run_services(wake, nullptr, {.notices = notices.get()});
  });
  const uint64_t one = 1;
  ASSERT_EQ(write(wake, &one, sizeof one), 8);
  EXPECT_EQ(child.wait_for_end(), 0);
  EXPECT_EQ(child.all_errors(), "one\ntwo\n");
  close(wake);
}

TEST(EventLoop, ForgottenDescriptorsAreNotCalled) {
  const auto loop = std::move(*EventLoop::create());
  const UniqueFd first(eventfd(1, 0)), second(eventfd(1, 0));
  int calls = 0;
  const auto once = [&](uint32_t) {
    ++calls;
    loop->forget(first.get());
    loop->forget(second.get());
    loop->finish();
  };
  ASSERT_TRUE(loop->watch(first.get(), 1, once).ok());
  ASSERT_TRUE(loop->watch(second.get(), 1, once).ok());
  EXPECT_FALSE(loop->watch(first.get(), 1, once).ok());
  loop->run(-1, nullptr);
  EXPECT_EQ(calls, 1);
  EXPECT_FALSE(loop->watch(-1, 1, once).ok());
}

}  // namespace
}  // namespace xbond::control
