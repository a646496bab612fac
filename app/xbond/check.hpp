// --check: everything that can be validated without touching a device. Thread: main; needs no EAL.
#pragma once

#include "app/xbond/options.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::app {

// Bond options and values, XDP objects and programs (opened and loaded), devices by name: a PCI address must exist, a
// virtual device must be among the EAL options' --vdev. Never opens a device: a running instance is not disturbed.
Status check_configuration(const Options& options);

}  // namespace xbond::app
