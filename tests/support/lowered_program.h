#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "tenure/graph/passes/unit.h"

namespace tenure::test {

using TracedOps = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// What ops on inputs of these types and shapes are lowered to.
std::unique_ptr<graph::Lowered> lower_ops(const std::vector<ops::Spec>& inputs,
                                          const TracedOps& ops, std::vector<bool> donated = {},
                                          const graph::CompileOptions& options = {});

/// A RandomProgram, with every other input donated or none.
std::unique_ptr<graph::Lowered> lowered_program(std::uint64_t seed, bool donating,
                                                const graph::CompileOptions& options = {});

/// A deep network, forward and back by hand: every activation lives long.
std::unique_ptr<graph::Lowered> deep_program(int layers, const graph::CompileOptions& options = {});

}  // namespace tenure::test
