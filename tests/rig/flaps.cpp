// xbond-flaps COUNT OBJECT: carrier flaps and membership changes under traffic, COUNT of them spread over kinds of
// bonds. Nothing may be lost, doubled or overtaken, no mbuf may leak, and traffic may not stall. Exit status 0 or 1.
#include <fmt/core.h>

#include <charconv>
#include <chrono>
#include <cmath>
#include <random>
#include <string_view>

#include "tests/perf/eal.hpp"
#include "tests/rig/rig.hpp"

namespace xbond::rig {
namespace {

constexpr unsigned kMembers = 4;
constexpr unsigned kStallMs = 5000;
constexpr uint64_t kProgress = 256;

// Where traffic comes in: the first member, whose program sends it back by the bond, or the bond's tap (a program on
// balance-tlb or balance-alb has no XDP_TX, as in Linux).
enum class Feed : uint8_t { member, tap };
using Options = std::vector<std::pair<std::string, std::string>>;

struct Kind {
  const char* name;
  Options options;
  Options changes = {};  // options that are set now and then
  bool nested = false;   // the last two members under a bond of their own
  Feed feed = Feed::member;
  bool lacp = false;   // every eighth change, the partners are given the time to agree
  unsigned every = 1;  // it takes one change where others take so many
};

std::vector<Kind> kinds() {
  const Options xor34{{"mode", "balance-xor"}, {"xmit_hash_policy", "layer3+4"}};
  const Options policies{
      {"xmit_hash_policy", "layer2"}, {"xmit_hash_policy", "layer2+3"}, {"xmit_hash_policy", "layer3+4"}};
  return {{.name = "active-backup",
           .options = {{"mode", "active-backup"}},
           .changes = {{"primary_reselect", "1"}, {"primary_reselect", "0"}}},
          {.name = "balance-xor", .options = xor34, .changes = policies},
          {.name = "active-backup over balance-xor",
           .options = {{"mode", "active-backup"}},
           .changes = {{"all_slaves_active", "1"}},
           .nested = true},
          {.name = "balance-xor over balance-xor", .options = xor34, .nested = true},
          {.name = "balance-tlb", .options = {{"mode", "balance-tlb"}}, .feed = Feed::tap, .every = 2},
          {.name = "balance-alb", .options = {{"mode", "balance-alb"}}, .feed = Feed::tap, .every = 2},
          {.name = "802.3ad",
           .options = {{"mode", "802.3ad"}, {"lacp_rate", "fast"}, {"xmit_hash_policy", "layer3+4"}},
           .changes = policies,
           .lacp = true,
           .every = 4}};
}

class Run {
 public:
  Run(const Kind& kind, unsigned number, unsigned seed)
      : kind_(kind), name_(fmt::format("flaps{}", number)), random_(seed) {}

