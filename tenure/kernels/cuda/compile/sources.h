#pragma once

#include <span>
#include <string_view>

namespace tenure::kernels::cuda {

/// A file that kernels include, by the name that they include it by. The library has them as text;
/// CMakeLists.txt of kernels/cuda says which, and cmake/EmbedSources.cmake makes sources.cpp.
struct Source {
  const char* name;
  const char* text;
};
std::span<const Source> sources();

}  // namespace tenure::kernels::cuda
