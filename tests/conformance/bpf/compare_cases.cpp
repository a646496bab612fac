// The kernel's own verifier tests as programs of type XDP: our verdict against the running kernel's on each. Argument:
// a file of cases as kernel_cases.c writes it. Exit 0: we accept nothing that the kernel refuses, and at least 97 % of
// what it accepts, rules aside that are stricter on purpose; 1 otherwise; 77 skipped.
#include <fmt/format.h>
#include <linux/bpf.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <sstream>

#include "bpf_compat/hex.hpp"
#include "bpf_compat/verifier/verifier.hpp"
#include "tests/conformance/bpf/kernel_object.hpp"

namespace xbond::bpf::conformance {
namespace {

// Where we refuse on purpose what a privileged user's kernel takes, by what we say.
struct Rule {
  std::string_view text;
  std::string_view why;
};
constexpr std::array kRules = {
    Rule{"leaks addr", "no pointer leaves a program, nor goes where its bits can be read"},
    Rule{"spilled pointer", "likewise"},
    Rule{"invalid read from stack", "what was never written is not read (kernels before 6.3 ask for it too)"},
    Rule{"cannot use helper", "a helper that no engine here has"},
    Rule{"kernel functions can't be called", "likewise"},
    Rule{"mem access 'map_ptr", "the kernel's own map structure"},
    Rule{"pointer arithmetic prohibited", "the negative of a pointer is of no use"},
    Rule{"frame pointer r10 is read only", "in code that no run reaches"},
};

MapSpec map_of(uint32_t type, uint32_t key, uint32_t value, uint32_t entries = 1, uint32_t flags = 0) {
  return {.name = "m", .type = type, .key_size = key, .value_size = value, .max_entries = entries, .flags = flags};
}

// By the numbers that kernel_cases.c gives them
std::vector<MapSpec> case_maps() {
  std::vector<MapSpec> maps = {
      map_of(BPF_MAP_TYPE_HASH, 8, 8),
      map_of(BPF_MAP_TYPE_HASH, 8, 48),
      map_of(BPF_MAP_TYPE_HASH, 8, 16),
      map_of(BPF_MAP_TYPE_ARRAY, 4, 48),
      map_of(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 4),
      map_of(BPF_MAP_TYPE_PROG_ARRAY, 4, 4, 8),
      map_of(BPF_MAP_TYPE_ARRAY_OF_MAPS, 4, 4),
      map_of(BPF_MAP_TYPE_XSKMAP, 4, 4),
      map_of(BPF_MAP_TYPE_ARRAY, 4, 48, 1, BPF_F_RDONLY_PROG),
      map_of(BPF_MAP_TYPE_ARRAY, 4, 48, 1, BPF_F_WRONLY_PROG),
      map_of(BPF_MAP_TYPE_ARRAY, 4, 1),
      map_of(BPF_MAP_TYPE_PERF_EVENT_ARRAY, 4, 4),
      map_of(BPF_MAP_TYPE_RINGBUF, 0, 0, 4096),
  };
  maps[6].inner = std::make_shared<MapSpec>(map_of(BPF_MAP_TYPE_ARRAY, 4, 4));
  for (size_t i = 0; i < maps.size(); ++i) maps[i].name = fmt::format("m{}", i);
  return maps;
}

struct Case {
  std::string name;
  std::vector<bpf_insn> code;
  bool comparable = true;
};

void refer(Case& one, size_t at, int map) {
  if (map < 0 || at >= one.code.size()) {
    one.comparable = false;
    return;
  }
  auto& insn = one.code[at];
  insn.src_reg = insn.src_reg == BPF_PSEUDO_MAP_VALUE ? BPF_PSEUDO_MAP_IDX_VALUE : BPF_PSEUDO_MAP_IDX;
  insn.imm = map;
}

std::vector<Case> read_cases(const char* path) {
  std::vector<Case> cases;
  std::ifstream file(path);
  Case one;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "case") {
      one = {.name = line.substr(5), .code = {}};
    } else if (word == "insn") {
      words >> word;
      const auto bytes = parse_hex(word);
      one.code.resize(bytes ? bytes->size() / sizeof(bpf_insn) : 0);
      if (bytes && !bytes->empty()) std::memcpy(one.code.data(), bytes->data(), one.code.size() * sizeof(bpf_insn));
    } else if (word == "map") {
      size_t at = 0;
      int map = -1;
      words >> at >> map;
      refer(one, at, map);
    } else if (word == "end" && one.comparable && !one.code.empty()) {
      cases.push_back(one);
    }
  }
  return cases;
}

