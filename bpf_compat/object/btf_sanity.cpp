#include <fmt/format.h>
#include <linux/btf.h>

#include <vector>

#include "bpf_compat/object/sanity.hpp"

namespace xbond::bpf {
namespace {

using Bytes = std::span<const std::byte>;

// Depth of types that contain each other by value. libbpf walks them recursively; real ones stay below 30.
constexpr size_t kMaxDepth = 128;

// One type, and the types it refers to.
struct Type {
  uint32_t kind = 0;
  std::vector<uint32_t> refs;
  bool by_value = false;  // its size needs the sizes of `refs`
};

struct Parts {
  Bytes types;
  Bytes strings;
};

Result<Parts> split(Bytes section) {
  const auto header = read_at<btf_header>(section, 0);
  if (!header || header->magic != BTF_MAGIC || header->version != BTF_VERSION || header->hdr_len < sizeof(btf_header) ||
      header->hdr_len > section.size())
    return fail(EINVAL, "its .BTF header is damaged");
  const auto body = section.subspan(header->hdr_len);
  const auto inside = [&](uint32_t offset, uint32_t length) {
    return offset <= body.size() && length <= body.size() - offset;
  };
  // Types before strings, nothing behind: the order that compilers write and libbpf expects
  if (!inside(header->type_off, header->type_len) || !inside(header->str_off, header->str_len) ||
      header->type_off % 4 != 0 || size_t{header->type_off} + header->type_len > header->str_off)
    return fail(EINVAL, "its .BTF parts lie outside the section");
  const auto strings = body.subspan(header->str_off, header->str_len);
  if (strings.empty() || strings.front() != std::byte{0} || strings.back() != std::byte{0})
    return fail(EINVAL, "its .BTF strings are damaged");
  return Parts{body.subspan(header->type_off, header->type_len), strings};
}

struct Layout {
  size_t fixed;       // bytes behind the btf_type
  size_t per_entry;   // bytes for each of vlen entries
  int type_in_entry;  // where an entry's type number stands, -1 for none
  bool own_ref;       // btf_type.type is a type number
  bool by_value;
};

// Nothing for kinds that the format does not know.
std::optional<Layout> layout(uint32_t kind) {
  switch (kind) {
    case BTF_KIND_INT:
      return Layout{4, 0, -1, false, false};
    case BTF_KIND_ARRAY:
      return Layout{sizeof(btf_array), 0, -1, false, true};
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION:
      return Layout{0, sizeof(btf_member), offsetof(btf_member, type), false, true};
    case BTF_KIND_ENUM:
      return Layout{0, sizeof(btf_enum), -1, false, false};
    case BTF_KIND_ENUM64:
      return Layout{0, sizeof(btf_enum64), -1, false, false};
    case BTF_KIND_FWD:
    case BTF_KIND_FLOAT:
      return Layout{0, 0, -1, false, false};
    case BTF_KIND_PTR:
    case BTF_KIND_FUNC:
      return Layout{0, 0, -1, true, false};
    case BTF_KIND_TYPEDEF:
    case BTF_KIND_VOLATILE:
    case BTF_KIND_CONST:
    case BTF_KIND_RESTRICT:
    case BTF_KIND_TYPE_TAG:
      return Layout{0, 0, -1, true, true};
    case BTF_KIND_FUNC_PROTO:
      return Layout{0, sizeof(btf_param), offsetof(btf_param, type), true, false};
    case BTF_KIND_VAR:
      return Layout{sizeof(btf_var), 0, -1, true, true};
    case BTF_KIND_DATASEC:
      return Layout{0, sizeof(btf_var_secinfo), offsetof(btf_var_secinfo, type), false, true};
    case BTF_KIND_DECL_TAG:
      return Layout{sizeof(btf_decl_tag), 0, -1, true, false};
    default:
      return std::nullopt;
  }
}

bool names_its_entries(uint32_t kind) {
  return kind == BTF_KIND_STRUCT || kind == BTF_KIND_UNION || kind == BTF_KIND_ENUM || kind == BTF_KIND_ENUM64 ||
         kind == BTF_KIND_FUNC_PROTO;
}

// Reads one type at `offset` and moves `offset` behind it. Names and type numbers are only checked for range here.
Result<Type> read_type(const Parts& parts, size_t& offset) {
  const auto damaged = fail(EINVAL, fmt::format("its .BTF type at byte {} is damaged", offset));
  const auto head = read_at<btf_type>(parts.types, offset);
  if (!head || !string_at(parts.strings, head->name_off)) return damaged;
  Type type{.kind = BTF_INFO_KIND(head->info), .refs = {}};
  const auto shape = layout(type.kind);
  if (!shape) return damaged;
  const size_t entries = shape->per_entry != 0 ? BTF_INFO_VLEN(head->info) : 0;
  const size_t extra = shape->fixed + shape->per_entry * entries;
  offset += sizeof(btf_type);
  if (parts.types.size() - offset < extra) return damaged;
  const auto body = parts.types.subspan(offset, extra);
  offset += extra;

  type.by_value = shape->by_value;
  if (shape->own_ref) type.refs.push_back(head->type);
  if (type.kind == BTF_KIND_ARRAY) {
    const auto array = *read_at<btf_array>(body, 0);
    type.refs.push_back(array.type);
    type.refs.push_back(array.index_type);
  }
  for (size_t i = 0; i < entries; ++i) {
    const size_t at = i * shape->per_entry;
    if (shape->type_in_entry >= 0)
      type.refs.push_back(*read_at<uint32_t>(body, at + static_cast<size_t>(shape->type_in_entry)));
    if (names_its_entries(type.kind) && !string_at(parts.strings, *read_at<uint32_t>(body, at))) return damaged;
  }
  return type;
}

Result<std::vector<Type>> read_types(const Parts& parts) {
  std::vector<Type> types(1);  // number 0 is void
  for (size_t offset = 0; offset < parts.types.size();) {
    auto type = read_type(parts, offset);
    if (!type) return type.error();
    types.push_back(std::move(*type));
  }
  return types;
}

Status check_refs(const std::vector<Type>& types) {
  for (size_t id = 1; id < types.size(); ++id) {
    for (const auto ref : types[id].refs) {
      if (ref >= types.size()) return fail(EINVAL, fmt::format("its .BTF type {} refers to no type", id));
      if (types[id].kind == BTF_KIND_DATASEC && types[ref].kind != BTF_KIND_VAR && types[ref].kind != BTF_KIND_FUNC)
        return fail(EINVAL, fmt::format("its .BTF section type {} holds what is no variable", id));
      if (types[id].kind == BTF_KIND_FUNC && types[ref].kind != BTF_KIND_FUNC_PROTO)
        return fail(EINVAL, fmt::format("its .BTF function {} has no prototype", id));
    }
  }
  return {};
}

// Depth-first over containment by value, without recursion of our own: no type may contain itself, nor go too deep.
Status check_depth(const std::vector<Type>& types) {
  enum class Mark : uint8_t { unseen, open, done };
  struct Step {
    uint32_t id;
    size_t next;
  };
  std::vector<Mark> marks(types.size(), Mark::unseen);
  std::vector<size_t> depth(types.size(), 0);
  std::vector<Step> path;
  for (uint32_t root = 1; root < types.size(); ++root) {
    if (marks[root] != Mark::unseen) continue;
    path.push_back({root, 0});
    marks[root] = Mark::open;
    while (!path.empty()) {
      auto& step = path.back();
      const auto& type = types[step.id];
      if (!type.by_value || step.next == type.refs.size()) {
        marks[step.id] = Mark::done;
        const auto below = depth[step.id];
        path.pop_back();
        if (!path.empty()) depth[path.back().id] = std::max(depth[path.back().id], below + 1);
        continue;
      }
      const auto ref = type.refs[step.next++];
      if (marks[ref] == Mark::open) return fail(EINVAL, fmt::format("its .BTF type {} contains itself", ref));
      if (marks[ref] == Mark::done) {
        depth[step.id] = std::max(depth[step.id], depth[ref] + 1);
      } else {
        marks[ref] = Mark::open;
        path.push_back({ref, 0});
      }
    }
    if (depth[root] > kMaxDepth) return fail(EINVAL, fmt::format("its .BTF type {} nests too deeply", root));
  }
  return {};
}

// The layout of .BTF.ext's header; its later fields are absent in old objects.
struct ExtHeader {
  uint16_t magic;
  uint8_t version;
  uint8_t flags;
  uint32_t hdr_len;
  uint32_t func_info_off, func_info_len;
  uint32_t line_info_off, line_info_len;
};
struct ExtCore {
  uint32_t core_relo_off, core_relo_len;
};

// One info part: record size, then for each section its name, a count and that many records. `each` gets the section's
// name and the record's bytes.
template <class Each>
Status read_info(Bytes part, Bytes strings, size_t least_record, Each&& each) {
  if (part.empty()) return {};
  const auto damaged = fail(EINVAL, "its .BTF.ext records are damaged");
  const auto record = read_at<uint32_t>(part, 0);
  if (!record || *record < least_record || *record % 4 != 0) return damaged;
  size_t offset = sizeof(uint32_t);
  while (offset < part.size()) {
    const auto name_off = read_at<uint32_t>(part, offset);
    const auto count = read_at<uint32_t>(part, offset + 4);
    if (!name_off || !count || *count == 0) return damaged;
    const auto name = string_at(strings, *name_off);
    offset += 8;
    const size_t bytes = size_t{*count} * *record;
    if (!name || part.size() - offset < bytes) return damaged;
    for (size_t i = 0; i < *count; ++i) each(*name, part.subspan(offset + i * *record, *record));
    offset += bytes;
  }
  return {};
}

}  // namespace

Status check_btf(Bytes section) {
  const auto parts = split(section);
  if (!parts) return parts.error();
  const auto types = read_types(*parts);
  if (!types) return types.error();
  if (auto status = check_refs(*types); !status) return status;
  return check_depth(*types);
}

Result<std::vector<CoreRelocation>> check_btf_ext(Bytes section, Bytes btf_section) {
  const auto parts = split(btf_section);
  if (!parts) return parts.error();
  const auto damaged = fail(EINVAL, "its .BTF.ext header is damaged");
  const auto header = read_at<ExtHeader>(section, 0);
  if (!header || header->magic != BTF_MAGIC || header->hdr_len < sizeof(ExtHeader) ||
      header->hdr_len > section.size() || header->hdr_len % 4 != 0)
    return damaged;
  ExtCore core{};
  if (header->hdr_len >= sizeof(ExtHeader) + sizeof(ExtCore)) core = *read_at<ExtCore>(section, sizeof(ExtHeader));

  const auto body = section.subspan(header->hdr_len);
  const auto part = [&](uint32_t offset, uint32_t length) -> std::optional<Bytes> {
    if (offset % 4 != 0 || offset > body.size() || length > body.size() - offset) return std::nullopt;
    return body.subspan(offset, length);
  };
  const auto func = part(header->func_info_off, header->func_info_len);
  const auto line = part(header->line_info_off, header->line_info_len);
  const auto relo = part(core.core_relo_off, core.core_relo_len);
  if (!func || !line || !relo) return damaged;
  const auto pass = [](std::string_view, Bytes) {};
  if (auto status = read_info(*func, parts->strings, 8, pass); !status) return status.error();
  if (auto status = read_info(*line, parts->strings, 16, pass); !status) return status.error();
  std::vector<CoreRelocation> relocations;
  const auto keep = [&](std::string_view name, Bytes record) {
    relocations.push_back({std::string(name), *read_at<bpf_core_relo>(record, 0)});
  };
  if (auto status = read_info(*relo, parts->strings, sizeof(bpf_core_relo), keep); !status) return status.error();
  return relocations;
}

}  // namespace xbond::bpf
