#include "tests/conformance/bpf/map_sequence.hpp"

#include <fmt/format.h>
#include <linux/bpf.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <map>

namespace xbond::bpf::conformance {
namespace {

using Bytes = std::vector<uint8_t>;

int result(int rc) {
  return rc == 0 ? 0 : -errno;
}

std::span<const std::byte> in(const Bytes& bytes) {
  return std::as_bytes(std::span(bytes));
}
std::span<std::byte> out(Bytes& bytes) {
  return std::as_writable_bytes(std::span(bytes));
}

// bpf(2) takes a null pointer for no key
const void* or_null(const Bytes& key) {
  return key.empty() ? nullptr : key.data();
}

std::string hex(const Bytes& bytes) {
  std::string text;
  for (const auto byte : bytes) text += fmt::format("{:02x}", byte);
  return text;
}

class Sequence {
 public:
  Sequence(Tally& tally, const UniqueFd& kernel, Map& ours, Keys keys, uint64_t seed)
      : tally_(tally), kernel_(kernel.get()), ours_(ours), keys_(keys), random_(seed) {}

  void run(int operations) {
    for (int i = 0; i < operations; ++i) {
      ++tally_.runs;
      switch (random_.below(10)) {
        case 0:
        case 1:
        case 2:
        case 3:
          update();
          break;
        case 4:
        case 5:
          lookup();
          break;
        case 6:
        case 7:
          erase();
          break;
        case 8:
          take();
          break;
        default:
          next();
      }
    }
    contents();
  }

 private:
  Bytes key() {
    const auto& spec = ours_.spec();
    Bytes bytes(spec.key_size);
    switch (keys_) {
      case Keys::index: {
        const auto index = static_cast<uint32_t>(random_.chance(4) ? spec.max_entries + random_.edge()
                                                                   : random_.below(spec.max_entries));
        std::memcpy(bytes.data(), &index, sizeof(index));
        break;
      }
      case Keys::bytes:
        // Some more keys than there is room for
        Random(random_.below(spec.max_entries + spec.max_entries / 4 + 2)).fill(bytes);
        break;
      case Keys::few:
        Random(random_.below(50)).fill(bytes);
        break;
      case Keys::prefix: {
        // Few different addresses, all lengths, now and then one too long
        const auto bits = static_cast<uint32_t>((bytes.size() - 4) * 8);
        const auto length = static_cast<uint32_t>(random_.below(bits + (random_.chance(8) ? 3 : 1)));
        std::memcpy(bytes.data(), &length, sizeof(length));
        for (size_t i = 4; i < bytes.size(); ++i)
          bytes[i] = static_cast<uint8_t>(random_.chance(2) ? 0x0a : random_.below(4) << 6);
        break;
      }
      case Keys::none:
        break;
    }
    return bytes;
  }

  void check(const std::string& what, const Bytes& key, int kernel, int ours) {
    if (kernel != ours)
      differs(tally_,
              fmt::format("{}: {} key {}: kernel {}, ours {}", text_of(ours_.spec()), what, hex(key), kernel, ours));
  }

  void update() {
    constexpr std::array<uint64_t, 9> kFlags = {0, 0, 0, 0, 1, 2, 3, 4, 5};
    const auto k = key();
    const auto flags = kFlags[random_.below(kFlags.size())];
    Bytes value(ours_.control_value_size());
    random_.fill(value);
    const int theirs = result(bpf_map_update_elem(kernel_, or_null(k), value.data(), flags));
    check(fmt::format("update flags {}", flags), k, theirs, ours_.copy_update(in(k), in(value), flags));
  }

  void lookup() {
    const auto k = key();
    Bytes theirs(ours_.control_value_size(), 0xcc);
    Bytes ours(theirs);
    const int rc = result(bpf_map_lookup_elem(kernel_, or_null(k), theirs.data()));
    check("lookup", k, rc, ours_.copy_lookup(in(k), out(ours)));
    if (rc == 0 && theirs != ours)
      differs(tally_, fmt::format("{}: lookup key {}: values", text_of(ours_.spec()), hex(k)));
  }

