// Which program runs where: the kernel's attach rules over bonds, their members and plain ports
// (bond_xdp_set, bond_enslave in drivers/net/bonding/bond_main.c; dev_xdp_attach in net/core/dev.c).
// Thread: protocol thread, like the bonds. Knows devices by ifindex only.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::xdp {

using ProgramRef = std::shared_ptr<const bpf::Program>;

class Attachments {
 public:
  // Devices as they come and go.
  void add_device(uint32_t ifindex);
  void remove_device(uint32_t ifindex);
  [[nodiscard]] bool has_program(uint32_t ifindex) const;

  // Membership. Errors: EOPNOTSUPP "Slave has XDP program loaded, please unload before enslaving".
  Status can_enslave(uint32_t bond, uint32_t member) const;
  Status enslave(uint32_t bond, uint32_t member);
  void release(uint32_t member);

  // Whether attach() would be taken; the costly load can wait for the answer. Errors: EEXIST "Cannot attach when an
  // upper device already has a program"; EOPNOTSUPP "Slave has XDP program loaded, please unload before enslaving";
  // EBUSY a program is there and `force` is not (as iproute2).
  [[nodiscard]] Status check(uint32_t ifindex, bool force) const;
  Status attach(uint32_t ifindex, ProgramRef program, bool force);
  // Detaching where nothing is attached succeeds, as in the kernel.
  Status detach(uint32_t ifindex);

  [[nodiscard]] ProgramRef own(uint32_t ifindex) const;
  // What runs on frames received by that device: its own program or that of the nearest bond above it.
  [[nodiscard]] ProgramRef effective(uint32_t ifindex) const;

 private:
  struct Device {
    uint32_t upper = 0;  // 0: none
    ProgramRef program;
  };
  [[nodiscard]] bool upper_has_program(const Device& device) const;
  [[nodiscard]] bool lower_has_program(uint32_t ifindex) const;

  std::map<uint32_t, Device> devices_;
};

}  // namespace xbond::xdp
