// The whole appliance in one process between rings: numbered flows go into a bond's first member, from which a program
// sends them out by the bond (XDP_TX), or into its tap, and what leaves is checked frame by frame. Nothing here loses
// frames, so none may be missing, come twice or overtake another of its flow. Thread: main, but for traffic, which has
// one of its own.
#pragma once

#include <rte_ethdev.h>
#include <rte_mempool.h>
#include <rte_ring.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "app/xbond/appliance.hpp"
#include "lib/unique_fd.hpp"
#include "tests/rig/partner.hpp"

namespace xbond::rig {

struct MempoolFree {
  void operator()(rte_mempool* pool) const noexcept { rte_mempool_free(pool); }
};
struct RingFree {
  void operator()(rte_ring* ring) const noexcept;  // and the frames in it
};
using Mempool = std::unique_ptr<rte_mempool, MempoolFree>;
using Ring = std::unique_ptr<rte_ring, RingFree>;

// What members send: one ring for all, in which the order of all frames can be seen, or one each, which shows who sent.
enum class Wires : uint8_t { one, each };

class Members {
 public:
  // net_ring devices NAME0 … ; every name is new in the process. The appliance closes what it opened of them.
  static Result<std::unique_ptr<Members>> create(const std::string& name, unsigned count, Wires wires);

  [[nodiscard]] const std::string& device(unsigned member) const { return devices_[member]; }
  [[nodiscard]] uint16_t port(unsigned member) const { return ports_[member]; }
  [[nodiscard]] size_t count() const { return ports_.size(); }
  // What a member receives.
  [[nodiscard]] rte_ring* in(unsigned member) const { return receive_[member].get(); }
  [[nodiscard]] const std::vector<Ring>& out() const { return out_; }

  // The carrier, as the driver has it; `event`: it tells of it, as a NIC's interrupt does, else polling finds it.
  void carrier(unsigned member, bool up, bool event) const;

 private:
  Members() = default;
  std::vector<Ring> receive_, out_;
  std::vector<std::string> devices_;
  std::vector<uint16_t> ports_;
};

// Numbered flows at a steady pace, and the judgement on what comes out.
class Traffic {
 public:
  // Fewer than a burst has frames, so that it can hold two of a flow; and no multiple of a number of members.
  static constexpr unsigned kFlows = 23;
  static constexpr unsigned kWindow = 1024;    // frames under way at most
  static constexpr unsigned kTapWindow = 256;  // fewer than the kernel queues on a tap

  // Frames go into the first member. `partner`, if there is one, answers on each member's wire, and outlives this.
  static Result<std::unique_ptr<Traffic>> create(const std::string& name, const Members& members,
                                                 Partner* partner = nullptr);
  // From now on they go into that interface of the host's, which this sets up.
  Status feed_tap(const std::string& interface);
  ~Traffic();
  Traffic(const Traffic&) = delete;
  Traffic& operator=(const Traffic&) = delete;

  void start();
  // Sends no more and waits for what is under way, 2 s at most.
  void pause();
  void resume() { sending_ = true; }
  // Pauses, ends, and frees what was left on the wires.
  void stop();
  // Frees what is on the wires. After stop(): bonds go on saying things of their own.
  void drain();

  [[nodiscard]] uint64_t received() const { return received_; }
  // The TSC when the first frame after expect() came by the wire; 0: none yet.
  void expect(unsigned wire) { first_at_[wire] = 0; }
  [[nodiscard]] uint64_t first_at(unsigned wire) const { return first_at_[wire]; }
  [[nodiscard]] bool wait_for(uint64_t more, unsigned milliseconds) const;

  // After stop(): empty when all is well, else what is wrong.
  [[nodiscard]] std::string verdict() const;

 private:
  Traffic() = default;
  void run();
  void send();
  bool put(const uint8_t* frame);
  bool put_on(rte_ring* ring, std::span<const uint8_t> frame);
  void receive();
  void judge(const rte_mbuf* frame, unsigned wire);

  const Members* members_ = nullptr;
  Partner* partner_ = nullptr;
  UniqueFd tap_;
  Mempool pool_;
  std::thread thread_;
  std::atomic<bool> sending_{false}, running_{false};
  std::atomic<uint64_t> rounds_{0};  // of the thread
  std::atomic<uint64_t> received_{0}, sent_{0};
  unsigned next_flow_ = 0;
  std::array<uint32_t, kFlows> next_sent_{};
  std::array<uint32_t, kFlows> next_wanted_{};              // one wire: exactly this one
  std::vector<std::array<uint32_t, kFlows>> next_on_wire_;  // each: no earlier one
  std::array<uint32_t, kFlows> came_{};
  uint64_t wrong_ = 0, foreign_ = 0;
  std::string first_wrong_;
  std::array<std::atomic<uint64_t>, RTE_MAX_ETHPORTS> first_at_{};
};

// `object` holds the program, none if it is empty; `bonds` as --bond would have them, the first being the one that it
// is attached to.
Result<std::unique_ptr<app::Appliance>> make_appliance(std::vector<app::BondOption> bonds, const std::string& object);

// Frames that the appliance dropped, by device and reason, but for one reason; empty: none.
[[nodiscard]] std::string drops(app::Appliance& appliance, std::optional<xdp::Drop> but);

}  // namespace xbond::rig