  void erase() {
    const auto k = key();
    const int theirs = result(bpf_map_delete_elem(kernel_, or_null(k)));
    check("delete", k, theirs, ours_.copy_erase(in(k)));
  }

  void take() {
    const auto k = key();
    Bytes theirs(ours_.control_value_size(), 0xcc);
    Bytes ours(theirs);
    const int rc = result(bpf_map_lookup_and_delete_elem(kernel_, or_null(k), theirs.data()));
    check("lookup and delete", k, rc, ours_.copy_take(in(k), out(ours)));
    if (rc == 0 && theirs != ours)
      differs(tally_, fmt::format("{}: lookup and delete key {}: values", text_of(ours_.spec()), hex(k)));
  }

  // The order of a hash map's keys is its own: only the result and, for others, the key are compared.
  void next() {
    const auto k = random_.chance(4) ? Bytes() : key();
    Bytes theirs(ours_.spec().key_size, 0xcc);
    Bytes ours(theirs);
    const int rc = result(bpf_map_get_next_key(kernel_, or_null(k), theirs.data()));
    const int own = ours_.next_key(in(k), out(ours));
    if (keys_ == Keys::bytes || keys_ == Keys::few) {
      // At the end in one order is in the middle of another
      if ((rc == 0 || rc == -ENOENT) == (own == 0 || own == -ENOENT)) return;
    }
    check("next key", k, rc, own);
    if (rc == 0 && theirs != ours)
      differs(tally_, fmt::format("{}: next key after {}: kernel {}, ours {}", text_of(ours_.spec()), hex(k),
                                  hex(theirs), hex(ours)));
  }

  void contents() {
    std::map<Bytes, Bytes> theirs;
    std::map<Bytes, Bytes> ours;
    Bytes key;
    Bytes following(ours_.spec().key_size);
    Bytes value(ours_.control_value_size());
    while (keys_ != Keys::none && bpf_map_get_next_key(kernel_, or_null(key), following.data()) == 0) {
      key = following;
      if (bpf_map_lookup_elem(kernel_, key.data(), value.data()) == 0) theirs[key] = value;
    }
    key.clear();
    while (keys_ != Keys::none && ours_.next_key(in(key), out(following)) == 0) {
      key = following;
      if (ours_.copy_lookup(in(key), out(value)) == 0) ours[key] = value;
    }
    if (theirs != ours)
      differs(tally_, fmt::format("{}: contents: kernel {} entries, ours {}", text_of(ours_.spec()), theirs.size(),
                                  ours.size()));
  }

  Tally& tally_;
  int kernel_;
  Map& ours_;
  Keys keys_;
  Random random_;
};

}  // namespace

MapSpec spec_of(uint32_t type, uint32_t key, uint32_t value, uint32_t entries, uint32_t flags) {
  return {.name = "m", .type = type, .key_size = key, .value_size = value, .max_entries = entries, .flags = flags};
}

std::string text_of(const MapSpec& spec) {
  return fmt::format("type {} key {} value {} entries {} flags {:#x}", spec.type, spec.key_size, spec.value_size,
                     spec.max_entries, spec.flags);
}

void compare_sequence(Tally& tally, const MapSpec& spec, Keys keys, uint64_t seed, int operations) {
  int error = 0;
  const auto kernel = create_map(spec, error);
  const auto ours = Map::create(spec, cpus());
  if (!kernel || !ours)
    return differs(tally,
                   fmt::format("{}: kernel errno {}, ours {}", text_of(spec), error, ours ? 0 : ours.error().code));
  ++tally.programs;
  Sequence(tally, kernel, **ours, keys, seed).run(operations);
}

}  // namespace xbond::bpf::conformance
