// One dump request of rtnetlink(7), and the attributes of what comes back. Thread: any, blocks.
#pragma once

#include <linux/netlink.h>
#include <linux/rtnetlink.h>

#include <cstring>
#include <functional>
#include <span>

#include "bpf_compat/result.hpp"

namespace xbond::bpf {

// The attributes in `bytes`, by type: `each` gets the type without its flags, and the payload.
template <class Each>
void for_each_attribute(std::span<const std::byte> bytes, Each&& each) {
  while (bytes.size() >= sizeof(rtattr)) {
    rtattr head;
    std::memcpy(&head, bytes.data(), sizeof(head));
    if (head.rta_len < sizeof(head) || head.rta_len > bytes.size()) return;
    each(static_cast<uint16_t>(head.rta_type & NLA_TYPE_MASK),
         bytes.subspan(sizeof(head), head.rta_len - sizeof(head)));
    bytes = bytes.subspan(std::min<size_t>(RTA_ALIGN(head.rta_len), bytes.size()));
  }
}

// A number in front of `bytes`; 0 where they are too few.
template <class T>
T number_in(std::span<const std::byte> bytes) {
  T value{};
  if (bytes.size() >= sizeof(T)) std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

// `type`: RTM_GETLINK … . `each` gets each message's payload, header of the type in front. Errors: errno.
Status netlink_dump(uint16_t type, uint8_t family, const std::function<void(std::span<const std::byte>)>& each);

}  // namespace xbond::bpf
