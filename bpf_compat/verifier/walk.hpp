// The walk over all ways through a program. Parts of it: walk.cpp the loop, and what is kept for comparison; alu.cpp,
// branch.cpp, memory.cpp, stack.cpp, call.cpp, helper.cpp the instructions.
#pragma once

#include <linux/bpf.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bpf_compat/object/object.hpp"
#include "bpf_compat/verifier/contract.hpp"
#include "bpf_compat/verifier/flow.hpp"
#include "bpf_compat/verifier/state.hpp"
#include "bpf_compat/verifier/verifier.hpp"

namespace xbond::bpf::verifier {

inline constexpr int32_t kMaxPacketOffset = 0xffff;
inline constexpr int32_t kMaxVariable = 1 << 29;  // no pointer moves farther, no size is greater

class Walk {
 public:
  Walk(std::span<const MapSpec> maps, const ProgramSpec& program, const Flow& flow, const Options& options);

  // False: refused.
  bool run();
  Report take();

 private:
  // A place on a way that is compared with. Its state goes when it proves of no use; the rest stays for its successors.
  struct Checkpoint {
    uint32_t parent = 0;
    uint32_t open = 0;  // ways from here that are not yet walked to their end
    uint32_t hits = 0;
    uint32_t misses = 0;
    std::unique_ptr<State> state;
  };
  struct Pending {
    State state;
    uint32_t at;
    uint32_t parent;
    size_t log;
  };
  enum class Step : uint8_t { next, ended, failed };

  // --- walk.cpp
  Step step();
  Step visit();  // compares with what was here before
  bool next_way();
  void end_way(uint32_t parent);
  void keep();
  bool fork(State state, uint32_t at);  // refused where too many ways wait
  bool refuse(std::string text, std::string_view advice = {});
  void log_instruction();
  [[nodiscard]] bool tight() const { return kept_bytes_ + nodes_.bytes() > kMaxBytes; }

  // --- compare.cpp
  struct Ids;
  [[nodiscard]] bool covers(const State& old, const State& now, bool all) const;
  [[nodiscard]] bool covers(const Reg& old, const Reg& now, bool all, Ids& ids) const;
  [[nodiscard]] bool covers(const Slot& old, const Slot& now, bool all, Ids& ids) const;
  static bool same(const State& a, const State& b);
  void take_marks(const State& old, State& now);
  void mark_all(State& now);
  static void widen(const State& old, State& now);

  // --- alu.cpp
  bool alu();
  bool move(bool wide);
  bool unary(bool wide);
  bool pointer_alu(Reg& pointer, const Reg& scalar, unsigned dst, bool subtract);
  bool two_operands(bool wide);
  bool wide_constant();

  // --- branch.cpp
  Step branch();
  Step branch_on(Compare op, bool wide, Reg& a, Reg* b, unsigned dst, unsigned src);
  Step both_ways(State taken, uint32_t target);
  Step null_branch(Compare op, const Reg& a, uint32_t target);
  bool packet_branch(Compare op, const Reg& a, const Reg& b, State& taken, State& passed, Known& outcome);
  void settle_null(State& state, uint32_t id, bool is_null);
  void spread(State& state, const Reg& changed, NodeId other);
  Step go(bool taken, uint32_t target);

  // --- memory.cpp
  bool load();
  bool store();
  bool atomic();
  // Whether `bytes` at `offset` from the pointer may be read or written. Only pointers are bounded: a number's range
  // may be all 64 bits.
  bool check_pointer(const Reg& reg, unsigned number, int32_t offset, uint32_t bytes, bool write);
  bool check_bounds(const Reg& reg, unsigned number, int32_t offset, uint32_t bytes, uint32_t limit,
                    std::string_view what);
  bool check_packet(const Reg& reg, unsigned number, int32_t offset, uint32_t bytes, bool zero);
  bool check_map_value(const Reg& reg, unsigned number, int32_t offset, uint32_t bytes, bool write);
  bool check_context(const Reg& reg, unsigned number, int32_t offset, uint32_t bytes, bool write);
  bool context_field(uint32_t offset, Reg& out);
  [[nodiscard]] std::optional<uint64_t> constant_value(const Reg& reg, int32_t offset, uint32_t bytes) const;
  void note(const Reg& reg, int32_t offset);

