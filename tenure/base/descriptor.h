#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace tenure {

// A program may run with its standard input, output or error closed. The next file to be opened
// gets that number, and what the program prints would land in it. So the library keeps no
// descriptor below 3.

/// `descriptor`, or, in its place, another one of the same file that is none of the standard three;
/// -1, with errno, if there is none. Closed in programs that this one starts.
int above_standard(int descriptor);

/// open(2), interrupted by no signal, above the standard descriptors.
int open_descriptor(const std::string& path, int flags, unsigned mode = 0);

/// Fills `to` with what stands from `offset` on; how many bytes there were, fewer only where the
/// file ends; -1, with errno, if the system refuses.
std::ptrdiff_t read_descriptor(int descriptor, std::uint64_t offset, std::span<std::byte> to);

}  // namespace tenure
