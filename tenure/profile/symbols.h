#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tenure/profile/call_stack.h"

namespace tenure::profile {

/// A line of the program in which a call was made; of inlined functions, too.
struct CallFrame {
  std::string function{};
  std::string file{};
  std::uint32_t line = 0;
  bool has_name = true;  ///< false: `function` is a module and an address in it
  auto operator<=>(const CallFrame&) const = default;  // NOLINT(modernize-use-nullptr): sees a 0
};

/// Many stacks have the same calls.
struct NamedCalls {
  std::vector<CallFrame> frames{};
  std::vector<std::vector<std::uint32_t>> stacks{};  ///< numbers of frames, the outermost first
};

/// Names the calls of each stack: those of the program. What the library and
/// the standard library call on its way is left out, as is what starts a program. Asks addr2line
/// (of binutils), and only about files that are what was recorded: a module without a build id, or
/// of another one, is not read. Then, and without debug information, a call is "train+0x1234".
NamedCalls name_calls(std::span<const Module> modules,
                      std::span<const std::vector<ModuleAddress>> stacks);

/// The name of a function without its result, arguments and what its templates were made for:
/// "void ns::f<int>(char) [clone .cold]" -> "ns::f".
std::string plain_function(std::string_view demangled);

/// What addr2line says of one address, a line each: functions and places in turns, the innermost
/// first. Of those that the program wrote.
std::vector<CallFrame> parse_calls(std::span<const std::string_view> lines);

}  // namespace tenure::profile
