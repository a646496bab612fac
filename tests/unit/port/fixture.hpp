// One EAL for the whole test program, virtual devices made and undone by each test, and, as root, an own network
// namespace for all of it.
#pragma once

#include <gtest/gtest.h>
#include <rte_bus_vdev.h>
#include <rte_mempool.h>

#include <memory>
#include <string>
#include <vector>

#include "lib/port/eal.hpp"
#include "lib/port/port.hpp"

namespace xbond::port::test {

// Empty where a netdevice can be made, else why not.
const std::string& no_namespace();

// What a child saw that started EAL by the defaults as an ordinary user, before this process started its own.
struct OrdinaryUser {
  bool tried = false;
  int status = -1;     // exit status
  std::string output;  // stdout and stderr
};
const OrdinaryUser& ordinary_user();

#define XBOND_NEEDS_NAMESPACE() \
  if (!::xbond::port::test::no_namespace().empty()) GTEST_SKIP() << ::xbond::port::test::no_namespace()

// Runs a shell command; its exit status.
int shell(const std::string& command);

// A virtual device, as --vdev makes it. `name` must not be in use.
class Device {
 public:
  Device(std::string name, const std::string& arguments);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool ok() const { return status_ == 0; }

 private:
  std::string name_;
  int status_;
};

// Two ends, up, without IPv6's chatter. The ifindexes differ by themselves.
class Veth {
 public:
  Veth(std::string near, const std::string& far);
  ~Veth();
  Veth(const Veth&) = delete;
  Veth& operator=(const Veth&) = delete;

 private:
  std::string near_;
};

// A directory of its own, removed at the end.
class TempDir {
 public:
  TempDir();
  ~TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

// A pool that must be whole again at the end of each test.
class PortTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  Result<std::unique_ptr<Port>> open(std::string_view device, const Config& config = {});
  // A frame of `bytes` bytes that carries `mark` in its last one.
  rte_mbuf* frame(uint16_t bytes = 60, uint8_t mark = 0);
  [[nodiscard]] rte_mempool* pool() const { return pool_.get(); }
  // The pool's count is not checked in this test, because of a driver's own leak.
  void driver_keeps_mbufs(const char* why) { leak_ = why; }
  [[nodiscard]] bool noticed(std::string_view part) const;

  std::vector<std::string> notices_;

 private:
  Pool pool_;
  std::string leak_;
};

}  // namespace xbond::port::test
