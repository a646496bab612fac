#include "lib/port/claim.hpp"

#include <fmt/format.h>
#include <rte_ethdev.h>

#include <array>
#include <atomic>

namespace xbond::port {
namespace {

std::array<std::atomic<bool>, RTE_MAX_ETHPORTS> claimed{};

}  // namespace

Status claim(uint16_t id, const std::string& name) {
  rte_eth_dev_owner owner{};
  if (rte_eth_dev_owner_get(id, &owner) == 0 && owner.id != RTE_ETH_DEV_NO_OWNER)
    return fail(EBUSY, fmt::format("port {} is in use: {} owns it", name, owner.name));
  if (id >= claimed.size() || claimed[id].exchange(true))
    return fail(EBUSY, fmt::format("port {} is in use already", name));
  return {};
}

void unclaim(uint16_t id) noexcept {
  if (id < claimed.size()) claimed[id] = false;
}

}  // namespace xbond::port
