// Ways into the command table: interactive console (rte_cmdline's line editor), piped stdin, a start file.
#pragma once

#include <cstdio>
#include <functional>
#include <string>

#include "bpf_compat/result.hpp"
#include "lib/control/command.hpp"

namespace xbond::control {

// Runs each line of a file; stops at the first that fails: the error says FILE:LINE. Output to stdout, line-buffered.
// `stop` is asked between lines.
Status run_file(const CommandTable& table, const std::string& path, const std::function<bool()>& stop);

// Reads commands from stdin until EOF, `quit` (stop() turns true) or a wake on `wake_fd` (readable: stop). On a
// terminal: line editing, history, TAB completion, prompt "xbond> ". Else plain lines without prompt or echo; errors go
// to stderr and do not end the session.
void run_console(const CommandTable& table, int wake_fd, const std::function<bool()>& stop);

}  // namespace xbond::control
