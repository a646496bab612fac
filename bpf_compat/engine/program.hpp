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
};

enum class EngineKind : uint8_t { automatic, rte_bpf, llvm, interpreter };

// "auto", "rte_bpf", "llvm", "interpreter". Errors: EINVAL with the allowed names.
Result<EngineKind> parse_engine(std::string_view name);
std::string_view engine_name(EngineKind kind);
// Errors: ENOTSUP with what is there instead. Automatic is always there.
Status engine_available(EngineKind kind);

struct LoadOptions {
  EngineKind engine = EngineKind::automatic;
  uint32_t cpus = 1;  // workers; CPU numbers that programs see are below it
  // Maps to take over instead of making new ones: used when name and shape match (values survive a program swap). Data
  // sections are part of the code and are always made new.
  std::span<const std::shared_ptr<Map>> reuse = {};
  // Knows the bursts of all workers that run the program, and outlives its maps. Null: run_burst() itself says when a
  // burst begins and ends.
  Grace* grace = nullptr;
};

class Program {
 public:
  // Makes the maps and binds them. Control thread. Errors: ENOTSUP names the helper, map type or engine that is
  // missing; EINVAL a malformed instruction, with its number.
  static Result<std::shared_ptr<Program>> load(const Object& object, const ProgramSpec& spec,
                                               const LoadOptions& options);

  virtual ~Program() = default;
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& section() const { return section_; }
  [[nodiscard]] const std::string& object_name() const { return object_name_; }
  [[nodiscard]] uint32_t id() const { return id_; }  // unique in the process, from 1
  [[nodiscard]] size_t instructions() const { return instructions_; }
  [[nodiscard]] EngineKind engine() const { return engine_; }           // never automatic
  [[nodiscard]] const std::string& why_engine() const { return why_; }  // why not an earlier one; may be empty
  [[nodiscard]] std::span<const std::shared_ptr<Map>> maps() const { return maps_; }

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
};

}  // namespace xbond::bpf
