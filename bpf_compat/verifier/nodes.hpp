// Where the values of a walk come from. A value's node says whether its exact range mattered ("precise") and whether it
// was read at all ("live") on any way that the walk took from there. What a value was made of mattered if it did.
//
// A state that is kept for comparison gets a fresh node for each value, which hands both marks on to the node that the
// value had before: so a mark reaches all states on the way to its cause, and no others.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace xbond::bpf::verifier {

using NodeId = uint32_t;  // 0: none; always as if marked, costs nothing

class Nodes {
 public:
  Nodes() : nodes_(1) {}

  NodeId made_of(NodeId a, NodeId b = 0) { return add({a, b, 0}); }
  NodeId checkpoint_of(NodeId a) { return add({a, 0, kSamePlace}); }
  // Of a value that changes where it lies, without an instruction that reads it: what another's comparison taught of
  // it, or took from it. Who reads it later has read what lay there before.
  NodeId changed(NodeId a, NodeId b = 0) { return add({a, b, kSamePlace}); }

  [[nodiscard]] bool live(NodeId id) const { return (nodes_[id].flags & kLive) != 0; }
  [[nodiscard]] bool precise(NodeId id) const { return (nodes_[id].flags & kPrecise) != 0; }

  void mark_live(NodeId id) {
    while (id != 0 && (nodes_[id].flags & kLive) == 0) {
      nodes_[id].flags |= kLive;
      if ((nodes_[id].flags & kSamePlace) == 0) return;
      id = nodes_[id].a;
    }
  }
  void mark_precise(NodeId id) {
    if (id == 0 || precise(id)) return;
    pending_.push_back(id);
    while (!pending_.empty()) {
      auto& node = nodes_[pending_.back()];
      pending_.pop_back();
      if ((node.flags & kPrecise) != 0) continue;
      node.flags |= kPrecise;
      if (node.a != 0) pending_.push_back(node.a);
      if (node.b != 0) pending_.push_back(node.b);
    }
  }

  [[nodiscard]] size_t bytes() const { return nodes_.size() * sizeof(Node); }

 private:
  static constexpr uint32_t kLive = 1;
  static constexpr uint32_t kPrecise = 2;
  static constexpr uint32_t kSamePlace = 4;  // as `a`

  struct Node {
    NodeId a = 0;
    NodeId b = 0;
    uint32_t flags = 0;
  };

  NodeId add(Node node) {
    nodes_.push_back(node);
    return static_cast<NodeId>(nodes_.size() - 1);
  }

  std::vector<Node> nodes_;
  std::vector<NodeId> pending_;
};

}  // namespace xbond::bpf::verifier
