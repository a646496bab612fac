// Which MTUs a port can have. Internal to the room. Thread: any.
#pragma once

#include <rte_ethdev.h>

#include <cstdint>
#include <string>

#include "bpf_compat/result.hpp"

namespace xbond::port {

// `frame_room`: bytes of frame that an mbuf of the port's pool holds. Errors: EINVAL with the range.
Status mtu_possible(const std::string& port, uint16_t mtu, const rte_eth_dev_info& info, uint16_t frame_room);

}  // namespace xbond::port
