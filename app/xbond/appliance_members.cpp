// Bonds and their members at run time. A change that is refused leaves everything as it was. Thread: control.
#include <fmt/format.h>
#include <linux/bpf.h>
#include <rte_ether.h>

#include <algorithm>

#include "app/xbond/appliance.hpp"
#include "app/xbond/map_values.hpp"
#include "bpf_compat/map/devmap_hash.hpp"
#include "bpf_compat/map/target_array.hpp"

namespace xbond::app {
namespace {

constexpr uint16_t kMtuOfEmptyBond = 1500;

port::Mac random_mac() {
  port::Mac mac{};
  rte_eth_random_addr(mac.data());
  return mac;
}

// Maps lead no longer to an interface that is no more: its number is never given again.
void forget(bpf::Map& map, uint32_t ifindex) {
  if (map.spec().type == BPF_MAP_TYPE_DEVMAP) {
    static_cast<bpf::TargetArrayMap&>(map).forget(ifindex);
  } else if (map.spec().type == BPF_MAP_TYPE_DEVMAP_HASH) {
    static_cast<bpf::DevmapHash&>(map).forget(ifindex);
  }
}

}  // namespace

BondLoad Appliance::bond_load(uint8_t bond) const {
  BondLoad sum;
  for (const auto& worker : pool_->workers()) {
    const bond::LcoreState& state = worker->context().bonds[bond];
    sum.unbalanced += port::read_counter(state.unbalanced_bytes);
    for (uint32_t i = 0; i < bond::kChannels; ++i) {
      sum.channels[i] += port::read_counter(state.channel_bytes[i]);
    }
  }
  return sum;
}

uint64_t Appliance::received(uint16_t port) const {
  uint64_t sum = 0;
  for (const auto& worker : pool_->workers()) {
    sum += port::read_counter(worker->context().counters[port].rx);
  }
  return sum;
}

// Whether workers have left (or may use) the port; false: one did not leave in time, and the port is as it was.
bool Appliance::set_polled(const port::Port& port, bool polled) {
  const uint64_t token = with_core([&](Core& core) {
    core.set_polled(port.id(), polled);
    return published_->token();
  });
  if (polled || wait_for_workers(token)) {
    return true;
  }
  with_core([&](Core& core) { core.set_polled(port.id(), port.admin_up()); });
  return false;
}

// The tap goes when no worker can hold a snapshot that knows its rings.
void Appliance::remove_tap(const std::string& device) {
  const auto it = taps_.find(device);
  if (it == taps_.end()) {
    return;
  }
  if (wait_for_workers(with_core([this](Core&) { return published_->token(); }))) {
    host_->remove(it->second);
  } else {
    notice_(fmt::format("{}: a worker is stuck; its tap stays", device));
  }
  taps_.erase(it);
}

Status Appliance::create_bond(const std::string& name, std::span<const std::pair<std::string, std::string>> options) {
  if (find(name).ok()) {
    return fail(EEXIST, fmt::format("there is a bond or port \"{}\" already", name));
  }
  const std::optional<uint8_t> index = with_core([](Core& core) { return core.free_bond_index(); });
  if (!index) {
    return fail(ENOSPC, fmt::format("there are {} bonds already, no more are possible", bond::kMaxBonds));
  }
  auto bond = bond::Bond::create(name, *index, options);
  if (!bond) {
    return bond.error();
  }
  const uint32_t ifindex = ++last_ifindex_;
  TapRef tap = make_tap(name, random_mac(), kMtuOfEmptyBond, notice_);
  Status ok = with_core([&](Core& core) -> Status {
    if (Status added = core.add_bond(std::move(bond.value()), ifindex, std::move(tap)); !added) {
      return added;
    }
    return core.set_bond_up(name, true);
  });
  if (!ok) {
    remove_tap(name);
    return ok;
  }
  devices_.push_back({name, ifindex, nullptr});
  // The number, and what was counted by it, may be an older bond's
  cleared_tx_[bond::member_id(*index)] = raw_tx(bond::member_id(*index));
  return {};
}

Status Appliance::delete_bond(const Device& bond) {
  const std::string name = bond.name;  // the device goes
  if (const std::string upper = with_core([&](Core& core) {
        const bond::Bond* above = core.bond_of(bond::member_id(core.find_bond(name)->index()));
        return above == nullptr ? std::string() : above->name();
      });
      !upper.empty()) {
    return fail(EBUSY, fmt::format("{} is a member of {}: remove it there first", name, upper));
  }
  for (const Device* member : members_of(bond)) {
    if (Status ok = remove_member(bond, *member); !ok) {
      return ok;
    }
  }
  if (Status ok = with_core([&](Core& core) { return core.remove_bond(name); }); !ok) {
    return ok;
  }
  remove_tap(name);
  attached_.erase(name);
  const uint32_t ifindex = bond.ifindex;
  std::erase_if(devices_, [&](const Device& device) { return device.name == name; });
  for (const NamedMap& named : all_maps(*this)) {
    forget(*named.map, ifindex);
  }
  for (const auto& map : pinned_) {
    forget(*map, ifindex);
  }
  return {};
}

Status Appliance::add_member(const Device& bond, const Device& member) {
  const uint16_t id = member_id(member);
  if (Status ok = with_core([&](Core& core) { return core.check_enslave(bond.name, id); }); !ok) {
    return ok;
  }
  return member.port != nullptr ? add_port(bond, member) : add_bond(bond, member);
}

// What both kinds of members have in common, once they are.
void Appliance::joined(const Device& bond, const Device& member, uint16_t mtu) {
  if (!taps_.contains(member.name)) {
    without_tap_.insert(member_id(member));
  }
  if (members_of(bond).size() == 1 && taps_.contains(bond.name)) {
    (void)host_->set_mtu(taps_.at(bond.name), mtu);
  }
}

Status Appliance::add_port(const Device& bond, const Device& member) {
  port::Port& port = *member.port;
  const std::vector<port::Port*> others = ports_below(bond);
  const uint16_t mtu_before = port.mtu();
  const uint16_t mtu = others.empty() ? mtu_before : others.front()->mtu();
  if (!set_polled(port, false)) {
    return fail(EBUSY, fmt::format("{}: a worker did not leave the port within 2 s; nothing changed", member.name));
  }
  const bool was_up = port.admin_up();
  Status ok = mtu == mtu_before ? Status() : port.set_mtu(mtu);
  if (ok && !was_up) {
    ok = port.set_admin(true);  // as in Linux: a member is up
  }
  if (ok) {
    ok = with_core([&](Core& core) { return core.enslave(bond.name, port.id()); });
  }
  if (!ok) {
    if (port.mtu() != mtu_before) {
      (void)port.set_mtu(mtu_before);
    }
    (void)port.set_admin(was_up);
    (void)set_polled(port, port.admin_up());
    return fail(ok.error().code, fmt::format("{}: member {}: {}", bond.name, member.name, ok.error().text));
  }
  mtu_alone_[port.id()] = mtu_before;
  joined(bond, member, mtu);
  (void)set_polled(port, port.admin_up());
  remove_tap(member.name);
  return {};
}

// Workers stay: what a bond under a bond receives and sends goes another way with the next snapshot.
Status Appliance::add_bond(const Device& bond, const Device& member) {
  const std::vector<port::Port*> others = ports_below(bond);
  const std::vector<port::Port*> own = ports_below(member);
  const uint16_t mtu_before = own.empty() ? kMtuOfEmptyBond : own.front()->mtu();
  const uint16_t mtu = others.empty() ? mtu_before : others.front()->mtu();
  Status ok = mtu == mtu_before ? Status() : set_mtu(member, mtu);
  if (ok) {
    ok = with_core([&](Core& core) -> Status {
      if (Status up = core.set_bond_up(member.name, true); !up) {
        return up;
      }
      return core.enslave(bond.name, bond::member_id(core.find_bond(member.name)->index()));
    });
  }
  if (!ok) {
    if (mtu != mtu_before) {
      (void)set_mtu(member, mtu_before);
    }
    return fail(ok.error().code, fmt::format("{}: member {}: {}", bond.name, member.name, ok.error().text));
  }
  mtu_alone_[member_id(member)] = mtu_before;
  joined(bond, member, mtu);
  remove_tap(member.name);
  return {};
}

Status Appliance::remove_member(const Device& bond, const Device& member) {
  const std::vector<const Device*> members = members_of(bond);
  if (std::find(members.begin(), members.end(), &member) == members.end()) {
    return fail(ENOENT, fmt::format("{} is not a member of {}", member.name, bond.name));
  }
  return member.port != nullptr ? remove_port(bond, member) : remove_bond(bond, member);
}

Status Appliance::remove_port(const Device& bond, const Device& member) {
  port::Port& port = *member.port;
  if (!set_polled(port, false)) {
    return fail(EBUSY, fmt::format("{}: a worker did not leave the port within 2 s; nothing changed", member.name));
  }
  const auto alone = mtu_alone_.find(port.id());
  const uint16_t mtu = alone != mtu_alone_.end() ? alone->second : port.mtu();
  TapRef tap = without_tap_.contains(port.id()) ? TapRef{} : make_tap(member.name, port.permanent_mac(), mtu, notice_);
  Status ok = with_core([&](Core& core) { return core.release(bond.name, port.id(), std::move(tap)); });
  if (ok && port.mtu() != mtu) {
    if (Status restored = port.set_mtu(mtu); !restored) {
      notice_(fmt::format("{}: keeps the bond's MTU: {}", member.name, restored.error().text));
    }
  }
  (void)set_polled(port, port.admin_up());
  return ok;
}

Status Appliance::remove_bond(const Device& bond, const Device& member) {
  const uint16_t id = member_id(member);
  const auto alone = mtu_alone_.find(id);
  const uint16_t mtu = alone != mtu_alone_.end() ? alone->second : kMtuOfEmptyBond;
  const port::Mac mac = with_core([&](Core& core) { return core.mac_alone(member.name); });
  TapRef tap = without_tap_.contains(id) ? TapRef{} : make_tap(member.name, mac, mtu, notice_);
  Status ok = with_core([&](Core& core) { return core.release(bond.name, id, std::move(tap)); });
  if (ok) {
    if (Status restored = set_mtu(member, mtu); !restored) {
      notice_(fmt::format("{}: keeps the bond's MTU: {}", member.name, restored.error().text));
    }
  }
  return ok;
}

}  // namespace xbond::app
