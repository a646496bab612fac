#include "tests/conformance/bpf/packets.hpp"

#include "tests/conformance/bpf/random.hpp"

namespace xbond::bpf::conformance {
namespace {

void put16(Packet& packet, uint16_t value) {
  packet.push_back(static_cast<uint8_t>(value >> 8));
  packet.push_back(static_cast<uint8_t>(value));
}

Packet ethernet(std::vector<uint16_t> types) {
  Packet packet;
  for (uint8_t i = 0; i < 12; ++i) packet.push_back(static_cast<uint8_t>(0x02 + 7 * i));
  for (size_t i = 0; i < types.size(); ++i) {
    put16(packet, types[i]);
    if (i + 1 < types.size()) put16(packet, static_cast<uint16_t>(0x2000 + i + 5));  // the tag's TCI
  }
  return packet;
}

// `words` of header, ports, and `payload` bytes behind.
void add_ipv4(Packet& packet, uint8_t protocol, uint8_t words, uint16_t fragment, uint16_t source, uint16_t destination,
              size_t payload) {
  packet.push_back(static_cast<uint8_t>(0x40 | words));
  packet.push_back(0);
  put16(packet, static_cast<uint16_t>(words * 4 + 20 + payload));
  put16(packet, 0x1234);
  put16(packet, fragment);
  packet.push_back(64);
  packet.push_back(protocol);
  put16(packet, static_cast<uint16_t>(0xbeef + payload));
  for (const uint8_t byte : {10, 1, 2, 3, 192, 168, 7, 9}) packet.push_back(byte);
  for (int i = 20; i < words * 4; ++i) packet.push_back(1);  // no-operation options
  put16(packet, source);
  put16(packet, destination);
}

void add_ipv6(Packet& packet, uint8_t next, uint16_t source, uint16_t destination) {
  packet.push_back(0x60);
  for (int i = 0; i < 3; ++i) packet.push_back(0);
  put16(packet, 40);
  packet.push_back(next);
  packet.push_back(64);
  for (uint8_t i = 0; i < 32; ++i) packet.push_back(static_cast<uint8_t>(0x20 + i));
  put16(packet, source);
  put16(packet, destination);
}

void add_rest(Packet& packet, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) packet.push_back(static_cast<uint8_t>(i * 5 + 1));
}

void add_protocols(std::vector<Packet>& all) {
  for (const uint8_t protocol : {1, 6, 17, 47, 50, 58, 132}) {
    for (const uint16_t port : {53, 80, 1023, 4242}) {
      auto v4 = ethernet({0x0800});
      add_ipv4(v4, protocol, 5, 0, 1234, port, 20);
      add_rest(v4, 40);
      if (protocol == 6) v4[14 + 20 + 13] = port == 80 ? 0x02 : 0x12;  // SYN, or SYN and ACK
      all.push_back(v4);
    }
    auto v6 = ethernet({0x86dd});
    add_ipv6(v6, protocol, 99, 53);
    add_rest(v6, 30);
    all.push_back(v6);
  }
  for (const uint8_t next : {0, 43, 44, 51, 60, 135}) {  // IPv6 extension headers
    auto v6 = ethernet({0x86dd});
    add_ipv6(v6, next, 0x1100, 0);
    add_rest(v6, 60);
    all.push_back(v6);
  }
}

void add_shapes(std::vector<Packet>& all) {
  for (const auto& types :
       {std::vector<uint16_t>{0x8100, 0x0800}, {0x88a8, 0x8100, 0x0800}, {0x8100, 0x8100, 0x8100}}) {
    auto tagged = ethernet(types);
    add_ipv4(tagged, 17, 5, 0, 5, 53, 8);
    add_rest(tagged, 24);
    all.push_back(tagged);
  }
  for (const uint8_t words : {0, 4, 6, 10, 15}) {
    auto options = ethernet({0x0800});
    add_ipv4(options, 17, words, 0, 7, 4242, 8);
    add_rest(options, 12);
    all.push_back(options);
  }
  for (const uint16_t fragment : {0x2000, 0x2001, 0x00b9, 0x4000}) {
    auto piece = ethernet({0x0800});
    add_ipv4(piece, 17, 5, fragment, 7, 53, 8);
    add_rest(piece, 12);
    all.push_back(piece);
  }
  for (const uint16_t type : {0x0806, 0x8809, 0x88cc, 0x0000, 0xffff}) {
    auto other = ethernet({type});
    add_rest(other, 46);
    all.push_back(other);
  }
}

void add_lengths(std::vector<Packet>& all) {
  auto whole = ethernet({0x0800});
  add_ipv4(whole, 17, 5, 0, 7, 53, 8);
  add_rest(whole, 8);
  for (const size_t length : {14, 15, 16, 17, 18, 20, 33, 34, 35, 38, 41, 42}) {
    auto cut = whole;
    cut.resize(length);
    all.push_back(cut);
  }
  // Those above 3520 come in pieces, of a page each
  for (const size_t length :
       {60, 64, 128, 255, 256, 1514, 3000, 3520, 3521, 4000, 7615, 7616, 7617, 9014, 20000, 65000}) {
    auto longer = whole;
    longer.resize(length, 0x5a);
    all.push_back(longer);
  }
}

}  // namespace

std::vector<Packet> packets() {
  std::vector<Packet> all;
  add_protocols(all);
  add_shapes(all);
  add_lengths(all);
  Random random(7);
  for (int i = 0; i < 24; ++i) {
    Packet noise(14 + random.below(180));
    random.fill(noise);
    all.push_back(noise);
  }
  return all;
}

}  // namespace xbond::bpf::conformance
