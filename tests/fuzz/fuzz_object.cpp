// Any bytes as an XDP object: opened, or refused with one line; what opens is loaded and run on frames. Finds crashes
// and endless loops in the object reader (libbpf included), the check of instructions and the interpreter.
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "bpf_compat/engine/program.hpp"
#include "bpf_compat/object/elf_view.hpp"
#include "bpf_compat/object/object.hpp"

using namespace xbond;  // NOLINT(google-build-using-namespace)

namespace {

void must(bool holds) {
  if (!holds) std::abort();
}

void check_error(const Error& error) {
  must(error.code > 0 && !error.text.empty() && error.text.find('\n') == std::string::npos);
}

void run(const bpf::Program& program) {
  constexpr size_t kFront = 216;
  for (const size_t length : {size_t{0}, size_t{14}, size_t{60}}) {
    std::vector<uint8_t> buffer(512, 0x11);
    auto* data = buffer.data() + kFront;
    bpf::XdpFrame frame{data, data + length, data, buffer.data(), buffer.data() + buffer.size(), 1, 0, 0};
    uint32_t verdict = 0;
    program.run_burst({&frame, 1}, &verdict, 0);
    must(frame.hard_start <= frame.data_meta && frame.data_meta <= frame.data && frame.data <= frame.data_end &&
         frame.data_end <= frame.hard_end);
  }
  (void)program.faults();
  (void)program.drain_trace([](std::string_view line) { must(line.find('\n') == std::string_view::npos); });
}

}  // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t* bytes, size_t size, size_t max_size);

// Most changes of any byte only break the file: half of the time, changes words within one section instead, so that it
// stays an object and libbpf gets to see it.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* bytes, size_t size, size_t max_size, unsigned seed) {
  const auto view = bpf::ElfView::open(std::as_bytes(std::span(bytes, size)));
  if (!view || seed % 2 == 0) return LLVMFuzzerMutate(bytes, size, max_size);
  std::minstd_rand random(seed);
  for (auto changes = 1 + random() % 3; changes != 0; --changes) {
    const auto& section = view->sections()[random() % view->sections().size()];
    if (section.data.size() < sizeof(uint32_t)) continue;
    const auto inside = static_cast<size_t>(section.data.data() - reinterpret_cast<const std::byte*>(bytes));
    const size_t at = inside + random() % (section.data.size() / sizeof(uint32_t)) * sizeof(uint32_t);
    uint32_t word = 0;
    std::memcpy(&word, bytes + at, sizeof(word));
    switch (random() % 4) {
      case 0:
        word = static_cast<uint32_t>(random() % 64);
        break;
      case 1:
        word += static_cast<uint32_t>(random() % 9) - 4;
        break;
      case 2:
        word ^= 1U << random() % 32;
        break;
      default:
        word = ~0U;
    }
    std::memcpy(bytes + at, &word, sizeof(word));
  }
  return size;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const auto object = bpf::Object::open(std::as_bytes(std::span(bytes, size)), "fuzz");
  if (!object) {
    check_error(object.error());
    return 0;
  }
  for (const auto& spec : object->programs()) {
    const auto selected = object->select(spec.name);
    if (!selected) {
      check_error(selected.error());
      continue;
    }
    // Maps of many megabytes only slow the search down
    size_t map_bytes = 0;
    for (const auto& map : object->maps()) map_bytes += size_t{map.max_entries} * map.value_size;
    if (map_bytes > (size_t{1} << 24)) continue;
    const auto program = bpf::Program::load(*object, **selected, {.engine = bpf::EngineKind::interpreter, .cpus = 1});
    if (program)
      run(**program);
    else
      check_error(program.error());
  }
  return 0;
}
