// show stats, show drops, clear stats
#include <fmt/format.h>

#include "app/xbond/commands.hpp"
#include "app/xbond/drops.hpp"
#include "bpf_compat/json.hpp"

namespace xbond::app {
namespace {

uint64_t total(const xdp::PortCounters& counters) {
  uint64_t sum = 0;
  for (const uint64_t drop : counters.drops) {
    sum += drop;
  }
  return sum;
}

void port_json(Appliance& appliance, const Device& device, json::Writer& w) {
  const xdp::PortCounters c = appliance.counters(device.port->id());
  const Appliance::TxCounters tx = appliance.tx_counters(device);
  w.begin_object().member("port", device.port->id()).member("name", device.name).member("rx", c.rx);
  w.member("tx", tx.sent)
      .member("tx_dropped", tx.dropped)
      .member("from_host", c.from_host)
      .member("slow_protocols", c.slow_protocols)
      .member("runs", c.runs);
  w.key("verdicts").begin_object();
  for (size_t i = 0; i < c.verdicts.size(); ++i) {
    w.member(xdp::kVerdictNames[i], c.verdicts[i]);
  }
  w.end_object().key("drops").begin_object();
  for (size_t i = 0; i < c.drops.size(); ++i) {
    w.member(xdp::kDropNames[i], c.drops[i]);
  }
  w.end_object().end_object();
}

std::string stats_json(Appliance& appliance) {
  json::Writer w;
  w.begin_object().member("started", appliance.started()).key("ports").begin_array();
  for (const Device& device : appliance.devices()) {
    if (device.port != nullptr) {
      port_json(appliance, device, w);
    }
  }
  w.end_array().key("taps").begin_array();
  for (const Device& device : appliance.devices()) {
    if (appliance.has_tap(device)) {
      const host::Counters h = appliance.host_counters(device);
      w.begin_object().member("name", device.name).member("to_kernel", h.to_kernel);
      w.member("to_kernel_dropped", h.to_kernel_dropped).member("from_kernel", h.from_kernel);
      w.member("from_kernel_dropped", h.from_kernel_dropped).end_object();
    }
  }
  return w.end_array().end_object().take() + "\n";
}

std::string drops_text(Appliance& appliance) {
  std::string out;
  for (const Device& device : appliance.devices()) {
    for (const auto& [reason, frames] : drops_of(appliance, device)) {
      if (frames != 0) {
        out += fmt::format("{:<18} {:<24} {}\n", device.name, reason, frames);
      }
    }
  }
  return out.empty() ? "no drops\n" : fmt::format("{:<18} {:<24} {}\n", "Device", "Reason", "Frames") + out;
}

std::string drops_json(Appliance& appliance) {
  json::Writer w;
  w.begin_array();
  for (const Device& device : appliance.devices()) {
    w.begin_object().member("name", device.name).key("drops").begin_object();
    for (const auto& [reason, frames] : drops_of(appliance, device)) {
      w.member(reason, frames);
    }
    w.end_object().end_object();
  }
  return w.end_array().take() + "\n";
}

}  // namespace

std::string stats_text(Appliance& appliance) {
  std::string out = fmt::format("{:<18} {:>12} {:>12} {:>10} {:>12} {:>12} {:>12} {:>10}\n", "Port", "rx", "tx",
                                "tx-full", "xdp-pass", "xdp-tx", "xdp-drop", "drops");
  for (const Device& device : appliance.devices()) {
    if (device.port == nullptr) {
      continue;
    }
    const xdp::PortCounters c = appliance.counters(device.port->id());
    const Appliance::TxCounters tx = appliance.tx_counters(device);
    out += fmt::format("{:<18} {:>12} {:>12} {:>10} {:>12} {:>12} {:>12} {:>10}\n", device.name, c.rx, tx.sent,
                       tx.dropped, c.verdicts[XDP_PASS], c.verdicts[XDP_TX], c.verdicts[XDP_DROP], total(c));
  }
  bool header = false;
  for (const Device& device : appliance.devices()) {
    if (!appliance.has_tap(device)) {
      continue;
    }
    if (!header) {
      header = true;
      out += fmt::format("{:<18} {:>12} {:>12} {:>12} {:>12}\n", "Tap", "to-kernel", "refused", "from-kernel", "full");
    }
    const host::Counters h = appliance.host_counters(device);
    out += fmt::format("{:<18} {:>12} {:>12} {:>12} {:>12}\n", device.name, h.to_kernel, h.to_kernel_dropped,
                       h.from_kernel, h.from_kernel_dropped);
  }
  return out;
}

void add_stats_commands(control::CommandTable& table, Appliance& appliance) {
  table.add({"show stats [json]", "frames received, sent and judged, by port and tap",
             [&](const control::Args& args, std::string& out) -> Status {
               out += args.has("json") ? stats_json(appliance) : stats_text(appliance);
               return {};
             }});
  table.add({"show drops [json]", "every frame that was dropped, by reason",
             [&](const control::Args& args, std::string& out) -> Status {
               out += args.has("json") ? drops_json(appliance) : drops_text(appliance);
               return {};
             }});
  table.add({"clear stats", "set all counters to 0", [&](const control::Args&, std::string&) -> Status {
               appliance.clear_stats();
               return {};
             }});
}

}  // namespace xbond::app
