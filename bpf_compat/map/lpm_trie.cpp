#include "bpf_compat/map/lpm_trie.hpp"

#include <fmt/format.h>
#include <linux/bpf.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <mutex>

#include "bpf_compat/map/copy.hpp"
#include "bpf_compat/map/shape.hpp"

namespace xbond::bpf {
namespace {

constexpr uint32_t kLengthBytes = sizeof(uint32_t);
constexpr uint32_t kMaxData = 256;
// sizeof(struct lpm_trie_node): the kernel keeps it, data and value in one allocation
constexpr size_t kKernelNode = 24;
constexpr size_t kRestingEach = 4096;

size_t node_offset_of(const MapSpec& spec) {
  return round_up_8(spec.value_size);
}

size_t stride_of(const MapSpec& spec) {
  return node_offset_of(spec) + 16 + round_up_8(spec.key_size - kLengthBytes);
}

// The bit at a position, counted from the first byte's highest.
uint32_t bit_at(const std::byte* data, uint32_t position) {
  return static_cast<uint32_t>(data[position / 8] >> (7 - position % 8)) & 1;
}

}  // namespace

LpmTrieMap::LpmTrieMap(Token, MapSpec spec, uint32_t cpus, Area area, std::unique_ptr<SlotPool> pool, uint32_t places)
    : Map(std::move(spec), cpus),
      area_(std::move(area)),
      pool_(std::move(pool)),
      places_(places),
      data_bytes_(this->spec().key_size - kLengthBytes),
      max_length_(data_bytes_ * 8),
      node_offset_(node_offset_of(this->spec())),
      stride_(stride_of(this->spec())) {}

Result<std::shared_ptr<Map>> LpmTrieMap::create(const MapSpec& spec, uint32_t cpus, Grace& grace) {
  if ((spec.flags & BPF_F_NO_PREALLOC) == 0) return fail(EINVAL, "an lpm_trie needs the flag BPF_F_NO_PREALLOC");
  if ((spec.flags & ~(BPF_F_NO_PREALLOC | BPF_F_NUMA_NODE | kAccessFlags)) != 0 || access_flags_clash(spec.flags))
    return wrong_flags(spec);
  if (spec.max_entries == 0 || spec.key_size <= kLengthBytes || spec.key_size > kLengthBytes + kMaxData ||
      spec.value_size == 0 || spec.value_size > kMaxKernelAllocation - kMaxData - kKernelNode)
    return wrong_sizes(spec);
  // Each prefix may need a node that joins it to another
  const size_t places = size_t{2} * spec.max_entries + spec.max_entries / 4 + kRestingEach * (cpus + 1);
  if (places >= kNoSlot) return fail(ENOMEM, fmt::format("max_entries {} is too many", spec.max_entries));
  auto area = Area::allocate(places * stride_of(spec));
  if (!area) return area.error();
  auto pool = SlotPool::create(static_cast<uint32_t>(places), cpus + 1, grace);
  if (!pool) return pool.error();
  return std::shared_ptr<Map>(std::make_shared<LpmTrieMap>(Token{}, spec, cpus, std::move(*area), std::move(*pool),
                                                           static_cast<uint32_t>(places)));
}

LpmTrieMap::Prefix LpmTrieMap::prefix(const void* key) const {
  Prefix prefix{0, static_cast<const std::byte*>(key) + kLengthBytes};
  std::memcpy(&prefix.length, key, kLengthBytes);
  return prefix;
}

// How many leading bits the node's prefix and the other one share.
uint32_t LpmTrieMap::common(uint32_t child, const Prefix& with) const {
  const auto limit = std::min(node(child).length, with.length);
  const auto* mine = data(child);
  uint32_t bits = 0;
  for (uint32_t at = 0; bits < limit; at += 8, bits += 64) {
    uint64_t a;
    uint64_t b = 0;
    std::memcpy(&a, mine + at, sizeof(a));
    std::memcpy(&b, with.data + at, std::min<size_t>(sizeof(b), data_bytes_ - at));
    if (a != b) return std::min(limit, bits + static_cast<uint32_t>(std::countl_zero(__builtin_bswap64(a ^ b))));
  }
  return limit;
}

uint32_t LpmTrieMap::find(const Prefix& wanted) const {
  uint32_t best = 0;
  for (auto at = root_.load(std::memory_order_acquire); at != 0;) {
    const auto& here = node(at);
    const auto shared = common(at, wanted);
    if (shared < here.length) break;
    if (here.joint.load(std::memory_order_relaxed) == 0) best = at;
    if (here.length == max_length_) break;
    at = here.child[bit_at(wanted.data, here.length)].load(std::memory_order_acquire);
  }
  return best;
}

void* LpmTrieMap::lookup(const void* key, uint32_t /*cpu*/) noexcept {
  const auto wanted = prefix(key);
  if (wanted.length > max_length_) return nullptr;
  const auto found = find(wanted);
  return found == 0 ? nullptr : value(found);
}

LpmTrieMap::Path LpmTrieMap::descend(const Prefix& to) {
  Path path{&root_, 0, 0, nullptr, 0};
  for (;;) {
    path.found = path.at->load(std::memory_order_relaxed);
    if (path.found == 0) return path;
    auto& here = node(path.found);
    path.shared = common(path.found, to);
    if (here.length != path.shared || here.length == to.length) return path;
    path.parent = path.found;
    path.parent_at = path.at;
    path.at = &here.child[bit_at(to.data, here.length)];
  }
}

int LpmTrieMap::may_add(uint64_t flags) {
  if (flags == BPF_EXIST) return -ENOENT;
  return count_ == spec().max_entries ? -ENOSPC : 0;
}

// A node that nothing leads to yet. Without a value it joins others. 0: no memory.
uint32_t LpmTrieMap::make(const Prefix& prefix, const void* from, uint32_t owner) {
  const auto slot = pool_->take(owner, false);
  if (slot == kNoSlot) return 0;
  const auto child = slot + 1;
  auto& made = node(child);
  for (auto& below : made.child) below.store(0, std::memory_order_relaxed);
  made.length = prefix.length;
  made.joint.store(from ? 0 : 1, std::memory_order_relaxed);
  std::memset(data(child), 0, round_up_8(data_bytes_));
  std::memcpy(data(child), prefix.data, data_bytes_);
  if (from) copy_in(value(child), from, spec().value_size);
  return child;
}

int LpmTrieMap::update(const void* key, const void* from, uint64_t flags, uint32_t cpu) noexcept {
  if (flags > BPF_EXIST) return -EINVAL;
  const auto wanted = prefix(key);
  if (wanted.length > max_length_) return -EINVAL;
  const std::lock_guard guard(lock_);
  const auto path = descend(wanted);
  const bool same = path.found != 0 && node(path.found).length == path.shared;
  const bool there = same && node(path.found).joint.load(std::memory_order_relaxed) == 0;
  if (there && flags == BPF_NOEXIST) return -EEXIST;
  if (!there)
    if (const int rc = may_add(flags); rc != 0) return rc;
  const int rc = insert(wanted, path, from, flags, std::min(cpu, cpus()));
  if (rc == 0 && !there) ++count_;
  return rc;
}

int LpmTrieMap::insert(const Prefix& key, const Path& path, const void* from, uint64_t /*flags*/, uint32_t owner) {
  const auto made = make(key, from, owner);
  if (made == 0) return -ENOMEM;
  if (path.found == 0) {
    path.at->store(made, std::memory_order_release);
    return 0;
  }
  auto& old = node(path.found);
  if (old.length == path.shared) {
    // In the old one's place, with its children
    for (size_t i = 0; i < 2; ++i)
      node(made).child[i].store(old.child[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
    path.at->store(made, std::memory_order_release);
    pool_->retire(path.found - 1, owner);
    return 0;
  }
  if (path.shared == key.length) {
    node(made).child[bit_at(data(path.found), path.shared)].store(path.found, std::memory_order_relaxed);
    path.at->store(made, std::memory_order_release);
    return 0;
  }
  const auto joint = make({path.shared, data(path.found)}, nullptr, owner);
  if (joint == 0) {
    pool_->give_back(made - 1, owner);
    return -ENOMEM;
  }
  const auto side = bit_at(key.data, path.shared);
  node(joint).child[side].store(made, std::memory_order_relaxed);
  node(joint).child[1 - side].store(path.found, std::memory_order_relaxed);
  path.at->store(joint, std::memory_order_release);
  return 0;
}

int LpmTrieMap::erase(const void* key, uint32_t cpu) noexcept {
  const auto wanted = prefix(key);
  if (wanted.length > max_length_) return -EINVAL;
  const auto owner = std::min(cpu, cpus());
  const std::lock_guard guard(lock_);
  const auto path = descend(wanted);
  if (path.found == 0) return -ENOENT;
  auto& gone = node(path.found);
  if (gone.length != wanted.length || gone.length != path.shared || gone.joint.load(std::memory_order_relaxed) != 0)
    return -ENOENT;
  --count_;
  const auto left = gone.child[0].load(std::memory_order_relaxed);
  const auto right = gone.child[1].load(std::memory_order_relaxed);
  if (left != 0 && right != 0) {
    gone.joint.store(1, std::memory_order_relaxed);
    return 0;
  }
  const bool last = left == 0 && right == 0;
  if (last && path.parent != 0 && node(path.parent).joint.load(std::memory_order_relaxed) != 0) {
    // What joined it and its sibling has nothing left to join
    auto& parent = node(path.parent);
    const auto sibling = parent.child[&parent.child[0] == path.at ? 1 : 0].load(std::memory_order_relaxed);
    path.parent_at->store(sibling, std::memory_order_release);
    pool_->retire(path.parent - 1, owner);
  } else {
    path.at->store(left != 0 ? left : right, std::memory_order_release);
  }
  pool_->retire(path.found - 1, owner);
  return 0;
}

int LpmTrieMap::copy_lookup(std::span<const std::byte> key, std::span<std::byte> to) {
  if (const int rc = may_read(); rc != 0) return rc;
  if (key.size() != spec().key_size || to.size() != spec().value_size) return -EINVAL;
  const auto wanted = prefix(key.data());
  if (wanted.length > max_length_) return -ENOENT;
  // Control is no worker: only the lock keeps the nodes in place for it
  const std::lock_guard guard(lock_);
  const auto found = find(wanted);
  if (found == 0) return -ENOENT;
  copy_out(to.data(), value(found), to.size());
  return 0;
}

int LpmTrieMap::copy_update(std::span<const std::byte> key, std::span<const std::byte> from, uint64_t flags) {
  if (const int rc = may_write(); rc != 0) return rc;
  if (key.size() != spec().key_size || from.size() != spec().value_size) return -EINVAL;
  return update(key.data(), from.data(), flags, cpus());
}

int LpmTrieMap::copy_erase(std::span<const std::byte> key) {
  if (const int rc = may_write(); rc != 0) return rc;
  return key.size() == spec().key_size ? erase(key.data(), cpus()) : -EINVAL;
}

int LpmTrieMap::copy_key(uint32_t child, std::span<std::byte> next) const {
  std::memcpy(next.data(), &node(child).length, kLengthBytes);
  std::memcpy(next.data() + kLengthBytes, data(child), data_bytes_);
  return 0;
}

// Children come before their parent. A node that joins others has two.
int LpmTrieMap::copy_first(uint32_t root, std::span<std::byte> next) const {
  uint32_t first = 0;
  for (auto at = root; at != 0;) {
    const auto& here = node(at);
    const auto left = here.child[0].load(std::memory_order_relaxed);
    if (here.joint.load(std::memory_order_relaxed) == 0) first = at;
    at = left != 0 ? left : here.child[1].load(std::memory_order_relaxed);
  }
  return first == 0 ? -ENOENT : copy_key(first, next);
}

int LpmTrieMap::next_key(std::span<const std::byte> key, std::span<std::byte> next) {
  if (const int rc = may_read(); rc != 0) return rc;
  if ((!key.empty() && key.size() != spec().key_size) || next.size() != spec().key_size) return -EINVAL;
  const std::lock_guard guard(lock_);
  const auto root = root_.load(std::memory_order_relaxed);
  const auto wanted = key.empty() ? Prefix{max_length_ + 1, nullptr} : prefix(key.data());
  if (wanted.length > max_length_) return copy_first(root, next);

  std::array<uint32_t, kMaxData * 8 + 1> path;
  size_t depth = 0;
  auto at = root;
  while (at != 0) {
    path[depth++] = at;
    const auto& here = node(at);
    if (here.length != common(at, wanted) || here.length == wanted.length) break;
    at = here.child[bit_at(wanted.data, here.length)].load(std::memory_order_relaxed);
  }
  // A key that is not there leads to the first
  if (at == 0 || node(at).length != wanted.length || common(at, wanted) != wanted.length ||
      node(at).joint.load(std::memory_order_relaxed) != 0)
    return copy_first(root, next);
  for (; depth > 1; --depth) {
    const auto& parent = node(path[depth - 2]);
    const auto right = parent.child[1].load(std::memory_order_relaxed);
    if (parent.child[0].load(std::memory_order_relaxed) == path[depth - 1] && right != 0)
      return copy_first(right, next);
    if (parent.joint.load(std::memory_order_relaxed) == 0) return copy_key(path[depth - 2], next);
  }
  return -ENOENT;
}

}  // namespace xbond::bpf
