// The LACP codec and a whole group: the input is a list of steps of frames, time and changes. Beside the sanitizers,
// the properties must hold: three PDUs a second and port at most, one active aggregator, only working ports usable.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <vector>

#include "lib/lacp/lacp.hpp"

namespace {

using namespace xbond::lacp;

constexpr uint16_t kPortIds = 5;
// A group's clock stops in the last 1000 s of its 584 years; from a little before that on only the sanitizers watch.
constexpr Time kEndOfTime = kNever - 4000 * kSecond;

void require(bool condition) {
  if (!condition) std::abort();
}

// Bytes of the input, zero after its end.
class Input {
 public:
  explicit Input(std::span<const uint8_t> bytes) : bytes_(bytes) {}
  [[nodiscard]] bool empty() const { return bytes_.empty(); }
  uint8_t byte() {
    if (bytes_.empty()) return 0;
    const uint8_t value = bytes_.front();
    bytes_ = bytes_.subspan(1);
    return value;
  }
  uint16_t word() { return static_cast<uint16_t>(byte() | byte() << 8U); }
  std::span<const uint8_t> take(std::size_t length) {
    const auto taken = bytes_.first(std::min(length, bytes_.size()));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }

 private:
  std::span<const uint8_t> bytes_;
};

Mac small_mac(uint8_t number) {
  return {0x02, 0, 0, 0, 0, static_cast<uint8_t>(number % 4)};
}

Link link_of(uint8_t byte) {
  constexpr std::array<uint32_t, 8> kSpeeds{10000, 10000, 0, 1000, 25000, 12345, UINT32_MAX, 800000};
  return {(byte & 1U) == 0, kSpeeds[byte >> 1U & 7U], (byte & 0x10U) == 0};
}

Options options_of(Input& input) {
  const uint8_t bits = input.byte();
  Options options;
  options.lacp_active = (bits & 1U) == 0;
  options.lacp_rate = (bits & 2U) == 0 ? Rate::slow : Rate::fast;
  options.coupled_control = (bits & 4U) == 0;
  options.ad_select = static_cast<Select>(bits >> 3U & 3U);
  options.min_links = bits >> 5U;
  const uint8_t more = input.byte();
  options.ad_actor_sys_prio = static_cast<uint16_t>(more & 3U);                // 0 is refused
  options.ad_user_port_key = static_cast<uint16_t>((more >> 2U & 7U) * 200U);  // some too great
  if ((more & 0x20U) != 0) options.ad_actor_system = small_mac(more >> 6U);
  return options;
}

// The world around a group.
class Bench {
 public:
  explicit Bench(Input& input)
      : input_(input), group_(std::move(Group::create(small_mac(1), Options{}, [this](uint16_t port, auto frame) {
                                          sent(port, frame);
                                        }).value())) {}

  void step() {
    const uint8_t what = input_.byte();
    const auto port = static_cast<uint16_t>((what >> 4U) % kPortIds);
    switch (what & 15U) {
      case 0:
        group_.set_up(true, now_);
        break;
      case 1:
        group_.set_up((input_.byte() & 3U) != 0, now_);
        break;
      case 2:
        (void)group_.set_options(options_of(input_), now_);
        break;
      case 3:
        group_.set_bond_mac(small_mac(input_.byte()), now_);
        break;
      case 4:
        (void)group_.add_port({port, small_mac(input_.byte()), link_of(input_.byte())}, now_);
        break;
      case 5:
        (void)group_.remove_port(port, now_);
        break;
      case 6:
        (void)group_.set_port_priority(port, input_.byte(), now_);
        break;
      case 7:
        group_.link(port, link_of(input_.byte()), now_);
        break;
      case 8:
        group_.receive(port, input_.take(input_.byte()), now_);
        break;
      case 9:
      case 10:
        receive_pdu(port);
        break;
      case 11:
        receive_marker(port);
        break;
      case 12:
        now_ = after(now_, input_.word() * kMillisecond);  // a stall: no tick in between
        group_.tick(now_);
        break;
      case 13:
        now_ = now_ > kNever / 2 ? kNever : now_ * 2 + 1;  // up to the end of time
        group_.tick(now_);
        break;
      default:
        pass(input_.byte() * 25 * kMillisecond);
    }
    if (++steps_ % 8 == 0) check();
  }

  void check() const;

 private:
  // A PDU near a valid one, so that the machines are reached.
  void receive_pdu(uint16_t port) {
    Pdu pdu;
    pdu.actor = {input_.byte(), small_mac(input_.byte()), input_.byte(), 255, port, input_.byte()};
    const auto own = group_.port(port);
    const uint8_t twist = input_.byte();
    if (own) pdu.partner = own->actor;
    if ((twist & 1U) != 0) pdu.partner.state = input_.byte();
    if ((twist & 2U) != 0) pdu.partner.key ^= input_.byte();
    Frame frame = encode(pdu, small_mac(2));
    if ((twist & 4U) != 0) frame[14 + input_.byte() % 110U] = input_.byte();
    std::vector<uint8_t> bytes(frame.begin(), frame.end());
    if ((twist & 8U) != 0) bytes.resize(input_.byte());
    group_.receive(port, bytes, now_);
  }

  void receive_marker(uint16_t port) {
    Frame frame = encode(Pdu{}, small_mac(2));
    frame[14] = 2;
    frame[16] = input_.byte() & 3U;
    group_.receive(port, frame, now_);
  }

  // Time passes as the caller's loop lets it.
  void pass(Time span) {
    const Time end = after(now_, span);
    while (now_ < kEndOfTime) {
      const auto due = group_.next_deadline();
      if (!due || *due > end) break;
      now_ = std::max(now_, *due);
      group_.tick(now_);
      const auto next = group_.next_deadline();
      require(!next || *next > now_);  // else the caller would spin
    }
    now_ = end;
  }

  void sent(uint16_t port, std::span<const uint8_t> frame) {
    const Decoded decoded = decode(frame);
    require(frame.size() == kFrameBytes && port < kPortIds);
    require(decoded.kind == FrameKind::lacpdu || decoded.kind == FrameKind::marker_response);
    if (decoded.kind != FrameKind::lacpdu) return;
    if (now_ >= kEndOfTime) return;
    auto& times = times_[port];
    if (times.size() >= 3) require(now_ - times[times.size() - 3] >= kSecond);
    times.push_back(now_);
    if (times.size() > 8) times.erase(times.begin(), times.begin() + 4);
  }

  Input& input_;
  std::array<std::vector<Time>, kPortIds> times_{};
  Time now_ = kSecond;
  unsigned steps_ = 0;
  Group group_;
};

void Bench::check() const {
  const GroupInfo info = group_.info();
  unsigned active = 0;
  for (const AggregatorInfo& aggregator : info.aggregators) active += aggregator.active ? 1 : 0;
  require(active <= 1);
  std::size_t distributing = 0;
  uint32_t speed = 0;
  for (uint16_t id : group_.ports()) {
    const PortInfo port = group_.port(id).value();
    require(port.collecting == group_.collecting(id));
    if (!port.distributing) continue;
    ++distributing;
    require(info.up && port.link.usable() && info.active && port.aggregator_id == info.active->id);
    require(speed == 0 || speed == port.link.speed_mbps);
    speed = port.link.speed_mbps;
  }
  require(distributing == group_.usable().size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  (void)decode(std::span(data, size));
  Input input(std::span(data, size));
  Bench bench(input);
  while (!input.empty()) bench.step();
  bench.check();
  return 0;
}
