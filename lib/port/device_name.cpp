#include "lib/port/device_name.hpp"

#include <rte_pci.h>

#include <cctype>

namespace xbond::port {

std::optional<std::string> pci_address(std::string_view device) {
  // The library's parser also takes an empty domain (":3b:00.0").
  if (device.empty() || std::isxdigit(static_cast<unsigned char>(device.front())) == 0) return std::nullopt;
  rte_pci_addr address{};
  if (rte_pci_addr_parse(std::string(device).c_str(), &address) != 0) return std::nullopt;
  char text[PCI_PRI_STR_SIZE];
  rte_pci_device_name(&address, text, sizeof text);
  return text;
}

}  // namespace xbond::port
