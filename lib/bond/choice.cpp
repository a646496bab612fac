#include "lib/bond/choice.hpp"

#include "lib/bond/mode_lacp.hpp"
#include "lib/bond/mode_rr.hpp"
#include "lib/bond/mode_tlb.hpp"
#include "lib/bond/modulo.hpp"

namespace xbond::bond {
namespace {

void by_place(const TxTable& table, Choice::Why why, uint32_t index, Choice& choice) noexcept {
  choice.why = why;
  choice.index = static_cast<uint16_t>(index);
  choice.port = table.port[index];
}

void by_active(const TxTable& table, Choice::Why why, Choice& choice) noexcept {
  choice.why = table.active == port::kNoPort ? Choice::Why::no_member : why;
  choice.port = table.active;
}

void balance(const TxTable& table, Path path, std::span<const uint8_t> frame, Choice& choice) noexcept {
  uint32_t channel = choice.hash;
  const bool balanced =
      table.mode == Mode::balance_alb ? alb_balances(path, frame, channel) : tlb_balances(path, frame);
  if (table.active == port::kNoPort || !balanced) {
    by_active(table, Choice::Why::unbalanced, choice);
  } else if (table.dynamic) {
    choice.channel = channel % kChannels;
    by_place(table, Choice::Why::channel, table.channel[choice.channel], choice);
  } else {
    by_place(table, Choice::Why::hashed, modulo(choice.hash, table.divide, table.usable), choice);
  }
}

}  // namespace

Choice choose(const TxTable& table, Path path, std::span<const uint8_t> frame) noexcept {
  Choice choice;
  choice.fields = hash_fields(table.policy, path, frame);
  choice.hash = choice.fields.value();
  if (table.usable == 0) {
    return choice;
  }
  switch (table.mode) {
    case Mode::balance_rr:
      if (is_igmp(path, frame)) {
        choice.why = Choice::Why::igmp;
        choice.port = igmp_port(table);
      } else {
        choice.why = Choice::Why::in_turn;
      }
      break;
    case Mode::active_backup:
      by_active(table, Choice::Why::active, choice);
      break;
    case Mode::ieee8023ad:
      if (goes_to_every(table, path, frame)) {
        choice.why = Choice::Why::every;
        break;
      }
      [[fallthrough]];
    case Mode::balance_xor:
      by_place(table, Choice::Why::hashed, modulo(choice.hash, table.divide, table.usable), choice);
      break;
    case Mode::broadcast:
      choice.why = Choice::Why::every;
      break;
    case Mode::balance_tlb:
    case Mode::balance_alb:
      balance(table, path, frame, choice);
      break;
  }
  return choice;
}

}  // namespace xbond::bond
