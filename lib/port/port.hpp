// Ethdev ports, physical or virtual alike. Thread: control, unless a function says otherwise.
// set_admin, and set_mac and set_mtu unless told never to, may stop the device, for good or for a moment: meanwhile no
// worker may touch it and nobody may call control_transmit. The caller sees to that (it takes the port from the workers
// first).
#pragma once

#include <rte_ethdev.h>
#include <rte_ether.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bpf_compat/result.hpp"
#include "lib/port/steering.hpp"

struct rte_mempool;
struct rte_ring;

namespace xbond::port {

using Mac = std::array<uint8_t, 6>;
// Says a degradation or a notice in one line (no final newline).
using Notice = std::function<void(const std::string&)>;

struct LinkState {
  bool up = false;          // carrier: the driver's word, or for net_af_packet / net_af_xdp the iface's operstate
  uint32_t speed_mbps = 0;  // 0 or UINT32_MAX: unknown
  bool full_duplex = true;
  bool operator==(const LinkState&) const = default;
};

// Some drivers change some settings on a stopped device only.
enum class Restart : uint8_t {
  allowed,  // stop and start it where it has to be
  never     // then it is EBUSY, and nothing has changed
};

struct Config {
  uint16_t workers = 1;  // how many lcores will poll and transmit
  uint16_t rxq = 0;      // 0: one per worker, within the driver's limit
  uint16_t txq = 0;      // in all; 0: one per worker and one for control, within the driver's limit
  uint16_t rxd = 1024;
  uint16_t txd = 1024;
  uint16_t mtu = 0;  // 0: leave the driver's
  // A receive queue more for slow-protocol frames, where the driver has flow rules; a notice where it has none.
  bool slow_protocol_queue = false;
};

// Owns one ethdev: configures and starts it in open(), stops and closes it in the destructor.
class Port {
 public:
  // `device`: a DPDK port number ("0") or device name ("net_pcap0", "0000:3b:00.0"; probed if EAL has not yet).
  // `pool` (owned by the caller) outlives the port. What the driver lacks degrades with a notice each; fewer transmit
  // queues than workers among them: tx_queues() says how many workers may use the port.
  // Errors: ENODEV no such port (says which there are), EBUSY open already, EINVAL a value that the driver or the pool
  // cannot take, ENOTSUP / driver errno what could not be configured.
  static Result<std::unique_ptr<Port>> open(std::string_view device, const Config& config, rte_mempool* pool,
                                            Notice notice);
  ~Port();
  Port(const Port&) = delete;
  Port& operator=(const Port&) = delete;

  [[nodiscard]] uint16_t id() const { return id_; }
  [[nodiscard]] const std::string& name() const { return name_; }      // device name
  [[nodiscard]] const std::string& driver() const { return driver_; }  // "net_ring"
  [[nodiscard]] const std::string& iface() const { return iface_; }    // kernel netdevice behind it, or empty
  [[nodiscard]] int socket() const { return socket_; }
  [[nodiscard]] uint16_t rx_queues() const { return rx_queues_; }
  [[nodiscard]] uint16_t tx_queues() const { return tx_queues_; }  // queues that workers use: [0, tx_queues)
  // True where control has a tx queue of its own (queue number tx_queues()); else control_ring() (single producer and
  // consumer, of mbufs) is drained by worker 0, in front of its own frames, to queue 0.
  [[nodiscard]] bool own_control_queue() const { return own_control_queue_; }
  [[nodiscard]] rte_ring* control_ring() const { return control_ring_.get(); }

  // Slow-protocol frames apart: true where the port has a receive queue for them, number rx_queues(), beside the
  // workers'. Who steers them polls it.
  [[nodiscard]] bool has_slow_protocol_queue() const { return slow_protocol_queue_; }
  // While on, untagged frames of ethertype 0x8809 arrive there, and nothing else does; across set_admin, too. Off after
  // open(). ENOTSUP: no such queue; else the driver's errno, and they come with the data.
  Status steer_slow_protocols(bool on);
  [[nodiscard]] bool steers_slow_protocols() const { return rule_.active(); }

  // Transmit by control (protocol thread only): takes the frame always. While `workers_stopped` the caller owns every
  // queue, so it sends directly; else by its own queue or the ring. False: dropped and freed.
  bool control_transmit(rte_mbuf* frame, bool workers_stopped) noexcept;

  // Any thread, never blocks. Reads the driver, or the last operstate that the LinkWatch saw. Down while admin is down.
  [[nodiscard]] LinkState link() const noexcept;

  [[nodiscard]] bool admin_up() const { return admin_up_; }
  // port start | stop. Down: the device is stopped, its carrier goes too where the driver can do that (so that the
  // partner sees it), control frames that wait are dropped.
  Status set_admin(bool up);

  [[nodiscard]] Mac mac() const { return mac_; }                      // current
  [[nodiscard]] Mac permanent_mac() const { return permanent_mac_; }  // as the driver had it (or the random local one)
  // ENOTSUP where the driver can't; the port keeps its address. EINVAL: a group address or zero.
  Status set_mac(const Mac& mac, Restart restart = Restart::allowed);
  [[nodiscard]] uint16_t mtu() const;
  // Bytes of payload of an Ethernet frame. On failure the old MTU stays.
  Status set_mtu(uint16_t mtu, Restart restart = Restart::allowed);
  [[nodiscard]] bool promiscuous() const;
  Status set_promiscuous(bool on);
  [[nodiscard]] bool allmulticast() const;
  Status set_allmulticast(bool on);

  // Called by LinkWatch (any thread).
  void operstate(bool up) noexcept;

 private:
  friend class PortOpener;
  struct RingDeleter {
    void operator()(rte_ring* ring) const noexcept;
  };

  Port() = default;
  bool send(uint16_t queue, rte_mbuf* frame) noexcept;
  void drain_control_ring(bool transmit) noexcept;
  Status start();
  Status stop();
  // The device alone; what does not survive a stop is made again.
  int start_device();
  int stop_device();
  [[nodiscard]] Error refusal(int code, const std::string& what) const;
  [[nodiscard]] LinkState poll_link() const noexcept;
  // Runs `apply` (0 or a negative errno), with the device stopped where the driver says EBUSY; see restart.hpp.
  Status reconfigure(const std::function<int()>& apply, const std::function<int()>& undo, Restart restart,
                     const std::string& what);

  uint16_t id_ = UINT16_MAX;
  std::string name_, driver_, iface_;
  int socket_ = 0;
  uint16_t rx_queues_ = 0, tx_queues_ = 0;
  uint16_t frame_room_ = 0;  // bytes of frame that an mbuf of the pool holds
  bool own_control_queue_ = false;
  bool slow_protocol_queue_ = false, steer_ = false;
  SlowProtocolRule rule_;
  bool has_queues_ = false;  // the device may hold mbufs of the pool, so that it has to be closed
  bool carrier_taken_ = false;
  std::unique_ptr<rte_ring, RingDeleter> control_ring_;
  std::atomic<bool> admin_up_{false};
  Mac mac_{}, permanent_mac_{};
  std::atomic<bool> operstate_up_{true};
  mutable std::atomic_flag polling_;
  mutable std::atomic<uint64_t> polled_{0};
};

}  // namespace xbond::port
