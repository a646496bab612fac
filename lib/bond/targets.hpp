// The addresses of arp_ip_target and ns_ip6_target: lists as they are typed. Thread: any.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "bpf_compat/result.hpp"
#include "lib/bond/params.hpp"

namespace xbond::bond {

// `text`: one address or several with commas, each to add (`+` in front is allowed) or, with `-`, to remove; the word
// `default` or nothing empties the list. Errors (then nothing changed): EINVAL not an address that can be a target,
// there already, not there, too many.
Status change_targets(std::vector<Ipv4>& targets, std::string_view option, std::string_view text);
Status change_targets(std::vector<Ipv6>& targets, std::string_view option, std::string_view text);

[[nodiscard]] std::string address_text(const Ipv4& address);
[[nodiscard]] std::string address_text(const Ipv6& address);

}  // namespace xbond::bond
