#pragma once

#include <initializer_list>
#include <string>

namespace tenure::kernels::cuda {

/// What a program is compiled for.
struct Target {
  int architecture = 0;  ///< 90: sm_90
  /// As text (PTX), of which the driver makes code when it loads it; else as code.
  bool is_text = false;
};
/// What a GPU is given: code for its architecture, or, where that is newer than the compiler, the
/// text of the newest that it knows.
Target target_for(int architecture);

/// What a program became, as the driver loads it.
struct Compiled {
  std::string code{};
  std::string problem{};  ///< why there is none: what the compiler said
};

/// Compiles a program that includes the sources of this library, in this process, with these
/// options of NVRTC beside those that all programs have. Needs no GPU.
Compiled compile(const std::string& program, Target target,
                 std::initializer_list<const char*> more = {});

/// The same for a GPU of this architecture, from the cache on disk if it is there (cache.h).
Compiled compile_or_find(const std::string& program, int architecture);

}  // namespace tenure::kernels::cuda
