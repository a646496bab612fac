// The kernel's attach rules (recorded as the native rows of XDP rules on bonds), over ifindexes.
#include <gtest/gtest.h>

#include "lib/xdp/attach.hpp"
#include "tests/unit/dataplane/eal.hpp"

namespace xbond::xdp {
namespace {

class Fake : public test::FakeProgram {
 public:
  explicit Fake(std::string program) { name_ = std::move(program); }
  void run_burst(std::span<bpf::XdpFrame>, uint32_t*, uint32_t) const noexcept override {}
};
ProgramRef program(const char* name) {
  return std::make_shared<Fake>(name);
}

constexpr uint32_t kS0 = 1, kS1 = 2, kPort = 3, kBond = 4, kTop = 5;

struct AttachRules : testing::Test {
  Attachments a;
  AttachRules() {
    for (const uint32_t device : {kS0, kS1, kPort, kBond, kTop}) {
      a.add_device(device);
    }
    EXPECT_TRUE(a.enslave(kBond, kS0).ok());
    EXPECT_TRUE(a.enslave(kBond, kS1).ok());
  }
};

TEST_F(AttachRules, BondProgramRunsOnEveryMemberAndNowhereElse) {
  const ProgramRef p = program("p");
  ASSERT_TRUE(a.attach(kBond, p, false).ok());
  EXPECT_EQ(a.effective(kS0), p);
  EXPECT_EQ(a.effective(kS1), p);
  EXPECT_EQ(a.own(kS0), nullptr);
  EXPECT_EQ(a.effective(kPort), nullptr);
}

TEST_F(AttachRules, MemberIsRefusedWhileItsBondHasAProgram) {
  ASSERT_TRUE(a.attach(kBond, program("p"), false).ok());
  for (const bool force : {false, true}) {
    const Status refused = a.attach(kS0, program("q"), force);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().code, EEXIST);
    EXPECT_EQ(refused.error().text, "Cannot attach when an upper device already has a program");
  }
  EXPECT_EQ(a.detach(kS0).error().code, EEXIST);
}

TEST_F(AttachRules, BondIsRefusedWhileAMemberHasAProgram) {
  ASSERT_TRUE(a.attach(kS1, program("q"), false).ok());
  const Status refused = a.attach(kBond, program("p"), false);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, EOPNOTSUPP);
  EXPECT_EQ(refused.error().text, "Slave has XDP program loaded, please unload before enslaving");
  ASSERT_TRUE(a.detach(kS1).ok());
  EXPECT_TRUE(a.attach(kBond, program("p"), false).ok());
}

TEST_F(AttachRules, ReplaceNeedsForceAndKeepsTheOldOneWhenRefused) {
  const ProgramRef first = program("first"), second = program("second");
  ASSERT_TRUE(a.attach(kBond, first, false).ok());
  const Status refused = a.attach(kBond, second, false);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, EBUSY);
  EXPECT_NE(refused.error().text.find("first"), std::string::npos);
  EXPECT_EQ(a.effective(kS0), first);
  ASSERT_TRUE(a.attach(kBond, second, true).ok());
  EXPECT_EQ(a.effective(kS0), second);
}

TEST_F(AttachRules, DetachOfNothingSucceeds) {
  EXPECT_TRUE(a.detach(kBond).ok());
  EXPECT_TRUE(a.detach(kPort).ok());
}

TEST_F(AttachRules, EnslavingADeviceWithAProgram) {
  ASSERT_TRUE(a.attach(kPort, program("q"), false).ok());
  // A bond without a program takes it; then the bond's program is refused.
  ASSERT_TRUE(a.enslave(kBond, kPort).ok());
  EXPECT_EQ(a.attach(kBond, program("p"), false).error().code, EOPNOTSUPP);
  a.release(kPort);
  // A bond with a program does not.
  ASSERT_TRUE(a.attach(kBond, program("p"), false).ok());
  const Status refused = a.enslave(kBond, kPort);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, EOPNOTSUPP);
  EXPECT_EQ(refused.error().text, "Slave has XDP program loaded, please unload before enslaving");
  EXPECT_EQ(a.effective(kPort)->name(), "q");
}

TEST_F(AttachRules, MemberGetsTheBondsProgramAndLosesItOnRelease) {
  const ProgramRef p = program("p");
  ASSERT_TRUE(a.attach(kBond, p, false).ok());
  ASSERT_TRUE(a.enslave(kBond, kPort).ok());
  EXPECT_EQ(a.effective(kPort), p);
  a.release(kPort);
  EXPECT_EQ(a.effective(kPort), nullptr);
}

TEST_F(AttachRules, BondUnderABond) {
  ASSERT_TRUE(a.enslave(kTop, kBond).ok());
  const ProgramRef p = program("p");
  ASSERT_TRUE(a.attach(kTop, p, false).ok());
  EXPECT_EQ(a.effective(kS0), p) << "the upper one's program reaches the lowest members";
  EXPECT_EQ(a.attach(kBond, program("q"), false).error().code, EEXIST);
  EXPECT_EQ(a.attach(kS1, program("q"), false).error().code, EEXIST);
  ASSERT_TRUE(a.detach(kTop).ok());
  ASSERT_TRUE(a.attach(kS1, program("q"), false).ok());
  EXPECT_EQ(a.attach(kTop, p, false).error().code, EOPNOTSUPP) << "a member two levels down counts";
}

TEST_F(AttachRules, RemovedBondLeavesItsMembersFree) {
  ASSERT_TRUE(a.attach(kBond, program("p"), false).ok());
  a.remove_device(kBond);
  EXPECT_EQ(a.effective(kS0), nullptr);
  EXPECT_TRUE(a.attach(kS0, program("q"), false).ok());
}

}  // namespace
}  // namespace xbond::xdp
