#pragma once

#include <cstdint>
#include <string_view>

namespace tenure {

/// What kernels are compiled for on x86-64, the least first.
enum class InstructionSet : std::uint8_t { sse4, avx2, avx512, other };

/// What kernels use: the best that the CPU has and that TENURE_MAX_ISA allows.
///
/// The environment variable TENURE_MAX_ISA (sse4, avx2, avx512, or native: whatever there is)
/// bounds the instruction set of all kernels. It is read once, before the program's own static
/// objects are made; a value that is none of these is ignored, which is said once on standard
/// error. A library that was compiled for one set alone has no other to choose.
InstructionSet instruction_set();
/// The best that the CPU has and kernels are compiled for.
InstructionSet native_instruction_set();
/// "AVX2"
std::string_view name_of(InstructionSet set);

}  // namespace tenure

namespace tenure::kernels {

/// Brings TENURE_MAX_ISA into effect, once. Runs by itself; whoever refers to it has it linked.
void limit_instruction_set() noexcept;

}  // namespace tenure::kernels
