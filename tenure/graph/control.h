#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "tenure/ops/core/operand.h"
#include "tenure/tensor/tree.h"

// Branches and loops that depend on data. On tensors with data the callables simply run. On symbols
// and in traces they are written down once, and the whole becomes one node: what it decides, it
// decides when it runs. Operands, states and results may be tensors and trees of tensors (see
// tensor/tree.h). What callables capture is read, as always; to assign to variables inside them is
// an error.

namespace tenure {

namespace graph {

/// The part of control flow that does not depend on types. A callable takes and gives the tensors
/// of trees.
using FlatFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

std::vector<Tensor> run_cond(const Operand& predicate, const FlatFunction& then,
                             const FlatFunction& otherwise, const std::vector<Tensor>& operands);
std::vector<Tensor> run_while(const FlatFunction& condition, const FlatFunction& body,
                              std::vector<Tensor> state, std::int64_t max_iterations, Site site);
/// The body takes the carry and one element of each of `xs`, and gives the carry and more; the
/// result is the carry at the end, and the stacks of the rest.
std::vector<Tensor> run_scan(const FlatFunction& body, std::vector<Tensor> carry,
                             const std::vector<Tensor>& xs, Site site);

template <class Tree>
std::vector<Tensor> tensors_of(const Tree& tree) {
  std::vector<Tensor> tensors;
  for_each_tensor(tree, [&](const Tensor& tensor) { tensors.push_back(tensor); });
  return tensors;
}

/// Puts tensors into a tree, from number `at` on.
template <class Tree>
void put_tensors(Tree& tree, const std::vector<Tensor>& tensors, std::size_t& at) {
  for_each_tensor(tree, [&](Tensor& tensor) { tensor = tensors[at++]; });
}

/// A callable over trees as one over their tensors. `frame` gets the last result, for the parts of
/// it that are no tensors.
template <class Result, class F, class... Trees>
FlatFunction flat(const F& f, std::optional<Result>& frame, const Trees&... like) {
  return [&](const std::vector<Tensor>& tensors) {
    std::tuple<Trees...> trees(like...);
    std::size_t at = 0;
    std::apply([&](auto&... tree) { (put_tensors(tree, tensors, at), ...); }, trees);
    frame.emplace(std::apply(f, std::as_const(trees)));
    return tensors_of(*frame);
  };
}

template <class Result>
Result with_tensors(std::optional<Result>& frame, const std::vector<Tensor>& tensors) {
  std::size_t at = 0;
  put_tensors(*frame, tensors, at);
  return *std::move(frame);
}

}  // namespace graph

/// `then(operands...)` where the predicate, one element of bool, is true, else
/// `otherwise(operands...)`. As a node, both are traced, and must give tensors of the same types
/// and shapes: ShapeError and DTypeError name the one that differs.
template <class Then, class Else, class... Operands>
auto cond(const Operand& predicate, const Then& then, const Else& otherwise,
          const Operands&... operands) {
  using Result = std::remove_cvref_t<std::invoke_result_t<const Then&, const Operands&...>>;
  std::optional<Result> frame;
  const std::vector<Tensor> results = graph::run_cond(
      predicate, graph::flat(then, frame, operands...), graph::flat(otherwise, frame, operands...),
      graph::tensors_of(std::tie(operands...)));
  return graph::with_tensors(frame, results);
}

/// The state after `state = body(state)` as long as `condition(state)` holds. The types and shapes
/// of the state stay. Throws ValueError after `max_iterations`; 0: it may go on for ever.
template <class Condition, class Body, class State>
State while_loop(const Condition& condition, const Body& body, const State& state,
                 std::int64_t max_iterations = 0, Site site = Site::current()) {
  std::optional<Tensor> flag;
  std::optional<State> frame(state);
  const std::vector<Tensor> results =
      graph::run_while(graph::flat(condition, flag, state), graph::flat(body, frame, state),
                       graph::tensors_of(state), max_iterations, site);
  return graph::with_tensors(frame, results);
}

/// `(carry, y) = body(carry, x)` for each x along the first axis of `xs`, which is a tensor or a
/// tree of tensors of one length. Gives the carry at the end and the stack of the y.
template <class Body, class Carry, class Xs>
auto scan(const Body& body, const Carry& carry, const Xs& xs, Site site = Site::current()) {
  using Result = std::remove_cvref_t<std::invoke_result_t<const Body&, const Carry&, const Xs&>>;
  static_assert(std::is_same_v<typename Result::first_type, Carry>,
                "the body of a scan gives a pair of the carry and something else");
  std::optional<Result> frame;
  const std::vector<Tensor> results = graph::run_scan(
      graph::flat(body, frame, carry, xs), graph::tensors_of(carry), graph::tensors_of(xs), site);
  return graph::with_tensors(frame, results);
}

}  // namespace tenure
