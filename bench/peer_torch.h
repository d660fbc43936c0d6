#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/contest.h"

// libtorch as a peer, behind names and numbers: its headers take minutes to compile.

namespace tenure::bench {

/// A call of libtorch in inference mode on float32 tensors of these shapes. Empty when the
/// benchmarks were built without it. "NAME/out" writes to a tensor that is there already.
Work torch_call(const std::string& name, const std::vector<std::vector<std::int64_t>>& shapes);

/// Version and instruction set, for the header; empty without libtorch.
std::string torch_description();
void set_torch_threads(int threads);

}  // namespace tenure::bench
