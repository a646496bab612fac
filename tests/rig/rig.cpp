#include "tests/rig/rig.hpp"

#include <fmt/format.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <rte_cycles.h>
#include <rte_eth_ring.h>
#include <rte_ether.h>
#include <rte_ip.h>
#include <rte_malloc.h>
#include <rte_mbuf.h>
#include <rte_udp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <chrono>
#include <cstring>

#include "app/xbond/drops.hpp"
#include "tests/rig/udp_frame.hpp"

// What a driver calls from its interrupt; the headers for drivers are not installed.
extern "C" {
struct rte_eth_dev;
rte_eth_dev* rte_eth_dev_allocated(const char* name);
int rte_eth_dev_callback_process(rte_eth_dev* device, enum rte_eth_event_type event, void* argument);
}

namespace xbond::rig {
namespace {

constexpr unsigned kRing = 4096;
constexpr uint16_t kFrame = test_frame::kFrame, kBurst = 32;
constexpr uint32_t kMark = 0x666c6170;

struct Payload {
  uint32_t mark, flow, number;
};
constexpr size_t kPayloadAt = sizeof(rte_ether_hdr) + sizeof(rte_ipv4_hdr) + sizeof(rte_udp_hdr);

void write(uint8_t* to, uint32_t flow, uint32_t number) {
  test_frame::write_ipv4(to, flow);
  const Payload payload{kMark, flow, number};
  std::memcpy(to + kPayloadAt, &payload, sizeof(payload));
}

Result<Ring> make_ring(const std::string& name) {
  Ring ring(rte_ring_create(name.c_str(), kRing, SOCKET_ID_ANY, 0));
  if (ring == nullptr) {
    return fail(rte_errno, fmt::format("ring {}: {}", name, rte_strerror(rte_errno)));
  }
  return ring;
}

}  // namespace

void RingFree::operator()(rte_ring* ring) const noexcept {
  void* frame = nullptr;
  while (rte_ring_dequeue(ring, &frame) == 0) {
    rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
  }
  rte_ring_free(ring);
}

// --- members

Result<std::unique_ptr<Members>> Members::create(const std::string& name, unsigned count, Wires wires) {
  std::unique_ptr<Members> members(new Members);  // NOLINT(modernize-make-unique): private constructor
  for (unsigned i = 0; i < count; ++i) {
    auto in = make_ring(fmt::format("{}-in{}", name, i));
    if (!in) {
      return in.error();
    }
    members->receive_.push_back(std::move(in.value()));
    if (wires == Wires::each || i == 0) {
      auto out = make_ring(fmt::format("{}-out{}", name, i));
      if (!out) {
        return out.error();
      }
      members->out_.push_back(std::move(out.value()));
    }
    rte_ring* receive = members->receive_.back().get();
    rte_ring* transmit = members->out_.back().get();
    const std::string device = fmt::format("{}{}", name, i);
    const int port = rte_eth_from_rings(device.c_str(), &receive, 1, &transmit, 1, 0);
    if (port < 0) {
      return fail(rte_errno, fmt::format("{}: {}", device, rte_strerror(rte_errno)));
    }
    members->ports_.push_back(static_cast<uint16_t>(port));
    std::array<char, RTE_ETH_NAME_MAX_LEN> full{};
    rte_eth_dev_get_name_by_port(static_cast<uint16_t>(port), full.data());
    members->devices_.emplace_back(full.data());
  }
  return members;
}

void Members::carrier(unsigned member, bool up, bool event) const {
  up ? rte_eth_dev_set_link_up(ports_[member]) : rte_eth_dev_set_link_down(ports_[member]);
  if (event) {
    rte_eth_dev_callback_process(rte_eth_dev_allocated(devices_[member].c_str()), RTE_ETH_EVENT_INTR_LSC, nullptr);
  }
}

// --- traffic

Result<std::unique_ptr<Traffic>> Traffic::create(const std::string& name, const Members& members, Partner* partner) {
  std::unique_ptr<Traffic> traffic(new Traffic);  // NOLINT(modernize-make-unique): private constructor
  traffic->members_ = &members;
  traffic->partner_ = partner;
  traffic->pool_.reset(
      rte_pktmbuf_pool_create(name.c_str(), 4 * kWindow - 1, 64, 0, RTE_MBUF_DEFAULT_BUF_SIZE, SOCKET_ID_ANY));
  if (traffic->pool_ == nullptr) {
    return fail(rte_errno, fmt::format("mempool: {}", rte_strerror(rte_errno)));
  }
  traffic->next_on_wire_.resize(members.out().size());
  return traffic;
}

Status Traffic::feed_tap(const std::string& interface) {
  const auto broken = [&] { return fail(errno, fmt::format("tap {}: {}", interface, std::strerror(errno))); };
  UniqueFd fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
  ifreq request{};
  interface.copy(request.ifr_name, IFNAMSIZ - 1);
  if (!fd || ioctl(fd.get(), SIOCGIFFLAGS, &request) != 0) {
    return broken();
  }
  request.ifr_flags |= IFF_UP;
  if (ioctl(fd.get(), SIOCSIFFLAGS, &request) != 0) {
    return broken();
  }
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_ifindex = static_cast<int>(if_nametoindex(interface.c_str()));
  if (bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return broken();
  }
  tap_ = std::move(fd);
  return {};
}

Traffic::~Traffic() {
  stop();
}

void Traffic::start() {
  running_ = sending_ = true;
  thread_ = std::thread([this] { run(); });
}

void Traffic::pause() {
  sending_ = false;
  // The round under way may have looked before: the one after it is the first that sends nothing
  const uint64_t quiet = rounds_ + 2;
  for (int i = 0; i < 2000 && (rounds_ < quiet || received_ < sent_); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void Traffic::stop() {
  if (!thread_.joinable()) {
    return;
  }
  pause();
  running_ = false;
  thread_.join();
  // What the partner said last is on its way through the appliance.
  for (int i = 0; i < 1000 && rte_mempool_in_use_count(pool_.get()) != 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    drain();
  }
}

void Traffic::drain() {
  for (const Ring& ring : members_->out()) {
    void* frame = nullptr;
    while (rte_ring_dequeue(ring.get(), &frame) == 0) {
      rte_pktmbuf_free(static_cast<rte_mbuf*>(frame));
    }
  }
}

void Traffic::run() {
  const unsigned window = tap_ ? kTapWindow : kWindow;
  while (running_) {
    if (sending_ && sent_ - received_ < window) {
      send();
    }
    receive();
    if (partner_ != nullptr) {
      partner_->poll([this](unsigned link, std::span<const uint8_t> frame) { put_on(members_->in(link), frame); });
    }
    ++rounds_;
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
}

void Traffic::send() {
  std::array<uint8_t, kFrame> frame;
  for (unsigned i = 0; i < kBurst; ++i) {
    write(frame.data(), next_flow_, next_sent_[next_flow_]);
    if (!put(frame.data())) {
      return;
    }
    ++next_sent_[next_flow_];
    next_flow_ = (next_flow_ + 1) % kFlows;
    ++sent_;
  }
}

bool Traffic::put(const uint8_t* frame) {
  return tap_ ? ::send(tap_.get(), frame, kFrame, MSG_DONTWAIT) == kFrame : put_on(members_->in(0), {frame, kFrame});
}

bool Traffic::put_on(rte_ring* ring, std::span<const uint8_t> frame) {
  rte_mbuf* mbuf = rte_pktmbuf_alloc(pool_.get());
  char* bytes = mbuf == nullptr ? nullptr : rte_pktmbuf_append(mbuf, static_cast<uint16_t>(frame.size()));
  if (bytes != nullptr) {
    std::memcpy(bytes, frame.data(), frame.size());
    if (rte_ring_enqueue(ring, mbuf) == 0) {
      return true;
    }
  }
  rte_pktmbuf_free(mbuf);
  return false;
}

void Traffic::receive() {
  std::array<rte_mbuf*, kBurst> frames;
  for (unsigned wire = 0; wire < members_->out().size(); ++wire) {
    rte_ring* ring = members_->out()[wire].get();
    while (const unsigned n = rte_ring_dequeue_burst(ring, reinterpret_cast<void**>(frames.data()), kBurst, nullptr)) {
      const uint64_t now = rte_rdtsc();
      for (unsigned i = 0; i < n; ++i) {
        judge(frames[i], wire);
      }
      uint64_t none = 0;
      first_at_[wire].compare_exchange_strong(none, now);
      rte_pktmbuf_free_bulk(frames.data(), n);
    }
  }
}

void Traffic::judge(const rte_mbuf* frame, unsigned wire) {
  Payload payload{};
  if (frame->data_len == kFrame) {
    std::memcpy(&payload, rte_pktmbuf_mtod_offset(frame, const uint8_t*, kPayloadAt), sizeof(payload));
  }
  if (payload.mark != kMark || payload.flow >= kFlows) {
    ++foreign_;  // the bond's own: announcements, learning packets, LACP
    if (partner_ != nullptr) {
      partner_->heard(wire, {rte_pktmbuf_mtod(frame, const uint8_t*), frame->data_len});
    }
    return;
  }
  ++received_;
  ++came_[payload.flow];
  uint32_t& wanted = members_->out().size() == 1 ? next_wanted_[payload.flow] : next_on_wire_[wire][payload.flow];
  const bool right = members_->out().size() == 1 ? payload.number == wanted : payload.number >= wanted;
  if (!right && wrong_++ == 0) {
    first_wrong_ = fmt::format("flow {}: {} came where {} was due", payload.flow, payload.number, wanted);
  }
  wanted = payload.number + 1;
}

bool Traffic::wait_for(uint64_t more, unsigned milliseconds) const {
  const uint64_t until = received_ + more;
  for (unsigned i = 0; i < milliseconds * 10 && received_ < until; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
  return received_ >= until;
}

std::string Traffic::verdict() const {
  std::string out;
  if (received_ != sent_) {
    out += fmt::format("{} frames went in, {} came out; ", sent_.load(), received_.load());
  }
  if (wrong_ != 0) {
    out += fmt::format("{} frames out of order or twice, the first: {}; ", wrong_, first_wrong_);
  }
  if (came_ != next_sent_) {
    out += "not every flow is complete; ";
  }
  if (const unsigned held = rte_mempool_in_use_count(pool_.get()); held != 0) {
    out += fmt::format("{} frames are still held; ", held);
  }
  return out;
}

// --- the appliance

Result<std::unique_ptr<app::Appliance>> make_appliance(std::vector<app::BondOption> bonds, const std::string& object) {
  app::Options options;
  if (!object.empty()) {
    options.xdp.push_back({.target = bonds.front().name, .object = object, .program = ""});
  }
  options.bonds = std::move(bonds);
  return app::Appliance::create(options, [](const std::string& /*line*/) {});
}

std::string drops(app::Appliance& appliance, std::optional<xdp::Drop> but) {
  const std::string_view left_out = but ? xdp::kDropNames[static_cast<size_t>(*but)] : "";
  std::string all;
  for (const app::Device& device : appliance.devices()) {
    for (const auto& [reason, frames] : app::drops_of(appliance, device)) {
      if (frames != 0 && reason != left_out) {
        all += fmt::format("{} frames dropped by {}: {}; ", frames, device.name, reason);
      }
    }
  }
  return all;
}

}  // namespace xbond::rig
