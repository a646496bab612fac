// A command's words, parsed. Thread: main.
#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <vector>

#include "app/xbpf/command.hpp"
#include "bpf_compat/result.hpp"

namespace xbond::xbpf {

// `positional` names what stands without "--", in order; all of it but a last name in brackets ("[MEMORY]") is needed.
// Errors: EINVAL, one line.
Result<boost::program_options::variables_map> parse_words(const Words& words,
                                                          const boost::program_options::options_description& options,
                                                          const std::vector<std::string>& positional);

// The whole of a file, or of stdin for "-".
Result<std::vector<std::byte>> read_input(const std::string& path);

}  // namespace xbond::xbpf
