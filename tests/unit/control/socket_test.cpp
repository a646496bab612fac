#include "lib/control/socket.hpp"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "lib/control/console.hpp"
#include "lib/unique_fd.hpp"
#include "tests/unit/control/sample_table.hpp"

namespace xbond::control {
namespace {

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(static_cast<char*>(address.sun_path), sizeof address.sun_path - 1);
  return address;
}

class Peer {
 public:
  explicit Peer(const std::string& path) : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const sockaddr_un address = address_of(path);
    connected_ = connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  [[nodiscard]] bool connected() const { return connected_; }
  [[nodiscard]] bool send(std::string_view text) const {
    return ::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size());
  }
  void end_of_input() const { shutdown(fd_.get(), SHUT_WR); }

  // Reads until the answer ends so, or the other side hangs up, or half a minute has gone.
  std::string read_to(std::string_view ending) {
    std::string text;
    std::string chunk(65536, '\0');
    while (!text.ends_with(ending)) {
      pollfd wait{.fd = fd_.get(), .events = POLLIN, .revents = 0};
      if (poll(&wait, 1, 30000) != 1) return text + "(timeout)";
      const ssize_t got = recv(fd_.get(), chunk.data(), chunk.size(), 0);
      if (got <= 0) return text + "(closed)";
      text.append(chunk, 0, static_cast<size_t>(got));
    }
    return text;
  }
  std::string ask(const std::string& line) { return send(line + '\n') ? read_to("OK\n") : "(not sent)"; }

 private:
  UniqueFd fd_;
  bool connected_;
};

// A server on a thread of its own, as the control thread runs it.
class Socket : public testing::Test {
 protected:
  void SetUp() override {
    std::string directory = testing::TempDir() + "xbond-socket-XXXXXX";
    ASSERT_NE(mkdtemp(directory.data()), nullptr);
    directory_ = directory;
    path_ = directory + "/control";
    table_ = sample_table();
    table_.add({"big", "8 MiB", [](const Args&, std::string& out) -> Status {
                  out.append(8u << 20, 'x');
                  return {};
                }});
    table_.add({"lines", "an error of two lines",
                [](const Args&, std::string&) -> Status { return fail(EINVAL, "one\ntwo"); }});
  }
  void TearDown() override {
    stop();
    std::filesystem::remove_all(directory_);
  }

  void start() {
    auto server = SocketServer::open(path_, table_);
    ASSERT_TRUE(server.ok()) << server.error().text;
    server_ = std::move(*server);
    thread_ = std::thread([this] { run_services(wake_.get(), nullptr, {.socket = server_.get()}); });
  }
  void stop_thread() {
    if (!thread_.joinable()) return;
    const uint64_t one = 1;
    ASSERT_EQ(write(wake_.get(), &one, sizeof one), 8);
    thread_.join();
    uint64_t count = 0;
    ASSERT_EQ(read(wake_.get(), &count, sizeof count), 8);
  }
  void stop() {
    stop_thread();
    server_.reset();
  }

  std::filesystem::path directory_;
  std::string path_;
  CommandTable table_;
  UniqueFd wake_{eventfd(0, EFD_NONBLOCK)};
  std::unique_ptr<SocketServer> server_;
  std::thread thread_;
};

TEST_F(Socket, AnswersWithOutputThenOkOrError) {
  start();
  Peer peer(path_);
  EXPECT_EQ(peer.ask("start"), "start=start, \nOK\n");
  EXPECT_EQ(peer.ask(""), "OK\n");
  ASSERT_TRUE(peer.send("break\n"));
  EXPECT_EQ(peer.read_to("\n"), "ERROR it broke\n");
  ASSERT_TRUE(peer.send("lines\n"));
  EXPECT_EQ(peer.read_to("\n"), "ERROR one two\n");
  ASSERT_TRUE(peer.send("shwo\n"));
  EXPECT_EQ(peer.read_to("\n"), "ERROR unknown command \"shwo\"; did you mean \"show\"? (\"help\" lists all)\n");
  EXPECT_EQ(peer.ask("stop\r"), "stop=stop, \nOK\n");
}

