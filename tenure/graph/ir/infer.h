#pragma once

#include <optional>
#include <span>
#include <vector>

#include "tenure/graph/ir/program.h"

namespace tenure::graph {

/// What is known of an argument before the program runs.
struct ArgumentSpec {
  ops::Spec spec{};
  std::optional<Scalar> number{};
};

/// Types and shapes of a call's results. Dimensions may be kUnknown, in what comes in and in what
/// comes out. Throws what the call would throw: ShapeError, DTypeError, ...; GraphError if the
/// shape depends on data.
std::vector<ops::Spec> infer_call(const ops::OpRecord& op, std::span<const ArgumentSpec> arguments,
                                  const ops::Attributes& attributes, Site site);

/// The same for arguments of a program.
std::vector<ops::Spec> infer_call(const Program& program, const ops::OpRecord& op,
                                  std::span<const Argument> arguments,
                                  const ops::Attributes& attributes, Site site);

}  // namespace tenure::graph