  ~Run() {
    if (traffic_ != nullptr) {
      traffic_->stop();
    }
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  Status prepare(const std::string& object) {
    auto members = Members::create(name_, kMembers, kind_.lacp ? Wires::each : Wires::one);
    if (!members) {
      return members.error();
    }
    members_ = std::move(members.value());
    auto appliance = make_appliance(bonds(), kind_.feed == Feed::tap ? "" : object);
    if (!appliance) {
      return appliance.error();
    }
    appliance_ = std::move(appliance.value());
    if (Status ok = make_traffic(); !ok) {
      return ok;
    }
    held_before_ = rte_mempool_in_use_count(rte_mempool_lookup("xbond"));
    return appliance_->start();
  }

  Status flap(unsigned count) {
    traffic_->start();
    for (unsigned i = 1; i <= count; ++i) {
      Status ok = i % 64 == 0  ? restart()
                  : i % 8 == 0 ? change_membership()
                  : i % 8 == 4 ? change_option()
                               : change_carrier();
      if (!ok) {
        return fail(ok.error().code, fmt::format("{}: change {}: {}", kind_.name, i, ok.error().text));
      }
      if (!traffic_->wait_for(kProgress, kStallMs)) {
        return fail(ETIMEDOUT, fmt::format("{}: traffic stalls after change {}", kind_.name, i));
      }
      if (kind_.lacp && i % 8 == 0 && !agree()) {
        return fail(ETIMEDOUT, fmt::format("{}: the partners do not agree after change {}", kind_.name, i));
      }
    }
    traffic_->stop();
    return judge(count);
  }

 private:
  Status make_traffic() {
    if (kind_.lacp) {
      auto partner = Partner::create(kMembers);
      if (!partner) {
        return partner.error();
      }
      partner_ = std::move(partner.value());
    }
    auto traffic = Traffic::create(name_, *members_, partner_.get());
    if (!traffic) {
      return traffic.error();
    }
    traffic_ = std::move(traffic.value());
    return kind_.feed == Feed::tap ? traffic_->feed_tap("upper") : Status{};
  }

  [[nodiscard]] std::vector<app::BondOption> bonds() const {
    app::BondOption upper{.name = "upper", .members = {}, .options = kind_.options};
    upper.options.emplace_back("miimon", "5");
    app::BondOption lower{.name = "lower", .members = {}, .options = {{"mode", "balance-xor"}, {"miimon", "5"}}};
    for (unsigned i = 0; i < kMembers; ++i) {
      (kind_.nested && i >= 2 ? lower : upper).members.push_back(members_->device(i));
    }
    if (!kind_.nested) {
      return {upper};
    }
    upper.members.emplace_back("lower");
    return {upper, lower};
  }

  unsigned pick(unsigned from, unsigned to) { return std::uniform_int_distribution<unsigned>(from, to)(random_); }

  Status change_carrier() {
    // What comes from the host has no other way out where no member is up: one always is.
    const unsigned member = pick(kind_.feed == Feed::tap ? 1 : 0, kMembers - 1);
    carrier_[member] = !carrier_[member];
    members_->carrier(member, carrier_[member], pick(0, 1) == 1);
    if (partner_ != nullptr) {
      partner_->carrier(member, carrier_[member]);
    }
    for (int i = 0; i < 2000; ++i) {
      if (is_known(member)) {
        return {};
      }
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
    return fail(ETIMEDOUT, fmt::format("nobody saw the carrier of {}", members_->device(member)));
  }

  // Its bond, if it is in one, has the member's carrier as it is.
  bool is_known(unsigned member) {
    const std::string wrong = fmt::format(R"("name":"{}","port":{},"link":"{}")", members_->device(member),
                                          members_->port(member), carrier_[member] ? "down" : "up");
    return appliance_->with_core([&](app::Core& core) {
      const bond::Bond* bond = core.bond_of(members_->port(member));
      return bond == nullptr || bond->json().find(wrong) == std::string::npos;
    });
  }

  // The first member is where traffic comes in: it stays.
  Status change_membership() {
    const bool inner = kind_.nested && pick(0, 2) == 0;
    const unsigned member = kind_.nested ? pick(1, 3) : pick(1, kMembers - 1);
    const std::string name = inner ? "lower" : members_->device(member);
    const std::string bond = !inner && kind_.nested && member >= 2 ? "lower" : "upper";
    bool& out = inner ? lower_out_ : out_[member];
    const auto device = appliance_->find(name);
    const auto target = appliance_->find(bond);
    if (!device || !target) {
      return fail(ENODEV, "no such device");
    }
    out = !out;
    return out ? appliance_->remove_member(*target.value(), *device.value())
               : appliance_->add_member(*target.value(), *device.value());
  }

  Status change_option() {
    if (kind_.changes.empty()) {
      return change_carrier();
    }
    const auto& [option, value] = kind_.changes[pick(0, static_cast<unsigned>(kind_.changes.size()) - 1)];
    return appliance_->with_core([&](app::Core& core) { return core.set_bond_option("upper", option, value); });
  }

  // All members that have carrier send, 10 s at most from now on.
  bool agree() {
    unsigned wanted = 0;
    for (unsigned i = 0; i < kMembers; ++i) {
      wanted += carrier_[i] && !out_[i] ? 1 : 0;
    }
    for (int i = 0; i < 1000; ++i) {
      const auto usable = appliance_->with_core([&](app::Core& core) {
        const bond::Bond* bond = core.bond_of(members_->port(0));
        return bond == nullptr ? 0U : unsigned{bond->table().usable};
      });
      if (usable == wanted) {
        return true;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }

  // 802.3ad: what members receive while workers are stopped is dropped, but for LACP.
  Status restart() {
    if (kind_.lacp) {
      traffic_->pause();
    }
    if (Status ok = appliance_->stop(); !ok) {
      return ok;
    }
    Status ok = appliance_->start();
    traffic_->resume();
    return ok;
  }

  Status judge(unsigned count) {
    // To a port that has left its bond, the partner's PDUs are data for a host that it has not
    std::string wrong =
        traffic_->verdict() + drops(*appliance_, kind_.lacp ? std::optional(xdp::Drop::no_host) : std::nullopt);
    if (const unsigned held = held_now(); held != held_before_) {
      wrong += fmt::format("{} mbufs of the appliance are held, {} before; ", held, held_before_);
    }
    if (!wrong.empty()) {
      return fail(EIO, fmt::format("{}: {}", kind_.name, wrong));
    }
    fmt::print("    {}: {} changes, {} frames, each once and in order\n", kind_.name, count, traffic_->received());
    return {};
  }

  // What the bond says by itself leaves by the wires, at any time.
  [[nodiscard]] unsigned held_now() const {
    unsigned held = 0;
    for (int i = 0; i < 100; ++i) {
      traffic_->drain();
      held = rte_mempool_in_use_count(rte_mempool_lookup("xbond"));
      if (held == held_before_) {
        break;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return held;
  }

  const Kind& kind_;
  std::string name_;
  std::minstd_rand random_;
  unsigned held_before_ = 0;
  std::array<bool, kMembers> carrier_{true, true, true, true};
  std::array<bool, kMembers> out_{};
  bool lower_out_ = false;
  // The appliance goes first: it closes the ports, whose rings hold frames of the traffic's pool.
  std::unique_ptr<Partner> partner_;
  std::unique_ptr<Traffic> traffic_;
  std::unique_ptr<Members> members_;
  std::unique_ptr<app::Appliance> appliance_;
};

int run(unsigned count, const std::string& object) {
  if (Status ok = perf::start_eal("xbond-flaps", 2); !ok) {
    fmt::print(stderr, "xbond-flaps: {}\n", ok.error().text);
    return 1;
  }
  const auto all = kinds();
  double shares = 0;
  for (const Kind& kind : all) {
    shares += 1.0 / kind.every;
  }
  for (unsigned i = 0; i < all.size(); ++i) {
    Run run(all[i], i, count + i);
    Status ok = run.prepare(object);
    if (ok) {
      ok = run.flap(static_cast<unsigned>(std::ceil(count / shares / all[i].every)));
    }
    if (!ok) {
      fmt::print(stderr, "xbond-flaps: {}\n", ok.error().text);
      return 1;
    }
  }
  return 0;
}

}  // namespace
}  // namespace xbond::rig

int main(int argc, char** argv) {
  const std::string_view number = argc == 3 ? argv[1] : "";
  unsigned count = 0;
  const auto [end, ec] = std::from_chars(number.data(), number.data() + number.size(), count);
  if (argc != 3 || ec != std::errc() || end != number.data() + number.size() || count < 4) {
    fmt::print(stderr, "usage: xbond-flaps COUNT OBJECT\n");
    return 2;
  }
  return xbond::rig::run(count, argv[2]);
}
