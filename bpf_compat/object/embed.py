#!/usr/bin/env python3
"""embed.py FILE NAME: prints a C++ header that holds the file's bytes as an array of that name."""
import sys

data = open(sys.argv[1], "rb").read()
rows = (data[at : at + 24] for at in range(0, len(data), 24))
body = "\n".join("    " + "".join(f"{byte}," for byte in row) for row in rows)
print(
    "#pragma once\n\n#include <array>\n#include <cstdint>\n\nnamespace xbond::bpf {\n\n"
    f"alignas(8) inline constexpr std::array<uint8_t, {len(data)}> {sys.argv[2]} = {{\n{body}\n}};\n\n"
    "}  // namespace xbond::bpf"
)
