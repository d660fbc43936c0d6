#pragma once

#include "tenure/graph/ir/body.h"

// Control flow as ops: their bodies are an attribute, their first operands as each says, then come
// what the bodies read of the program around them. Who runs them compiles the bodies first, which
// is what ops/core/prepare.h is for. A body's arena is part of the op's workspace, so that the plan
// of a program with loops and branches is exact.

namespace tenure::ops {
struct Backward;
}

namespace tenure::graph {

/// The places of their attributes.
struct ControlAttributes {
  enum : int { bodies, most_iterations, carried = most_iterations };
};

/// Attributes: bodies {then, else}. Operands: the predicate, then those of the branches.
const ops::OpRecord& cond_record();
/// Attributes: bodies {condition, body}, the most iterations (0: any number). Operands: the state.
/// Results: the state at the end.
const ops::OpRecord& while_record();
/// Attributes: bodies {body}, how many operands are the carry.
/// Operands: the carry, then what is scanned along its first axis. Results: the carry at the end,
/// then what the body gave besides, stacked.
const ops::OpRecord& scan_record();

/// What their bodies get: the operands without the predicate, all, an element of what is scanned.
std::vector<ops::Spec> cond_specs(const ops::Kernel& kernel);
std::vector<ops::Spec> while_specs(const ops::Kernel& kernel);
std::vector<ops::Spec> scan_specs(const ops::Kernel& kernel);

/// All of them, for the list of all ops.
std::vector<const ops::OpRecord*> control_ops();

/// Their gradient rules. tenure/wiring.cpp hands them to autograd/control.cpp.
void gradient_of_cond(ops::Backward& b);
void gradient_of_while(ops::Backward& b);
void gradient_of_scan(ops::Backward& b);

/// Throws DTypeError or ShapeError in the name of `op` unless each of `got` is as in `wanted`:
/// "result 1 is float64 in the else branch, float32 in the then branch".
void require_same(const char* op, std::span<const ops::Spec> wanted, const std::string& wanted_in,
                  std::span<const ops::Spec> got, const std::string& got_in);
/// Throws DTypeError or ShapeError unless it is one element of bool.
void require_predicate(const char* op, const ops::Spec& spec);
/// The length that all have along their first axis. Throws ShapeError.
std::int64_t length_of(std::span<const ops::Spec> scanned);
/// What the body of a scan gets of such a tensor.
ops::Spec element_of(const ops::Spec& scanned);
[[noreturn]] void throw_runaway(std::int64_t iterations);

}  // namespace tenure::graph
