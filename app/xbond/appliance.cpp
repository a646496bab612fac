#include "app/xbond/appliance.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <rte_lcore.h>

#include <algorithm>
#include <charconv>
#include <thread>

#include "bpf_compat/helper/helper.hpp"

namespace xbond::app {
namespace {

// LACP sends at most three PDUs a second: the last one may have to wait.
constexpr auto kFarewellLimit = std::chrono::milliseconds(1200);
// How long a worker may take for one round before control gives up waiting for it.
constexpr auto kRoundLimit = std::chrono::seconds(2);

}  // namespace

Appliance::~Appliance() {
  if (pool_ != nullptr) {
    pool_->stop();
  }
  if (protocol_ != nullptr) {
    protocol_->stop();
  }
  host_.reset();  // its thread may still post; the protocol thread's queue outlives it
  for (const auto& port : ports_) {
    if (watch_ != nullptr) {
      watch_->remove(*port);
    }
  }
}

Status Appliance::start() {
  if (pool_->running()) {
    return fail(EALREADY, "already started");
  }
  // The hand-over of the tx queues: from here on the protocol thread uses its own queue or the ring.
  with_core([](Core& core) { core.workers_stopped(false); });
  Status ok = pool_->start();
  if (!ok) {
    with_core([](Core& core) { core.workers_stopped(true); });
  }
  return ok;
}

Status Appliance::stop() {
  if (!pool_->running()) {
    return fail(EALREADY, "not started");
  }
  pool_->stop();
  with_core([](Core& core) { core.workers_stopped(true); });
  return {};
}

void Appliance::leave() {
  with_core([](Core& core) { core.leave(); });
  const auto deadline = std::chrono::steady_clock::now() + kFarewellLimit;
  while (with_core([](Core& core) { return core.leaving(); }) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// --- names

Result<const Device*> Appliance::find(std::string_view name) const {
  uint16_t number = 0;
  const auto [end, ec] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool numeric = ec == std::errc() && end == name.data() + name.size();
  for (const Device& device : devices_) {
    if (device.name == name || (numeric && device.port != nullptr && device.port->id() == number)) {
      return &device;
    }
  }
  std::vector<std::string_view> names;
  for (const Device& device : devices_) {
    names.push_back(device.name);
  }
  return fail(ENODEV, fmt::format("no bond or port \"{}\"; there are: {}", name, fmt::join(names, ", ")));
}

Result<const Device*> Appliance::find_port(std::string_view name) const {
  auto device = find(name);
  if (device.ok() && device.value()->port == nullptr) {
    return fail(ENODEV, fmt::format("{} is a bond, not a port", name));
  }
  return device;
}

Result<const Device*> Appliance::find_bond(std::string_view name) const {
  auto device = find(name);
  if (device.ok() && device.value()->port != nullptr) {
    return fail(ENODEV, fmt::format("{} is a port, not a bond", name));
  }
  return device;
}

std::vector<port::Port*> Appliance::ports_below(const Device& device) {
  if (device.port != nullptr) {
    return {device.port};
  }
  const auto ids = with_core([&](Core& core) { return core.ports_below(device.name); });
  std::vector<port::Port*> ports;
  for (const uint16_t id : ids) {
    for (const auto& port : ports_) {
      if (port->id() == id) {
        ports.push_back(port.get());
      }
    }
  }
  return ports;
}

std::vector<const Device*> Appliance::members_of(const Device& bond) {
  std::vector<const Device*> members;
  const auto names = with_core([&](Core& core) {
    const bond::Bond& b = *core.find_bond(bond.name);
    std::vector<std::string> all;
    for (const uint16_t member : b.ports()) {
      all.push_back(b.member_name(member));
    }
    return all;
  });
  for (const std::string& name : names) {
    members.push_back(
        &*std::find_if(devices_.begin(), devices_.end(), [&](const Device& d) { return d.name == name; }));
  }
  return members;
}

uint16_t Appliance::member_id(const Device& device) {
  return device.port != nullptr
             ? device.port->id()
             : with_core([&](Core& core) { return bond::member_id(core.find_bond(device.name)->index()); });
}

// --- programs

// Programs of one object may call each other.
Status Appliance::feed_host_tables(const bpf::Object& object) {
  bool asks = false;
  for (const auto& list : {object.programs(), object.untyped()}) {
    for (const bpf::ProgramSpec& program : list) {
      asks = asks || bpf::reads_host_tables(program.insns);
    }
  }
  if (!asks && host_feed_ == nullptr) {
    return {};
  }
  std::vector<bpf::HostName> names;
  for (const Device& device : devices_) {
    bpf::HostName name{.ifindex = device.ifindex, .name = tap_name(device.name)};
    for (const port::Port* port : ports_below(device)) {
      name.mtu = port->mtu();
      name.mac = port->mac();
    }
    names.push_back(std::move(name));
  }
  if (host_feed_ != nullptr) {
    host_feed_->set_names(std::move(names));
    return {};
  }
  auto feed = HostFeed::create(std::move(names), *qsbr_);
  if (!feed) {
    return feed.error();
  }
  host_feed_ = std::move(feed.value());
  return {};
}

Status Appliance::attach(const Device& target, const std::string& path, std::string_view program, bool force) {
  // The rules first: a refusal must not cost a load.
  if (Status ok = with_core([&](Core& core) { return core.check_attach(target.ifindex, force); }); !ok) {
    return ok;
  }
  auto object = bpf::Object::open(path);
  if (!object) {
    return object.error();
  }
  auto spec = object->select(program);
  if (!spec) {
    return spec.error();
  }
  const xdp::ProgramRef old = this->program(target);
  bpf::LoadOptions load;
  load.engine = engine_;
  load.proven = bpf::needs_proof(engine_);
  load.cpus = static_cast<uint32_t>(pool_->workers().size());
  load.grace = qsbr_.get();
  if (old != nullptr) {
    load.reuse = old->maps();
  }
  load.pinned = pinned_;
  auto loaded = bpf::Program::load(*object, *spec.value(), load);
  if (!loaded) {
    return loaded.error();
  }
  if (Status ok = feed_host_tables(*object); !ok) {
    return ok;
  }
  AttachedInfo info{.object = path, .baseline = {}};
  for (const port::Port* port : ports_below(target)) {
    info.baseline[port->id()] = raw_counters(port->id());
  }
  if (Status ok = with_core([&](Core& core) { return core.attach(target.ifindex, loaded.value(), force); }); !ok) {
    return ok;
  }
  for (const auto& map : loaded.value()->maps()) {
    if (map->spec().pinned && std::find(pinned_.begin(), pinned_.end(), map) == pinned_.end()) {
      pinned_.push_back(map);
    }
  }
  attached_[target.name] = std::move(info);
  return {};
}

Status Appliance::detach(const Device& target) {
  Status ok = with_core([&](Core& core) { return core.detach(target.ifindex); });
  if (ok) {
    attached_.erase(target.name);
  }
  return ok;
}

std::shared_ptr<const bpf::Program> Appliance::program(const Device& target) {
  return with_core([&](Core& core) { return core.own_program(target.ifindex); });
}

const AttachedInfo* Appliance::attached(const std::string& device) const {
  const auto it = attached_.find(device);
  return it == attached_.end() ? nullptr : &it->second;
}

// --- ports

bool Appliance::wait_for_workers(uint64_t token) {
  const auto deadline = std::chrono::steady_clock::now() + kRoundLimit;
  while (!qsbr_->passed(token)) {
    if (std::chrono::steady_clock::now() > deadline) {
      return false;
    }
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

Status Appliance::reconfigure(const Device& device, const std::function<Status(port::Port&)>& change) {
  port::Port& port = *device.port;
  if (!set_polled(port, false)) {
    return fail(EBUSY, fmt::format("{}: a worker did not leave the port within 2 s; nothing changed", device.name));
  }
  Status result = change(port);
  (void)set_polled(port, port.admin_up());
  return result;
}

Status Appliance::set_port_admin(const Device& device, bool up) {
  if (device.port->admin_up() == up) {
    return {};
  }
  return reconfigure(device, [up](port::Port& port) { return port.set_admin(up); });
}

// --- counters

namespace {

void add(xdp::PortCounters& sum, const xdp::PortCounters& counters) {
  sum.rx += port::read_counter(counters.rx);
  sum.runs += port::read_counter(counters.runs);
  sum.from_host += port::read_counter(counters.from_host);
  sum.slow_protocols += port::read_counter(counters.slow_protocols);
  for (size_t i = 0; i < sum.verdicts.size(); ++i) {
    sum.verdicts[i] += port::read_counter(counters.verdicts[i]);
  }
  for (size_t i = 0; i < sum.drops.size(); ++i) {
    sum.drops[i] += port::read_counter(counters.drops[i]);
  }
}

xdp::PortCounters subtract(const xdp::PortCounters& from, const xdp::PortCounters& what) {
  xdp::PortCounters rest = from;
  rest.rx -= what.rx;
  rest.runs -= what.runs;
  rest.from_host -= what.from_host;
  rest.slow_protocols -= what.slow_protocols;
  for (size_t i = 0; i < rest.verdicts.size(); ++i) {
    rest.verdicts[i] -= what.verdicts[i];
  }
  for (size_t i = 0; i < rest.drops.size(); ++i) {
    rest.drops[i] -= what.drops[i];
  }
  return rest;
}

}  // namespace

xdp::PortCounters Appliance::raw_counters(uint16_t port) const {
  xdp::PortCounters sum;
  for (const auto& worker : pool_->workers()) {
    add(sum, worker->context().counters[port]);
  }
  const ReceivedByControl& own = core_->received_by_control(port);
  const uint64_t stopped = port::read_counter(own.workers_stopped), not_lacp = port::read_counter(own.not_lacp);
  sum.slow_protocols += port::read_counter(own.taken);
  sum.rx += port::read_counter(own.taken) + stopped + not_lacp;
  sum.drops[static_cast<size_t>(xdp::Drop::workers_stopped)] += stopped;
  sum.drops[static_cast<size_t>(xdp::Drop::not_lacp)] += not_lacp;
  return sum;
}

xdp::PortCounters Appliance::counters(uint16_t port) const {
  const auto it = cleared_.find(port);
  return it == cleared_.end() ? raw_counters(port) : subtract(raw_counters(port), it->second);
}

xdp::PortCounters Appliance::counters_since_attach(uint16_t port, const AttachedInfo& info) const {
  const auto it = info.baseline.find(port);
  return it == info.baseline.end() ? raw_counters(port) : subtract(raw_counters(port), it->second);
}

Appliance::TxCounters Appliance::raw_tx(uint16_t member) const {
  TxCounters sum;
  for (const auto& worker : pool_->workers()) {
    sum.sent += port::read_counter(worker->context().tx[member].sent);
    sum.dropped += port::read_counter(worker->context().tx[member].dropped);
  }
  return sum;
}

Appliance::TxCounters Appliance::tx_counters(const Device& device) {
  const uint16_t member = member_id(device);
  TxCounters now = raw_tx(member);
  if (const auto it = cleared_tx_.find(member); it != cleared_tx_.end()) {
    now.sent -= it->second.sent;
    now.dropped -= it->second.dropped;
  }
  return now;
}

host::Counters Appliance::host_counters(const Device& device) const {
  const auto it = taps_.find(device.name);
  return it == taps_.end() ? host::Counters{} : host_->counters(it->second);
}

bool Appliance::has_tap(const Device& device) const {
  return taps_.contains(device.name);
}

void Appliance::clear_stats() {
  for (const auto& port : ports_) {
    cleared_[port->id()] = raw_counters(port->id());
    rte_eth_stats_reset(port->id());
    rte_eth_xstats_reset(port->id());
  }
  for (const Device& device : devices_) {
    const uint16_t member = member_id(device);
    cleared_tx_[member] = raw_tx(member);
  }
}

}  // namespace xbond::app
