#include "tests/unit/port/fixture.hpp"

#include <fmt/format.h>
#include <rte_errno.h>
#include <rte_mbuf.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>

// net_af_xdp keeps its umem, with the mbufs in it, when it is closed.
extern "C" const char* __lsan_default_suppressions();   // NOLINT(bugprone-reserved-identifier): the sanitizer's name
extern "C" const char* __lsan_default_suppressions() {  // NOLINT(bugprone-reserved-identifier)
  return "leak:xsk_umem__create";
}

namespace xbond::port::test {
namespace {

constexpr unsigned kMbufs = 4095;
constexpr uint16_t kFrameRoom = 2048;

std::string namespace_trouble = "not set up yet";
OrdinaryUser ordinary;
std::unique_ptr<Eal> eal;

// In the child: no way back. What EAL says goes to the pipe.
[[noreturn]] void start_as_nobody(int output) {
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  if (geteuid() == 0) {
    constexpr uid_t kNobody = 65534;
    if (setgid(kNobody) != 0 || setuid(kNobody) != 0) _exit(90);
  }
  setenv("XDG_RUNTIME_DIR", "/run/user/nobody-has-this", 1);
  const std::vector<std::string> given = {"--vdev=net_null0", "-m", "64"};
  auto started = Eal::init("ordinary", eal_arguments(given, {"net_null0"}));
  if (!started) {
    fmt::print(stderr, "{}", started.error().text);
    std::fflush(stderr);
    _exit(91);
  }
  auto pool = make_pool("ordinary", 1023, kFrameRoom, 0);
  if (!pool) _exit(92);
  int status = 0;
  {
    auto port = Port::open("net_null0", {}, pool->get(), {});
    status = port.ok() && (*port)->link().up ? 0 : 93;
  }
  pool->reset();
  started->reset();
  _exit(status);
}

OrdinaryUser try_ordinary_user() {
  OrdinaryUser seen;
  int ends[2];
  if (pipe(ends) != 0) return seen;
  const pid_t child = fork();
  if (child == 0) start_as_nobody(ends[1]);
  close(ends[1]);
  if (child > 0) {
    char part[512];
    for (ssize_t n = 0; (n = read(ends[0], part, sizeof part)) > 0;) seen.output.append(part, static_cast<size_t>(n));
    int status = 0;
    seen.tried = waitpid(child, &status, 0) == child;
    seen.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }
  close(ends[0]);
  return seen;
}

class Environment : public ::testing::Environment {
 public:
  void SetUp() override {
    ordinary = try_ordinary_user();
    if (geteuid() != 0)
      namespace_trouble = "needs root for network namespaces";
    else if (unshare(CLONE_NEWNET) != 0)
      namespace_trouble = fmt::format("no own network namespace: {}", strerror(errno));
    else if (shell("ip link set lo up") != 0)
      namespace_trouble = "needs iproute2";
    else
      namespace_trouble.clear();
    auto started =
        Eal::init("test_port", {"--no-huge", "--no-shconf", "--no-pci", "--iova-mode=va", "-m", "128",
                                "--log-level=error", "-l", "0", fmt::format("--file-prefix=xbp{}", getpid())});
    ASSERT_TRUE(started.ok()) << started.error().text;
    eal = std::move(*started);
  }
  void TearDown() override { eal.reset(); }
};

const auto* const environment = ::testing::AddGlobalTestEnvironment(new Environment);

}  // namespace

const std::string& no_namespace() {
  return namespace_trouble;
}

const OrdinaryUser& ordinary_user() {
  return ordinary;
}

int shell(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str());  // NOLINT(bugprone-command-processor): fixed commands
}

Device::Device(std::string name, const std::string& arguments)
    : name_(std::move(name)), status_(rte_vdev_init(name_.c_str(), arguments.c_str())) {
  EXPECT_EQ(status_, 0) << name_ << "," << arguments << ": " << rte_strerror(-status_);
}

Device::~Device() {
  if (ok()) rte_vdev_uninit(name_.c_str());
}

Veth::Veth(std::string near, const std::string& far) : near_(std::move(near)) {
  EXPECT_EQ(shell("ip link add " + near_ + " type veth peer name " + far), 0);
  for (const std::string& end : {near_, far}) {
    shell("echo 1 > /proc/sys/net/ipv6/conf/" + end + "/disable_ipv6");
    EXPECT_EQ(shell("ip link set " + end + " up"), 0);
  }
}

Veth::~Veth() {
  shell("ip link del " + near_);
}

TempDir::TempDir() {
  std::string path = (std::filesystem::temp_directory_path() / "xbond-port-XXXXXX").string();
  EXPECT_NE(mkdtemp(path.data()), nullptr);
  path_ = path;
}

TempDir::~TempDir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void PortTest::SetUp() {
  auto made = make_pool("test_port", kMbufs, kFrameRoom, 0);
  ASSERT_TRUE(made.ok()) << made.error().text;
  pool_ = std::move(*made);
}

void PortTest::TearDown() {
  if (!leak_.empty()) return RecordProperty("pool_not_checked", leak_);
  EXPECT_EQ(rte_mempool_avail_count(pool_.get()), kMbufs) << "mbufs were lost";
}

Result<std::unique_ptr<Port>> PortTest::open(std::string_view device, const Config& config) {
  notices_.clear();
  return Port::open(device, config, pool_.get(), [this](const std::string& line) { notices_.push_back(line); });
}

rte_mbuf* PortTest::frame(uint16_t bytes, uint8_t mark) {
  rte_mbuf* made = rte_pktmbuf_alloc(pool_.get());
  auto* data = reinterpret_cast<uint8_t*>(rte_pktmbuf_append(made, bytes));
  std::fill_n(data, bytes, uint8_t{0});
  // From us to all, of a type for local experiments.
  std::fill_n(data, 6, uint8_t{0xff});
  data[6] = 2;
  data[12] = 0x88;
  data[13] = 0xb5;
  data[bytes - 1] = mark;
  return made;
}

bool PortTest::noticed(std::string_view part) const {
  return std::any_of(notices_.begin(), notices_.end(),
                     [part](const std::string& line) { return line.find(part) != std::string::npos; });
}

}  // namespace xbond::port::test
