#pragma once

#include <initializer_list>
#include <string>

namespace tenure::kernels::cuda {

/// What a program became: code for one architecture, as the driver loads it.
struct Compiled {
  std::string code{};
  std::string problem{};  ///< why there is none: what the compiler said
};

/// Compiles a program that includes the sources of this library, for an architecture (90), in this
/// process, with these options of NVRTC beside those that all programs have. Needs no GPU.
Compiled compile(const std::string& program, int architecture,
                 std::initializer_list<const char*> more = {});

/// The same, from the cache on disk if it is there (cache.h).
Compiled compile_or_find(const std::string& program, int architecture);

}  // namespace tenure::kernels::cuda
