#include "lib/xdp/attach.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace xbond::xdp {
namespace {

constexpr const char* kUpperHas = "Cannot attach when an upper device already has a program";
constexpr const char* kSlaveHas = "Slave has XDP program loaded, please unload before enslaving";

}  // namespace

void Attachments::add_device(uint32_t ifindex) {
  devices_[ifindex] = Device{};
}

void Attachments::remove_device(uint32_t ifindex) {
  devices_.erase(ifindex);
  for (auto& [index, device] : devices_) {
    if (device.upper == ifindex) {
      device.upper = 0;
    }
  }
}

bool Attachments::has_program(uint32_t ifindex) const {
  return own(ifindex) != nullptr;
}

bool Attachments::upper_has_program(const Device& device) const {
  for (uint32_t up = device.upper; up != 0; up = devices_.at(up).upper) {
    if (devices_.at(up).program != nullptr) {
      return true;
    }
  }
  return false;
}

bool Attachments::lower_has_program(uint32_t ifindex) const {
  return std::any_of(devices_.begin(), devices_.end(), [&](const auto& entry) {
    return entry.second.upper == ifindex && (entry.second.program != nullptr || lower_has_program(entry.first));
  });
}

Status Attachments::can_enslave(uint32_t bond, uint32_t member) const {
  const Device& upper = devices_.at(bond);
  const bool bond_runs = upper.program != nullptr || upper_has_program(upper);
  if (bond_runs && (devices_.at(member).program != nullptr || lower_has_program(member))) {
    return fail(EOPNOTSUPP, kSlaveHas);
  }
  return {};
}

Status Attachments::enslave(uint32_t bond, uint32_t member) {
  if (Status ok = can_enslave(bond, member); !ok) {
    return ok;
  }
  devices_.at(member).upper = bond;
  return {};
}

void Attachments::release(uint32_t member) {
  devices_.at(member).upper = 0;
}

Status Attachments::check(uint32_t ifindex, bool force) const {
  const Device& device = devices_.at(ifindex);
  if (upper_has_program(device)) {
    return fail(EEXIST, kUpperHas);
  }
  if (device.program != nullptr && !force) {
    return fail(EBUSY,
                fmt::format("XDP program {} already attached; add 'force' to replace it", device.program->name()));
  }
  if (lower_has_program(ifindex)) {
    return fail(EOPNOTSUPP, kSlaveHas);
  }
  return {};
}

Status Attachments::attach(uint32_t ifindex, ProgramRef program, bool force) {
  if (Status ok = check(ifindex, force); !ok) {
    return ok;
  }
  devices_.at(ifindex).program = std::move(program);
  return {};
}

Status Attachments::detach(uint32_t ifindex) {
  Device& device = devices_.at(ifindex);
  if (upper_has_program(device)) {
    return fail(EEXIST, kUpperHas);
  }
  device.program = nullptr;
  return {};
}

ProgramRef Attachments::own(uint32_t ifindex) const {
  return devices_.at(ifindex).program;
}

ProgramRef Attachments::effective(uint32_t ifindex) const {
  for (uint32_t at = ifindex; at != 0; at = devices_.at(at).upper) {
    if (devices_.at(at).program != nullptr) {
      return devices_.at(at).program;
    }
  }
  return nullptr;
}

}  // namespace xbond::xdp