  // --- stack.cpp
  bool stack_place(const Reg& reg, unsigned number, int32_t offset, uint32_t bytes, bool aligned, int64_t& low,
                   int64_t& high);
  bool load_stack(const Reg& reg, unsigned number, int32_t offset, uint32_t bytes, bool sign, Reg& out);
  bool store_stack(const Reg& reg, unsigned number, int32_t offset, uint32_t bytes, const Reg& value);
  bool atomic_stack(const Reg& to, unsigned number, uint32_t bytes, Reg& before);
  bool read_stack(const Reg& reg, unsigned number, uint32_t bytes);
  bool write_stack(const Reg& reg, unsigned number, uint32_t bytes);
  void write_any(Frame& frame, int64_t low, int64_t high, bool keeps_value);
  bool readable(Frame& frame, int64_t low, int64_t high, unsigned number);
  Slot& slot(Frame& frame, int64_t offset);
  void deepen(int64_t low);

  // --- call.cpp
  bool call_function(uint32_t target);
  bool begin_callback(uint32_t helper);
  Step leave();
  Step leave_callback();
  bool leave_program();
  bool check_depth();

  // --- helper.cpp
  Step helper();
  struct Call {
    const Contract* contract;
    int map = -1;  // register that holds the map
    int released = -1;
    uint32_t record_bytes = 0;
    int function = -1;
  };
  bool argument(Call& call, Argument kind, unsigned number);
  void note_call(const Call& call);
  bool map_argument(Call& call, unsigned number);
  bool lock_argument(const Call& call, unsigned number);
  bool memory_argument(const Call& call, unsigned number, uint32_t bytes, bool write, bool zero);
  bool size_argument(const Call& call, unsigned number, bool zero, bool write, bool may_be_null);
  bool text_argument(unsigned number);
  void result(const Call& call);
  bool release(uint32_t reference);
  void void_packet_pointers();

  // --- common
  bool read(unsigned number);  // that the register was written; marks it live
  Reg& reg(unsigned number) { return state_.reg(number); }
  void precise(const Reg& reg) { nodes_.mark_precise(reg.node); }
  void set_unknown(unsigned number) { reg(number) = Reg::unknown(nodes_.made_of(0)); }
  void set_number(unsigned number, const Number& value, NodeId node) { reg(number) = Reg::scalar(value, node); }
  [[nodiscard]] const MapSpec& map(const Reg& reg) const;
  [[nodiscard]] uint32_t value_size(const Reg& reg) const;
  [[nodiscard]] const bpf_insn& insn() const { return code_[at_]; }
  uint32_t new_id() { return ++last_id_; }

  static constexpr size_t kMaxBytes = size_t{256} << 20;  // of kept states and nodes
  static constexpr size_t kMaxPending = 8192;             // the kernel's BPF_COMPLEXITY_LIMIT_JMP_SEQ

  std::span<const MapSpec> maps_;
  const ProgramSpec& program_;
  std::span<const bpf_insn> code_;
  const Flow& flow_;
  Options options_;
  bool devmap_ = false;  // runs at a devmap's or CPU map's entry
  bool cpumap_ = false;

  Nodes nodes_;
  State state_;
  uint32_t at_ = 0;
  uint32_t parent_ = 0;
  std::vector<Checkpoint> checkpoints_{1};   // [0] is the way's beginning
  std::vector<std::vector<uint32_t>> kept_;  // checkpoints by instruction
  std::vector<Pending> pending_;
  std::vector<uint16_t> depth_;  // stack bytes by function
  std::vector<uint64_t> calls_;  // seen, as caller and callee (indices into flow's functions)
  size_t kept_bytes_ = 0;
  uint32_t last_id_ = 0;
  uint64_t jumps_ = 0;
  uint64_t jumps_at_keep_ = 0;
  uint64_t walked_at_keep_ = 0;
  Report report_;
};

}  // namespace xbond::bpf::verifier
