// Command lines from anywhere (console, file, socket): tokenizer, matcher, error text and completion.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "lib/control/command.hpp"
#include "lib/control/line_reader.hpp"
#include "lib/control/syntax.hpp"
#include "lib/control/tokenize.hpp"

namespace {

using namespace xbond;

void require(bool what) {
  if (!what) std::abort();
}

control::CommandTable make_table() {
  control::CommandTable table;
  const control::Handler run = [](const control::Args& args, std::string& out) -> Status {
    for (const auto& [name, words] : args.bound) {
      require(!words.empty());
      out += name + '\n';
    }
    return {};
  };
  for (const char* syntax :
       {"show port info|stats|xstats|summary [PORT|all] [json]", "show bond [NAME] [json]", "set bond NAME up|down",
        "set bond NAME OPTION VALUE", "create bond NAME mode MODE [OPTION VALUE]... [json]",
        "bpf map update MAP key KEY... value VALUE... [any|exist|noexist]", "bond hash NAME FRAME|@FRAMES [json]",
        "x [A]... [B]... [C D]... y", "quit"}) {
    table.add({syntax, "help", run});
  }
  table.completer("NAME", [](const control::Args&) { return std::vector<std::string>{"bond0", "my bond"}; });
  return table;
}

void one_line(const control::CommandTable& table, const std::string& line) {
  std::string out;
  const Status ran = table.run(line, out);
  if (!ran) require(out.empty() && !ran.error().text.empty() && ran.error().text.find('\n') == std::string::npos);
  const auto partial = control::tokenize_partial(line);
  for (const std::string& word : table.complete(line)) require(partial.ok() && word.starts_with(partial->last));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const control::CommandTable table = make_table();
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  control::LineReader reader(4096);
  reader.feed(text);
  reader.end();
  std::string line;
  for (;;) {
    const auto next = reader.next(line);
    if (next == control::LineReader::Next::nothing) break;
    if (next == control::LineReader::Next::line) one_line(table, line);
  }
  // The grammar itself comes from the program, but must not be able to loop or crash.
  const auto syntax = control::Syntax::parse(text.substr(0, 256));
  if (syntax) {
    control::Walk walk(*syntax);
    for (const char* word : {"a", "b", "A", "@a", "a"}) walk.step(word);
    for (const auto& next : walk.expected()) require(next.element != nullptr);
  }
  return 0;
}
