// P7, failover: from the loss of the active member's carrier to the first frame by the other one, under load; the whole
// appliance between rings, found by polling and by the driver's event. Nothing may be lost, doubled or overtaken.
#include <fmt/core.h>
#include <rte_cycles.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/perf/harness.hpp"
#include "tests/rig/rig.hpp"

namespace xbond::perf {
namespace {

constexpr int kMiimonMs = 5;
constexpr double kKernelMs = 100;  // its miimon
constexpr unsigned kGiveUpMs = 2000;

struct Rig {
  // The appliance goes first: it closes the ports, whose rings hold frames of the traffic's pool.
  std::unique_ptr<rig::Traffic> traffic;
  std::unique_ptr<rig::Members> members;
  std::unique_ptr<app::Appliance> appliance;
};

Result<Rig> make_rig() {
  Rig made;
  auto members = rig::Members::create("failover", 2, rig::Wires::each);
  if (!members) {
    return members.error();
  }
  made.members = std::move(members.value());
  app::BondOption bond{.name = "failover",
                       .members = {made.members->device(0), made.members->device(1)},
                       .options = {{"mode", "active-backup"}, {"miimon", fmt::format("{}", kMiimonMs)}}};
  auto appliance = rig::make_appliance({bond}, XBOND_TX_OBJECT);
  if (!appliance) {
    return appliance.error();
  }
  made.appliance = std::move(appliance.value());
  auto traffic = rig::Traffic::create("failover", *made.members);
  if (!traffic) {
    return traffic.error();
  }
  made.traffic = std::move(traffic.value());
  if (Status ok = made.appliance->start(); !ok) {
    return ok.error();
  }
  return made;
}

// Milliseconds until a frame came by `wire`; negative: none did.
double first_frame(const rig::Traffic& traffic, unsigned wire, uint64_t since) {
  for (unsigned i = 0; i < kGiveUpMs * 10 && traffic.first_at(wire) == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  const uint64_t at = traffic.first_at(wire);
  return at == 0 ? -1 : static_cast<double>(at - since) * 1000 / static_cast<double>(rte_get_tsc_hz());
}

// Cuts the active member again and again.
Result<std::vector<double>> cut(const Rig& rig, bool event, double seconds) {
  std::vector<double> took;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    const unsigned active = rig.appliance->with_core([](app::Core& core) {
      return core.find_bond("failover")->active();
    }) == rig.members->port(0)
                                ? 0
                                : 1;
    rig.traffic->expect(1 - active);
    const uint64_t since = rte_rdtsc();
    rig.members->carrier(active, false, event);
    took.push_back(first_frame(*rig.traffic, 1 - active, since));
    if (took.back() < 0) {
      return fail(ETIMEDOUT, fmt::format("no frame by the other member within {} ms", kGiveUpMs));
    }
    rig.members->carrier(active, true, true);
    // No two cuts at the same point of miimon's period.
    std::this_thread::sleep_for(std::chrono::microseconds(20'000 + 1'300 * (took.size() % 8)));
  }
  std::sort(took.begin(), took.end());
  return took;
}

void report(const char* what, const std::vector<double>& took, double target, Table& table) {
  const double median = took[took.size() / 2];
  table.rows.push_back({what, "ms", kKernelMs, median, target});
  table.notes.push_back(fmt::format("{}: {} cuts, median {:.2f} ms, 90 % within {:.2f} ms, the longest {:.2f} ms", what,
                                    took.size(), median, took[took.size() * 9 / 10], took.back()));
}

}  // namespace

Result<Table> failover(const Options& options) {
  Result<Rig> made = make_rig();
  if (!made) {
    return made.error();
  }
  const Rig rig = std::move(made.value());
  rig.traffic->start();
  if (!rig.traffic->wait_for(1000, kGiveUpMs)) {
    rig.traffic->stop();
    return fail(ETIMEDOUT, "no traffic");
  }
  const auto polled = cut(rig, false, options.seconds / 2);
  const auto event = cut(rig, true, options.seconds / 2);
  rig.traffic->stop();
  if (!polled || !event) {
    return polled ? event.error() : polled.error();
  }
  if (const std::string wrong = rig.traffic->verdict(); !wrong.empty()) {
    return fail(EIO, wrong);
  }
  Table table;
  report("polled", *polled, kMiimonMs + 5, table);
  report("event", *event, 1, table);
  table.notes.push_back(fmt::format("{} frames, each once and in order", rig.traffic->received()));
  return table;
}

}  // namespace xbond::perf
