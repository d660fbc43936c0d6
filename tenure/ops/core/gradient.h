#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "tenure/ops/core/operand.h"
#include "tenure/ops/core/record.h"

namespace tenure::ops {

// Note: gradient rules
//
// A rule says how the gradient of a call's outputs becomes that of its inputs. It is written over
// public ops, so it works in every mode: eager, under another tape (higher order), in graphs and in
// traces. A rule reads only data that it declares: `needs[i]` names what the gradient of input i
// reads, and a tape holds nothing else. Where a fused op does the work of several, add a record for
// it, with a rule of its own. All sizes are known when a rule runs: where a graph learns them from
// its runs, the rule runs then.
//
//   static void gradient_of_tanh(Backward& b) {
//     b.results[0] = tanh_gradient(b.take_gradient(), b.take_output());
//   }
//   static constexpr GradientRule gradient{.needs = {{output_data(0)}}, .run = gradient_of_tanh};
//
// What a rule is done with, it moves into its last op (`take_...`), which computes in place where
// nobody else holds the data. A tape that may run the rule again keeps handles of its own.

/// One call seen from behind.
struct Backward {
  /// With data where the rule needs it; else an empty handle. Of a number, too: see input().
  std::span<Tensor> inputs;
  std::span<Tensor> outputs;
  /// Of the outputs, at least one of them with data; an empty handle is a zero.
  std::span<Tensor> gradients;
  /// Type and shape of every input.
  std::span<const Spec> specs;
  /// The inputs that were numbers; empty if none was.
  std::span<const std::optional<Scalar>> numbers;
  const Attributes& attributes;
  /// Whether the gradient of input i is asked for.
  std::span<const bool> wanted;
  /// Where the call stands.
  Site site;
  /// The rule writes what is wanted here; an empty handle is a zero.
  std::span<Tensor> results;

  bool wants(std::size_t i) const { return wanted[i]; }

  // Operands at the call's line. What is taken is used up.

  Operand at(Tensor&& tensor) const { return {std::move(tensor), site}; }
  /// Input i, to read: a tensor or a number.
  Operand input(std::size_t i) const {
    if (!numbers.empty() && numbers[i]) return Operand(*numbers[i], site);
    return {std::as_const(inputs[i]), site};
  }
  Operand output(std::size_t o = 0) const { return {std::as_const(outputs[o]), site}; }
  Operand gradient(std::size_t o = 0) const { return {std::as_const(gradients[o]), site}; }
  Operand take_input(std::size_t i) const { return {std::move(inputs[i]), site}; }
  Operand take_output(std::size_t o = 0) const { return {std::move(outputs[o]), site}; }
  Operand take_gradient(std::size_t o = 0) const { return {std::move(gradients[o]), site}; }
};

struct GradientRule {
  /// Bit i: the data of input (output) i.
  struct Needs {
    std::uint32_t inputs = 0;
    std::uint32_t outputs = 0;

    constexpr Needs operator|(const Needs& other) const {
      return {.inputs = inputs | other.inputs, .outputs = outputs | other.outputs};
    }
  };
  static constexpr std::size_t kNeeds = 4;

  /// What the gradient of each input reads; the last holds for all further inputs.
  std::array<Needs, kNeeds> needs{};
  /// nullptr: the gradient is zero wherever there is one, as of floor().
  void (*run)(Backward&) = nullptr;

  constexpr const Needs& needs_of(std::size_t input) const {
    return needs[input < kNeeds ? input : kNeeds - 1];
  }
};

/// The data of these inputs, or outputs: `input_data(0, 2) | output_data(0)`.
template <class... Places>
constexpr GradientRule::Needs input_data(Places... places) {
  return {.inputs = ((std::uint32_t{1} << places) | ...)};
}
template <class... Places>
constexpr GradientRule::Needs output_data(Places... places) {
  return {.outputs = ((std::uint32_t{1} << places) | ...)};
}

/// Of ops that are constant almost everywhere.
inline constexpr GradientRule kZeroGradient{};

/// Rules that read nothing, the first input, or the first output.
constexpr GradientRule reads_nothing(void (*run)(Backward&)) { return {.run = run}; }
constexpr GradientRule reads_input(void (*run)(Backward&)) {
  return {.needs = {{input_data(0)}}, .run = run};
}
constexpr GradientRule reads_output(void (*run)(Backward&)) {
  return {.needs = {{output_data(0)}}, .run = run};
}

/// What a tape may have to hold for the op: "input 1, output 0", "nothing", ...
std::string describe_saved(const OpRecord& op);

// What rules share.

/// Undoes broadcasting and conversion: sums to the shape of input i and casts to its type.
Tensor to_input(const Backward& b, std::size_t i, Tensor gradient);
/// In the shape of input i, which has as many elements.
Tensor reshape_to_input(const Backward& b, std::size_t i, Tensor gradient);
/// Repeated to the shape of input i.
Tensor broadcast_to_input(const Backward& b, std::size_t i, Tensor gradient);
/// Zeros like input i.
Tensor zeros_of_input(const Backward& b, std::size_t i);

}  // namespace tenure::ops
