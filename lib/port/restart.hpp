// Changing what some drivers change on a stopped device only. Internal to the room; pure. Thread: control.
#pragma once

#include <cerrno>
#include <functional>

namespace xbond::port {

// Each 0 or a negative errno.
struct ChangeSteps {
  std::function<int()> apply, undo, stop, start;
};

struct ChangeResult {
  int status = 0;       // of the step that decided, negative errno
  bool running = true;  // false: it was stopped and cannot be started again, not even as it was
};

// Applies at once; where the driver answers EBUSY and the device is `running`, with the device stopped in between.
// Where it does not start with the change, the change is undone and it is started as it was.
inline ChangeResult change_with_restart(const ChangeSteps& steps, bool running) {
  int status = steps.apply();
  if (status != -EBUSY || !running) return {.status = status, .running = running};
  if (const int stopped = steps.stop(); stopped != 0) return {.status = stopped, .running = true};
  status = steps.apply();
  const int started = steps.start();
  if (started == 0) return {.status = status, .running = true};
  if (status == 0) steps.undo();
  return {.status = status == 0 ? started : status, .running = steps.start() == 0};
}

}  // namespace xbond::port