TEST_F(Socket, OnlyTheOwnerMayConnect) {
  const mode_t mask = umask(0);
  start();
  umask(mask);
  struct stat status {};
  ASSERT_EQ(stat(path_.c_str(), &status), 0);
  EXPECT_TRUE(S_ISSOCK(status.st_mode));
  EXPECT_EQ(status.st_mode & 07777, 0600u);
  stop();
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(Socket, TwoClientsAndManyLinesAtOnce) {
  start();
  Peer a(path_), b(path_);
  std::string lines, answers;
  for (int i = 0; i < 500; ++i) {
    lines += "start\n";
    answers += "start=start, \nOK\n";
  }
  ASSERT_TRUE(a.send(lines + "st"));
  EXPECT_EQ(b.ask("stop"), "stop=stop, \nOK\n");
  ASSERT_TRUE(a.send("op"));
  a.end_of_input();
  EXPECT_EQ(a.read_to("(never)"), answers + "stop=stop, \nOK\n(closed)");
  EXPECT_EQ(b.ask("stop"), "stop=stop, \nOK\n");
}

TEST_F(Socket, AClientThatDoesNotReadHoldsUpNobody) {
  start();
  Peer slow(path_), quick(path_), idle(path_);
  ASSERT_TRUE(slow.send("big\nbig\nstart\n"));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(quick.ask("start"), "start=start, \nOK\n");
  const std::string all = slow.read_to("start=start, \nOK\n");
  EXPECT_EQ(all.size(), 2 * ((8u << 20) + 4) + 17);
}

TEST_F(Socket, AClientThatGoesAwayWithItsAnswerPending) {
  start();
  {
    Peer rude(path_);
    ASSERT_TRUE(rude.send("big\nbig\n"));
  }
  Peer peer(path_);
  EXPECT_EQ(peer.ask("start"), "start=start, \nOK\n");
}

TEST_F(Socket, OversizedLineIsRefusedAndTheNextTaken) {
  start();
  Peer peer(path_);
  std::thread sender([&] { EXPECT_TRUE(peer.send(std::string(3u << 20, 'x') + "\nstart\n")); });
  EXPECT_EQ(peer.read_to("OK\n"), "ERROR line is longer than 1048576 bytes\nstart=start, \nOK\n");
  sender.join();
}

TEST_F(Socket, ClientsAreBounded) {
  start();
  std::vector<std::unique_ptr<Peer>> peers;
  for (size_t i = 0; i < SocketServer::kMaxClients; ++i) {
    peers.push_back(std::make_unique<Peer>(path_));
    ASSERT_EQ(peers.back()->ask("start"), "start=start, \nOK\n");
  }
  Peer surplus(path_);
  EXPECT_EQ(surplus.read_to("(never)"), "ERROR 16 clients are connected already\n(closed)");
  peers.pop_back();
  std::string answer;
  for (int i = 0; i < 100 && answer != "start=start, \nOK\n"; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    answer = Peer(path_).ask("start");
  }
  EXPECT_EQ(answer, "start=start, \nOK\n");
}

TEST_F(Socket, ClientsStayWhileTheLoopIsChanged) {
  start();
  Peer peer(path_);
  EXPECT_EQ(peer.ask("start"), "start=start, \nOK\n");
  stop_thread();
  ASSERT_TRUE(peer.send("stop\n"));
  thread_ = std::thread([this] { run_services(wake_.get(), nullptr, {.socket = server_.get()}); });
  EXPECT_EQ(peer.read_to("OK\n"), "stop=stop, \nOK\n");
}

TEST_F(Socket, ReplacesAStaleFileOnly) {
  const sockaddr_un address = address_of(path_);
  {
    const UniqueFd dead(socket(AF_UNIX, SOCK_STREAM, 0));
    ASSERT_EQ(bind(dead.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  }
  ASSERT_TRUE(std::filesystem::exists(path_));
  start();
  EXPECT_EQ(Peer(path_).ask("start"), "start=start, \nOK\n");

  const auto second = SocketServer::open(path_, table_);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, EADDRINUSE);
  EXPECT_EQ(second.error().text, "control socket " + path_ + ": another process listens on it");
  EXPECT_EQ(Peer(path_).ask("start"), "start=start, \nOK\n");
}

TEST_F(Socket, LeavesOtherFilesAlone) {
  std::ofstream(path_) << "precious";
  const auto server = SocketServer::open(path_, table_);
  ASSERT_FALSE(server.ok());
  EXPECT_EQ(server.error().code, EEXIST);
  EXPECT_EQ(std::filesystem::file_size(path_), 8u);
  std::filesystem::remove(path_);

  // The file of another server that took the name over stays, too.
  start();
  stop_thread();
  std::filesystem::remove(path_);
  const auto other = SocketServer::open(path_, table_);
  ASSERT_TRUE(other.ok());
  server_.reset();
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(Socket, PathErrors) {
  EXPECT_EQ(SocketServer::open("", table_).error().code, ENAMETOOLONG);
  EXPECT_EQ(SocketServer::open("/" + std::string(107, 'x'), table_).error().code, ENAMETOOLONG);
  EXPECT_EQ(SocketServer::open(directory_.string() + "/none/s", table_).error().text,
            "control socket " + directory_.string() + "/none/s: cannot make it: No such file or directory");
}

}  // namespace
}  // namespace xbond::control
