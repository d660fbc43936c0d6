#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tenure/graph/ir/program.h"

namespace tenure::graph {

/// That a node needs what another one computes, itself or through others.
struct Dependence {
  std::int32_t node = 0;
  std::int32_t on = 0;
};

/// Which of these are so. Takes time in proportion to the program and to a 64th of how many nodes
/// are depended on.
std::vector<bool> depend(const Program& program, std::span<const Dependence> wanted);

}  // namespace tenure::graph
