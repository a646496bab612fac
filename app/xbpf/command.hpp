// The offline tool's commands. Each takes the words behind its name and gives the exit status; what went wrong is one
// line on stderr. Thread: main.
#pragma once

#include <string>
#include <vector>

#include "bpf_compat/result.hpp"

namespace xbond::xbpf {

using Words = std::vector<std::string>;

inline constexpr int kDone = 0;
inline constexpr int kFailed = 1;
inline constexpr int kUsage = 2;  // wrong words; for `verify` also an object that can't be opened

// Prints the error's line on stderr and gives `status` back.
int complain(const Error& error, int status = kFailed);

int show(const Words& words);
int verify(const Words& words);
int run(const Words& words);
int dump(const Words& words);
int exec(const Words& words);
int engines(const Words& words);

}  // namespace xbond::xbpf
