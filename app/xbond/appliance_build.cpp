// How an appliance comes to be: ports, workers, devices, programs, in this order.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "app/xbond/appliance.hpp"
#include "lib/bond/options.hpp"

namespace xbond::app {
namespace {

constexpr uint16_t kStandardMtu = 1500;
// Ethernet header and two VLAN tags
constexpr uint16_t kFrameOverhead = 14 + 8;

struct Wanted {
  std::string device;
  PortOption option;
  bool lacp = false;  // below a bond in 802.3ad
};

bool asks_for_lacp(const BondOption& bond) {
  const bond::Option& mode = *bond::find_option("mode", false);
  return std::any_of(bond.options.begin(), bond.options.end(), [&](const auto& option) {
    const auto value = bond::parse_value(mode, option.second);
    return option.first == mode.name && value && *value == static_cast<int64_t>(bond::Mode::ieee8023ad);
  });
}

// The bond or one above it, as far as bonds go: options may still name each other in a circle.
bool speaks_lacp(const Options& options, const BondOption& bond) {
  const BondOption* at = &bond;
  for (size_t level = 0; at != nullptr && level < options.bonds.size(); ++level) {
    if (asks_for_lacp(*at)) {
      return true;
    }
    const auto above = std::find_if(options.bonds.begin(), options.bonds.end(), [&](const BondOption& upper) {
      return std::find(upper.members.begin(), upper.members.end(), at->name) != upper.members.end();
    });
    at = above == options.bonds.end() ? nullptr : &*above;
  }
  return false;
}

// Every port that the options name, once each, with its own settings where --port gives some.
std::vector<Wanted> wanted_ports(const Options& options) {
  std::vector<Wanted> wanted;
  for (const PortOption& port : options.ports) {
    wanted.push_back({port.device, port});
  }
  for (unsigned i = 0; i < 64; ++i) {
    if ((options.portmask >> i & 1) != 0) {
      wanted.push_back({fmt::format("{}", i), {}});
    }
  }
  for (const BondOption& bond : options.bonds) {
    const bool lacp = speaks_lacp(options, bond);
    for (const std::string& member : bond.members) {
      if (!names_bond(options, member)) {
        wanted.push_back({member, {}, lacp});
      }
    }
  }
  return wanted;
}

uint16_t either(uint16_t own, uint16_t common) {
  return own != 0 ? own : common;
}

// Enough for every descriptor, every ring and every lcore's cache to be full at once.
unsigned pool_size(const Options& options, size_t ports, size_t devices, size_t workers) {
  const size_t descriptors = ports * (workers + 1) * (options.rxd + options.txd);
  const size_t rings = devices * workers * 2 * 1024 + workers * workers * xdp::CpuMesh::kFrames;
  const size_t in_flight = workers * (2 * 512 + RTE_MAX_ETHPORTS * (port::kFlushAt + port::kMaxBurst));
  return static_cast<unsigned>(std::clamp<size_t>(descriptors + rings + in_flight, 8192, 1U << 20));
}

}  // namespace

std::string tap_name(std::string device) {
  std::replace(device.begin(), device.end(), ':', '-');
  return device;
}

Result<std::unique_ptr<Appliance>> Appliance::create(const Options& options, const port::Notice& notice) {
  std::unique_ptr<Appliance> self(new Appliance());  // NOLINT(modernize-make-unique): private constructor
  self->engine_ = options.engine;
  self->notice_ = notice;
  auto mailbox = control::Mailbox::create();
  if (!mailbox) {
    return mailbox.error();
  }
  self->mailbox_ = std::move(mailbox.value());
  if (Status ok = self->open_ports(options, notice); !ok) {
    return ok.error();
  }
  if (Status ok = self->make_workers(options, notice); !ok) {
    return ok.error();
  }
  if (Status ok = self->make_devices(options, notice); !ok) {
    return ok.error();
  }
  for (const XdpOption& xdp : options.xdp) {
    auto target = self->find(xdp.target);
    if (!target) {
      return fail(ENODEV, fmt::format("--xdp {}: {}", xdp.target, target.error().text));
    }
    if (Status ok = self->attach(*target.value(), xdp.object, xdp.program, false); !ok) {
      return fail(ok.error().code, fmt::format("--xdp {}: {}", xdp.target, ok.error().text));
    }
  }
  if (Status ok = self->protocol_->start(); !ok) {
    return ok.error();
  }
  self->with_core([](Core& core) { core.timer(); });
  return self;
}

Status Appliance::open_ports(const Options& options, const port::Notice& notice) {
  const std::vector<Wanted> wanted = wanted_ports(options);
  if (wanted.empty()) {
    return fail(EINVAL, "no ports: name some with --port or --bond (see --help)");
  }
  const auto lcores = dataplane::WorkerPool::choose_lcores(options.nb_cores);
  if (lcores.size() < options.nb_cores) {
    return fail(EINVAL, fmt::format("--nb-cores {}: there are only {} lcores; give more with the EAL option -l",
                                    options.nb_cores, lcores.size()));
  }
  uint16_t mtu = kStandardMtu;
  for (const Wanted& w : wanted) {
    mtu = std::max(mtu, w.option.mtu);
  }
  const uint16_t room = std::max<uint16_t>(RTE_MBUF_DEFAULT_DATAROOM, mtu + kFrameOverhead);
  auto pool =
      port::make_pool("xbond", pool_size(options, wanted.size(), wanted.size() + options.bonds.size(), lcores.size()),
                      room, SOCKET_ID_ANY);
  if (!pool) {
    return pool.error();
  }
  mbufs_ = std::move(pool.value());

  std::set<uint16_t> opened;
  for (const Wanted& w : wanted) {
    const port::Config config{.workers = static_cast<uint16_t>(lcores.size()),
                              .rxq = either(w.option.rxq, options.rxq),
                              .txq = either(w.option.txq, options.txq),
                              .rxd = either(w.option.rxd, options.rxd),
                              .txd = either(w.option.txd, options.txd),
                              .mtu = w.option.mtu,
                              .slow_protocol_queue = w.lacp};
    auto port = port::Port::open(w.device, config, mbufs_.get(), notice);
    if (!port) {
      return port.error();
    }
    if (!opened.insert(port.value()->id()).second) {
      return fail(EBUSY, fmt::format("port {} ({}) is named twice: a port can be used once only", w.device,
                                     port.value()->name()));
    }
    if (w.option.promiscuous) {
      if (Status ok = port.value()->set_promiscuous(true); !ok) {
        return ok;
      }
    }
    ports_.push_back(std::move(port.value()));
  }
  // ifindexes are given in port order.
  std::sort(ports_.begin(), ports_.end(), [](const auto& a, const auto& b) { return a->id() < b->id(); });
  return {};
}

Status Appliance::make_workers(const Options& options, const port::Notice& notice) {
  // A tx queue has one owner: the port with the fewest decides how many workers there can be.
  size_t count = options.nb_cores;
  for (const auto& port : ports_) {
    if (port->tx_queues() < count) {
      count = port->tx_queues();
      notice(fmt::format("{} has {} tx queue{}: {} worker{} instead of {}", port->name(), count, count == 1 ? "" : "s",
                         count, count == 1 ? "" : "s", options.nb_cores));
    }
  }
  auto qsbr = dataplane::Qsbr::create(static_cast<uint32_t>(count));
  if (!qsbr) {
    return qsbr.error();
  }
  qsbr_ = std::move(qsbr.value());
  published_ = std::make_unique<dataplane::Published>(*qsbr_);
  pool_ = std::make_unique<dataplane::WorkerPool>(dataplane::WorkerPool::choose_lcores(static_cast<unsigned>(count)),
                                                  options.burst, *published_, *qsbr_);
  for (size_t worker = 0; worker < count; ++worker) {
    auto punt = xdp::PuntRing::create(static_cast<unsigned>(worker), SOCKET_ID_ANY);
    if (!punt) {
      return punt.error();
    }
    pool_->workers()[worker]->punt_to(punt->worker_end());
    punts_.push_back(std::move(punt.value()));
  }
  auto mesh = xdp::CpuMesh::create(static_cast<unsigned>(count), SOCKET_ID_ANY);
  if (!mesh) {
    return mesh.error();
  }
  cpus_ = std::move(mesh.value());
  for (size_t worker = 0; worker < count; ++worker) {
    pool_->workers()[worker]->share_cpus(cpus_.of(static_cast<unsigned>(worker)));
  }
  size_t next = 0;  // deals the queues round: one-queue ports spread over the workers
  for (const auto& port : ports_) {
    for (uint16_t q = 0; q < port->rx_queues(); ++q) {
      pool_->workers()[next++ % count]->poll({port->id(), q});
    }
    for (size_t w = 0; w < count; ++w) {
      pool_->workers()[w]->transmit_by(port->id(), static_cast<uint16_t>(w));
    }
    if (!port->own_control_queue()) {
      pool_->workers()[0]->drain({port->id(), port->control_ring()});
    }
  }
  return {};
}

TapRef Appliance::make_tap(const std::string& device, const port::Mac& mac, uint16_t mtu, const port::Notice& notice) {
  TapRef tap;
  tap.name = tap_name(device);
  auto handle = host_->add(tap.name, mac, mtu);
  if (!handle) {
    notice(fmt::format("no tap for {}: {}", device, handle.error().text));
    return tap;
  }
  tap.handle = handle.value();
  auto by_worker = std::make_shared<TapRings>();
  for (const host::Rings& rings : host_->rings(tap.handle)) {
    by_worker->to_host.push_back(rings.to_host);
    by_worker->from_host.push_back(rings.from_host);
  }
  tap.rings = std::move(by_worker);
  taps_[device] = tap.handle;
  return tap;
}

Status Appliance::make_devices(const Options& options, const port::Notice& notice) {
  auto protocol = ProtocolThread::create();
  if (!protocol) {
    return protocol.error();
  }
  protocol_ = std::move(protocol.value());
  auto watch = port::LinkWatch::create();
  if (!watch) {
    return watch.error();
  }
  watch_ = std::move(watch.value());
  auto host = host::Host::create(
      mbufs_.get(), static_cast<uint16_t>(pool_->workers().size()),
      [this](const host::TapChange& change) { (void)mailbox_->post([this, change] { tap_changed(change); }); });
  if (!host) {
    return host.error();
  }
  host_ = std::move(host.value());
  core_ = std::make_unique<Core>(Core::Setup{.published = published_.get(),
                                             .host = host_.get(),
                                             .pool = mbufs_.get(),
                                             .notice = notice,
                                             .wake_at = [this](uint64_t at) { protocol_->wake_at(at); },
                                             .punts = punts_,
                                             .received = [this](uint16_t port) { return received(port); },
                                             .load = [this](uint8_t bond) { return bond_load(bond); }});
  protocol_->on_timer([this] { core_->timer(); });
  if (Status ok = protocol_->watch(watch_->fd(),
                                   [this] {
                                     watch_->handle();
                                     core_->links_changed();
                                   });
      !ok) {
    return ok;
  }

  if (Status ok = make_ports(options, notice); !ok) {
    return ok;
  }
  return make_bonds(options, notice);
}

Status Appliance::make_ports(const Options& options, const port::Notice& notice) {
  std::map<std::string, const PortOption*> by_itself;  // device as the user named it
  for (const PortOption& port : options.ports) {
    by_itself[port.device] = &port;
  }
  const auto in_bond = [&](const port::Port& port) {
    return std::any_of(options.bonds.begin(), options.bonds.end(), [&](const BondOption& bond) {
      return std::any_of(bond.members.begin(), bond.members.end(), [&](const std::string& member) {
        return member == port.name() || member == fmt::format("{}", port.id());
      });
    });
  };
  for (const auto& port : ports_) {
    devices_.push_back({port->name(), ++last_ifindex_, port.get()});
    auto option = by_itself.find(port->name());
    if (option == by_itself.end()) {
      option = by_itself.find(fmt::format("{}", port->id()));
    }
    const bool tap = !in_bond(*port) && (option == by_itself.end() || option->second->host);
    if (!(option == by_itself.end() || option->second->host)) {
      without_tap_.insert(port->id());
    }
    core_->add_port(*port, last_ifindex_, tap ? make_tap(port->name(), port->mac(), port->mtu(), notice) : TapRef{});
    if (Status ok = watch_->add(*port); !ok) {
      notice(ok.error().text);
    }
  }
  return {};
}

// A bond comes after those that are its members, wherever the user put it; ifindexes are in the user's order.
Status Appliance::make_bonds(const Options& options, const port::Notice& notice) {
  if (options.bonds.size() > bond::kMaxBonds) {
    return fail(ENOSPC, fmt::format("{} bonds; at most {} are possible", options.bonds.size(), bond::kMaxBonds));
  }
  std::set<std::string> waiting;
  for (const BondOption& option : options.bonds) {
    waiting.insert(option.name);
  }
  const uint32_t first = last_ifindex_ + 1;
  last_ifindex_ += static_cast<uint32_t>(options.bonds.size());
  while (!waiting.empty()) {
    const size_t before = waiting.size();
    for (size_t i = 0; i < options.bonds.size(); ++i) {
      const BondOption& option = options.bonds[i];
      const bool ready = std::none_of(option.members.begin(), option.members.end(),
                                      [&](const std::string& member) { return waiting.contains(member); });
      if (!ready || !waiting.contains(option.name)) {
        continue;
      }
      if (Status ok = make_bond(option, static_cast<uint8_t>(i), first + static_cast<uint32_t>(i), notice); !ok) {
        return fail(ok.error().code, fmt::format("--bond {}: {}", option.name, ok.error().text));
      }
      waiting.erase(option.name);
    }
    if (waiting.size() == before) {
      return fail(EBUSY, fmt::format("--bond {}: no bond can be below itself", *waiting.begin()));
    }
  }
  std::stable_sort(devices_.begin(), devices_.end(),
                   [](const Device& a, const Device& b) { return a.ifindex < b.ifindex; });
  return {};
}

Status Appliance::make_bond(const BondOption& option, uint8_t index, uint32_t ifindex, const port::Notice& notice) {
  auto bond = bond::Bond::create(option.name, index, option.options);
  if (!bond) {
    return bond.error();
  }
  if (option.members.empty()) {
    return fail(EINVAL, "no member; add member=PORT");
  }
  std::vector<Device> members;
  uint16_t mtu = UINT16_MAX;  // what all can take
  for (const std::string& name : option.members) {
    const auto member = find(name);
    if (!member) {
      return member.error();
    }
    members.push_back(*member.value());
    for (const port::Port* port : ports_below(*member.value())) {
      mtu = std::min(mtu, port->mtu());
    }
  }
  devices_.push_back({option.name, ifindex, nullptr});
  TapRef tap = make_tap(
      option.name, members.front().port != nullptr ? members.front().port->permanent_mac() : mac_of(members.front()),
      mtu, notice);
  if (Status ok = core_->add_bond(std::move(bond.value()), ifindex, std::move(tap)); !ok) {
    return ok;
  }
  for (const Device& member : members) {
    const uint16_t id = member_id(member);
    const std::vector<port::Port*> ports = ports_below(member);
    mtu_alone_[id] = ports.front()->mtu();
    for (port::Port* port : ports) {
      if (Status ok = port->mtu() == mtu ? Status() : port->set_mtu(mtu); !ok) {
        return ok;
      }
    }
    if (Status ok = core_->enslave(option.name, id); !ok) {
      return fail(ok.error().code, fmt::format("member {}: {}", member.name, ok.error().text));
    }
    if (member.port == nullptr) {
      remove_tap(member.name);
    }
  }
  return core_->set_bond_up(option.name, true);
}

}  // namespace xbond::app
