#include "lib/port/lookup.hpp"

#include <fmt/format.h>
#include <rte_dev.h>
#include <rte_devargs.h>
#include <rte_errno.h>
#include <rte_ethdev.h>
#include <rte_kvargs.h>

#include <charconv>
#include <memory>
#include <optional>

#include "lib/port/device_name.hpp"

namespace xbond::port {
namespace {

std::string present_ports() {
  std::string list;
  for (uint16_t id = rte_eth_find_next(0); id < RTE_MAX_ETHPORTS; id = rte_eth_find_next(id + 1))
    list += (list.empty() ? "" : ", ") + port_name(id);
  if (list.empty()) return "there are no ports (virtual ones come by --vdev, PCI ones by -a or by their address)";
  return "ports: " + list;
}

std::optional<uint64_t> port_number(std::string_view device) {
  uint64_t number = 0;
  const char* end = device.data() + device.size();
  const auto [stop, error] = std::from_chars(device.data(), end, number);
  if (device.empty() || stop != end) return std::nullopt;
  return error == std::errc{} ? number : UINT64_MAX;  // beyond 64 bits is a number still, and no port's
}

std::string device_name(uint16_t id) {
  rte_eth_dev_info info{};
  if (rte_eth_dev_info_get(id, &info) != 0 || info.device == nullptr) return {};
  return rte_dev_name(info.device);
}

std::optional<uint16_t> by_name(const std::string& name) {
  if (uint16_t id = 0; rte_eth_dev_get_port_by_name(name.c_str(), &id) == 0) return id;
  // Some drivers name the port unlike its device; a device with several ports is ambiguous.
  std::optional<uint16_t> found;
  for (uint16_t id = rte_eth_find_next(0); id < RTE_MAX_ETHPORTS; id = rte_eth_find_next(id + 1)) {
    if (device_name(id) != name) continue;
    if (found) return std::nullopt;
    found = id;
  }
  return found;
}

Result<uint16_t> by_address(const std::string& address) {
  if (auto id = by_name(address)) return *id;
  const int status = rte_dev_probe(address.c_str());
  if (status != 0)
    return fail(ENODEV, fmt::format("no such port {}: it cannot be probed ({}); {}", address, rte_strerror(-status),
                                    present_ports()));
  if (auto id = by_name(address)) return *id;
  return fail(ENODEV, fmt::format("no such port {}: no driver took the device (is it bound to vfio-pci?); {}", address,
                                  present_ports()));
}

}  // namespace

std::string port_name(uint16_t id) {
  char name[RTE_ETH_NAME_MAX_LEN] = "";
  return rte_eth_dev_get_name_by_port(id, name) == 0 ? name : "";
}

Result<uint16_t> find_port(std::string_view device) {
  if (const auto number = port_number(device)) {
    if (*number < RTE_MAX_ETHPORTS && rte_eth_dev_is_valid_port(static_cast<uint16_t>(*number)) != 0)
      return static_cast<uint16_t>(*number);
  } else if (const auto address = pci_address(device)) {
    return by_address(*address);
  } else if (const auto id = by_name(std::string(device))) {
    return *id;
  }
  return fail(ENODEV, fmt::format("no such port {}; {}", device, present_ports()));
}

std::string device_argument(uint16_t id, const char* key) {
  rte_eth_dev_info info{};
  if (rte_eth_dev_info_get(id, &info) != 0 || info.device == nullptr) return {};
  const rte_devargs* arguments = rte_dev_devargs(info.device);
  if (arguments == nullptr || arguments->args == nullptr) return {};
  const std::unique_ptr<rte_kvargs, decltype(&rte_kvargs_free)> pairs(rte_kvargs_parse(arguments->args, nullptr),
                                                                      &rte_kvargs_free);
  const char* value = pairs ? rte_kvargs_get(pairs.get(), key) : nullptr;
  return value != nullptr ? value : "";
}

}  // namespace xbond::port
