#include <fmt/format.h>

#include "app/xbpf/arguments.hpp"
#include "app/xbpf/command.hpp"
#include "bpf_compat/engine/disassemble.hpp"
#include "bpf_compat/engine/isa.hpp"
#include "bpf_compat/engine/listing.hpp"
#include "bpf_compat/object/object.hpp"

namespace xbond::xbpf {
namespace po = boost::program_options;

namespace {

void print_bytecode(const bpf::Object& object, const bpf::ProgramSpec& program) {
  const auto map_name = [&](uint32_t index) {
    return index < object.maps().size() ? object.maps()[index].name : fmt::format("number {}", index);
  };
  for (size_t i = 0; i < program.insns.size(); ++i) {
    fmt::print("{:>4}: {}\n", i, bpf::disassemble(program.insns, i, map_name));
    if (bpf::isa::is_wide(program.insns[i])) ++i;
  }
}

}  // namespace

int dump(const Words& words) {
  po::options_description options;
  options.add_options()("prog", po::value<std::string>()->default_value(""));
  const auto values = parse_words(words, options, {"OBJ", "bytecode|lowered|native"});
  if (!values) return complain(values.error(), kUsage);
  const auto& form = (*values)["bytecode|lowered|native"].as<std::string>();
  if (form != "bytecode" && form != "lowered" && form != "native")
    return complain(fail(EINVAL, fmt::format("{}: not one of bytecode, lowered, native", form)), kUsage);
  const auto object = bpf::Object::open((*values)["OBJ"].as<std::string>());
  if (!object) return complain(object.error());
  const auto& name = (*values)["prog"].as<std::string>();
  // Also what can't run may be looked at
  const auto* program = object->find(name);
  if (!program) {
    const auto selected = object->select(name);
    if (!selected) return complain(selected.error());
    program = *selected;
  }
  if (form == "bytecode") {
    print_bytecode(*object, *program);
    return kDone;
  }
  const auto text =
      bpf::list_program(*object, *program, form == "native" ? bpf::Listing::native : bpf::Listing::lowered);
  if (!text) return complain(fail(text.error().code, fmt::format("program {}: {}", program->name, text.error().text)));
  fmt::print("{}", *text);
  return kDone;
}

}  // namespace xbond::xbpf
