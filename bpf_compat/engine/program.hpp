// A loaded XDP program: instructions, its maps and the engine that runs it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bpf_compat/map/map.hpp"
#include "bpf_compat/object/object.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::bpf {

class Program;

// The target of a redirect. It was in the map when the program asked; the map is the program's.
struct RedirectTarget {
  const Map* map = nullptr;          // DEVMAP, DEVMAP_HASH, CPUMAP or XSKMAP; null: bpf_redirect()
  const Program* program = nullptr;  // runs on the frame there; null: none. As long as the burst (Destination)
  uint32_t key = 0;                  // of the map
  uint32_t ifindex = 0;              // the interface; of a CPUMAP its queue size, of an XSKMAP the consumer's number
  uint32_t flags = 0;                // BPF_F_BROADCAST, BPF_F_EXCLUDE_INGRESS: all interfaces of the map
};

// A piece of a frame behind its first one (the kernel's skb_frag_t).
struct XdpFragment {
  uint8_t* data = nullptr;
  uint32_t size = 0;  // bytes of the frame
  uint32_t room = 0;  // bytes behind them that adjust_tail may take
};

// One frame as a program sees it. Worker-owned; `data` .. `data_end` is the packet, all inside one buffer
// [hard_start, hard_end). A program may move data, data_end and data_meta (adjust_* helpers); the caller takes the
// new positions back. data_meta == data where there is no metadata.
struct XdpFrame {
  uint8_t* data;
  uint8_t* data_end;
  uint8_t* data_meta;
  uint8_t* hard_start;
  uint8_t* hard_end;
  uint32_t ingress_ifindex;
  uint32_t rx_queue_index;
  uint32_t egress_ifindex;
  // What of the frame lies in other buffers, behind data_end: only for programs that take that (takes_fragments).
  // Programs reach it by helpers; adjust_tail makes the last piece longer or shorter and takes empty ones away.
  XdpFragment* fragments = nullptr;
  uint32_t fragment_count = 0;
  uint32_t fragment_bytes = 0;  // the sum of their sizes
  // Where a helper of the program said that the frame is to go. Holds when the verdict is XDP_REDIRECT.
  RedirectTarget redirect = {};
};

enum class EngineKind : uint8_t { automatic, rte_bpf, llvm, interpreter };

// "auto", "rte_bpf", "llvm", "interpreter". Errors: EINVAL with the allowed names.
Result<EngineKind> parse_engine(std::string_view name);
std::string_view engine_name(EngineKind kind);
// Errors: ENOTSUP with what is there instead. Automatic is always there.
Status engine_available(EngineKind kind);

// Whether an attached program has to be proven first: the interpreter, asked for by name, checks every access instead.
constexpr bool needs_proof(EngineKind kind) {
  return kind != EngineKind::interpreter;
}

struct LoadOptions {
  EngineKind engine = EngineKind::automatic;
  // Only what the verifier accepts, as the kernel does. False: a broken rule ends the run that breaks it.
  bool proven = false;
  uint32_t cpus = 1;  // workers; CPU numbers that programs see are below it
  // Maps to take over instead of making new ones: used when name and shape match (values survive a program swap). Data
  // sections are part of the code and are always made new.
  std::span<const std::shared_ptr<Map>> reuse = {};
  // Maps that are pinned by name in this process: a map declared so is the one of its name here, and an error (EINVAL)
  // where its shape is another. The caller adds what a load makes: maps whose spec says `pinned`.
  std::span<const std::shared_ptr<Map>> pinned = {};
  // Knows the bursts of all workers that run the program, and outlives its maps. Null: run_burst() itself says when a
  // burst begins and ends.
  Grace* grace = nullptr;
};

class Loading;

class Program {
 public:
  // Makes the maps and binds them. Control thread. Errors: ENOTSUP names the helper, map type or engine that is
  // missing; EINVAL a malformed instruction, with its number; EACCES what the verifier refuses it for.
  static Result<std::shared_ptr<Program>> load(const Object& object, const ProgramSpec& spec,
                                               const LoadOptions& options);

  // The living program of that id; null when there is none. Control.
  static std::shared_ptr<const Program> find(uint32_t id);

  virtual ~Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& section() const { return section_; }
  [[nodiscard]] const std::string& object_name() const { return object_name_; }
  // Frames in several buffers: section "xdp.frags…" (libbpf gives BPF_F_XDP_HAS_FRAGS for it). Others get them in one.
  [[nodiscard]] bool takes_fragments() const { return section_.starts_with("xdp.frags"); }
  [[nodiscard]] uint32_t id() const { return id_; }  // unique in the process, from 1
  [[nodiscard]] size_t instructions() const { return instructions_; }
  [[nodiscard]] EngineKind engine() const { return engine_; }           // never automatic
  [[nodiscard]] const std::string& why_engine() const { return why_; }  // why not an earlier one; may be empty
  [[nodiscard]] std::span<const std::shared_ptr<Map>> maps() const { return maps_; }

  // Another program of the same object with the same maps, for an entry of a prog array, devmap or CPU map. Control.
  // Errors: ENOENT there is none of that name; as load().
  [[nodiscard]] Result<std::shared_ptr<const Program>> sibling(std::string_view name) const;

  // Worker: runs the program on each frame; verdicts[i] gets r0's low 32 bits (not yet judged: 42 stays 42). A frame
  // whose run breaks a rule at run time (bad access, instruction budget) gets XDP_ABORTED.
  // `cpu` is the worker's dense index. No allocation, no lock, no system call.
  virtual void run_burst(std::span<XdpFrame> frames, uint32_t* verdicts, uint32_t cpu) const noexcept = 0;

  // Runs that broke a rule, over all workers, and the last one's reason ("instruction 12: read outside …"; empty when
  // there was none). Control thread.
  struct Faults {
    uint64_t count = 0;
    std::string last;
  };
  [[nodiscard]] virtual Faults faults() const = 0;

  // Gives each line of bpf_trace_printk since the last call to `sink`, and returns how many were lost so far because
  // the program wrote too fast or no one asked in time. Control, one thread at a time.
  virtual uint64_t drain_trace(const std::function<void(std::string_view)>& sink) const = 0;

 protected:
  Program() = default;
  std::string name_, section_, object_name_, why_;
  uint32_t id_ = 0;
  size_t instructions_ = 0;
  EngineKind engine_ = EngineKind::interpreter;
  std::vector<std::shared_ptr<Map>> maps_;
  std::shared_ptr<Loading> loading_;  // null: it runs only in another one's place
};

}  // namespace xbond::bpf
