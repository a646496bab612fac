// Ways into the command table: interactive console (rte_cmdline's line editor), piped stdin, a start file.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "bpf_compat/result.hpp"
#include "lib/control/command.hpp"
#include "lib/control/mailbox.hpp"
#include "lib/control/notices.hpp"
#include "lib/control/socket.hpp"

namespace xbond::control {

// What else the control thread serves while it waits for its next line. Not owned; may be null.
struct Services {
  Notices* notices = nullptr;  // shown above the prompt; on stderr where there is none
  SocketServer* socket = nullptr;
  Mailbox* mailbox = nullptr;
};

// Runs each line of a file; stops at the first that fails: the error says FILE:LINE: text. Output to stdout,
// line-buffered. `stop` is asked between lines.
Status run_file(const CommandTable& table, const std::string& path, const std::function<bool()>& stop);

// Reads commands from stdin until EOF, `quit` (stop() turns true) or a wake on `wake_fd` (readable: stop). On a
// terminal: line editing, history, TAB completion, prompt "xbond> ". Else plain lines without prompt or echo; errors go
// to stderr and do not end the session. Ctrl-C clears the line (SIGINT as a signal is the caller's, by wake_fd), Ctrl-D
// on an empty line ends. The terminal's mode is put back on every return. Thread: control.
void run_console(const CommandTable& table, int wake_fd, const std::function<bool()>& stop, Services services = {});

// The same without stdin: serves until `stop` or a wake.
void run_services(int wake_fd, const std::function<bool()>& stop, Services services);

}  // namespace xbond::control
