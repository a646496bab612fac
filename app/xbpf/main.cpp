// xbpf: XDP objects without a port, a kernel or privileges. Shows what is in them, says whether they are safe, runs
// them on frames.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>
#include <string_view>

#include "app/xbpf/command.hpp"

namespace xbond::xbpf {
namespace {

struct Command {
  std::string_view name;
  std::string_view usage;
  int (*call)(const Words&);
};

constexpr std::array kCommands = {
    Command{"show", "OBJ [--json]\n      maps and programs, as libbpf sees them", show},
    Command{
        "verify",
        "OBJ [--prog NAME] [--json] [--log]\n      exit status 0 accepted, 1 refused (the last line says why), 2 it "
        "can't be opened",
        verify},
    Command{"run",
            "OBJ [--prog NAME] --data-in FILE|- [--data-out FILE] [--ifindex N] [--rx-queue N]\n"
            "            [--repeat N] [--engine auto|rte_bpf|llvm|interpreter] [--map NAME:KEYHEX=VALUEHEX]...\n"
            "            [--dump-maps] [--json]\n"
            "      runs the program on one frame (raw bytes) and prints one JSON object, with or without --json\n"
            "  run OBJ --packets FILE|- ...\n"
            "      one frame in hex a line in, one JSON object a line out; maps live through the file",
            run},
    Command{"dump", "OBJ --prog NAME bytecode|lowered|native\n      a program's instructions", dump},
    Command{
        "exec",
        "[MEMORY-HEX] [--engine E]\n      raw instructions in hex on stdin, r1 = memory, r2 = its length; prints r0 "
        "in hex",
        exec},
    Command{"engines", "\n      the engines that this build has, in the order in which auto tries them", engines},
};

std::string help_text() {
  std::string text = "usage: xbpf COMMAND ...\n";
  for (const auto& command : kCommands) text += fmt::format("  {} {}\n", command.name, command.usage);
  return text;
}

int main_with(const Words& words) {
  if (words.empty()) {
    fmt::print(stderr, "{}", help_text());
    return kUsage;
  }
  const auto& name = words.front();
  if (name == "help" || name == "--help" || name == "-h") {
    fmt::print("{}", help_text());
    return kDone;
  }
  if (name == "version" || name == "--version") {
    fmt::print("xbpf {}\n", XBOND_VERSION);
    return kDone;
  }
  const auto it = std::ranges::find(kCommands, name, &Command::name);
  if (it == kCommands.end())
    return complain(fail(EINVAL, fmt::format("unknown command {}; xbpf help lists them", name)), kUsage);
  return it->call({words.begin() + 1, words.end()});
}

}  // namespace

int complain(const Error& error, int status) {
  std::fflush(stdout);
  fmt::print(stderr, "xbpf: {}\n", error.text);
  return status;
}

}  // namespace xbond::xbpf

int main(int argc, char** argv) {
  using namespace xbond::xbpf;  // NOLINT(google-build-using-namespace)
  try {
    return main_with({argv + std::min(argc, 1), argv + argc});
  } catch (const std::exception& error) {  // memory that is not there, an output that is closed
    return complain(xbond::fail(ENOMEM, error.what()));
  }
}
