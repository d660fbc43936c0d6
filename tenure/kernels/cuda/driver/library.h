#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

// Note: CUDA at run time
//
// Nothing links against CUDA. Its libraries are opened when a program first asks for a GPU, and
// their functions are looked up by name, into structs whose members have the types that CUDA's
// headers declare (driver-inl.h, nvrtc-inl.h, ...). What is not there is data: where it was looked
// for, and what the system said.
//
// They are looked for where the system looks, then in $CUDA_HOME and /usr/local/cuda. With
// TENURE_CUDA_LIBRARIES, a folder, they are looked for there and nowhere else.

namespace tenure::kernels::cuda {

/// A library of which some functions are used, or why it cannot be.
struct Library {
  std::string path{};  ///< of the file, once it was opened
  void* handle = nullptr;
  std::string problem{};  ///< what was tried, and what was said; empty: it can be used

  bool is_usable() const { return problem.empty(); }
};

/// A function's name in its library, and where its address goes.
struct Symbol {
  const char* name;
  void** place;
};

/// Opens the first of `names` that is found, and looks up all symbols. It stays open.
Library open_library(std::initializer_list<const char*> names, std::span<const Symbol> symbols);

/// The folders in which libraries are looked for; "" is where the system looks.
std::vector<std::string> library_folders();

}  // namespace tenure::kernels::cuda