// Only the maps that the program refers to.
Object object_of(const Case& one, const std::vector<MapSpec>& all) {
  std::vector<MapSpec> used;
  std::vector<int> number(all.size(), -1);
  auto code = one.code;
  for (auto& insn : code) {
    const bool refers = insn.code == (BPF_LD | BPF_IMM | BPF_DW) &&
                        (insn.src_reg == BPF_PSEUDO_MAP_IDX || insn.src_reg == BPF_PSEUDO_MAP_IDX_VALUE);
    if (!refers || static_cast<size_t>(insn.imm) >= all.size()) continue;
    auto& now = number[static_cast<size_t>(insn.imm)];
    if (now < 0) {
      now = static_cast<int>(used.size());
      used.push_back(all[static_cast<size_t>(insn.imm)]);
    }
    insn.imm = now;
  }
  return Object::of("case", std::move(used), {{.name = "case", .section = "xdp", .insns = std::move(code)}});
}

}  // namespace

int compare_cases(const char* path) {
  const auto maps = case_maps();
  const auto cases = read_cases(path);
  size_t kernel_accepts = 0;
  size_t both = 0;
  size_t only_ours = 0;
  std::array<size_t, kRules.size()> by_rule{};
  for (const auto& one : cases) {
    const auto object = object_of(one, maps);
    std::string why;
    const auto kernel = KernelObject::by_instructions(object, object.programs().front(), why);
    if (!kernel.valid() && KernelObject::lacks_maps(why)) continue;
    const auto report = verifier::verify(object, object.programs().front());
    const bool ours = !report.refusal;
    kernel_accepts += kernel.valid();
    both += kernel.valid() && ours;
    if (kernel.valid() == ours) continue;
    const auto line = ours ? std::string() : report.refusal->line();
    const auto rule =
        std::ranges::find_if(kRules, [&](const Rule& r) { return line.find(r.text) != std::string::npos; });
    if (!ours && rule != kRules.end()) {
      ++by_rule[static_cast<size_t>(rule - kRules.begin())];
      continue;
    }
    only_ours += ours;
    fmt::print("{} {}: kernel {}, ours {}\n", ours ? "UNSAFE?" : "stricter", one.name,
               kernel.valid() ? "accepts" : "refuses (" + why + ")", ours ? "accepts" : "refuses (" + line + ")");
  }
  size_t on_purpose = 0;
  for (size_t i = 0; i < kRules.size(); ++i) {
    on_purpose += by_rule[i];
    fmt::print("{:>4} refused on purpose: {} ({})\n", by_rule[i], kRules[i].text, kRules[i].why);
  }
  const auto rest = kernel_accepts - on_purpose;
  const double share = rest == 0 ? 0.0 : 100.0 * static_cast<double>(both) / static_cast<double>(rest);
  fmt::print("cases {}, kernel accepts {}, on purpose refused {}, accepted {} ({:.1f} % of the rest), only ours {}\n",
             cases.size(), kernel_accepts, on_purpose, both, share, only_ours);
  return only_ours == 0 && share >= 97.0 && !cases.empty() ? 0 : 1;
}

}  // namespace xbond::bpf::conformance

int main(int argc, char** argv) {
  using namespace xbond::bpf::conformance;  // NOLINT(google-build-using-namespace)
  if (!ready()) return kSkipped;
  return argc == 2 ? compare_cases(argv[1]) : 2;
}
