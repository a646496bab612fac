// The receive machine (802.1AX 6.4.12): what is known of the partner, and for how long.
#pragma once

#include "lib/lacp/port.hpp"

namespace xbond::lacp {

enum class Received : uint8_t {
  recorded,
  loopback,       // from our own system: ignored
  not_listening,  // PORT_DISABLED, LACP_DISABLED, or about to begin: ignored
};

// BEGIN, link changes, timeouts. Once a tick, and at once when the link goes down.
void receive_step(Port& port, Time now) noexcept;

Received receive_pdu(Port& port, const Pdu& pdu, Time now) noexcept;

// The actor's LACP_Timeout follows lacp_rate. Keeps the partner's information valid until the partner can have heard
// of the new rate.
void set_rate(Port& port, bool fast) noexcept;

}  // namespace xbond::lacp
