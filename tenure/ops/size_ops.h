#pragma once

#include <concepts>
#include <functional>
#include <utility>
#include <vector>

#include "tenure/ops/core/operand.h"

// Sizes as tensors. In a graph, where a size may be unknown until a run, they are symbols. Defined
// in shape/sizes.cpp.

namespace tenure {

/// How many elements x has: an int64 without axes.
Tensor size(const Operand& x);
/// The size of one dimension of x: an int64 without axes. Throws IndexError.
Tensor dim(const Operand& x, int axis);

using SizedFunction = std::function<std::vector<Tensor>(const std::vector<Tensor>&)>;

/// What `f` gives for tensors whose sizes it reads. If all sizes are known, `f` is called at once.
/// Else the call is one node of the graph, and `f` is called for the sizes of a run when that is
/// compiled. It may be called more often than that, to learn the shapes of what it gives. It sees
/// the given tensors and such with data, no other symbols and no variables, and how many tensors of
/// which ranks it gives must not depend on sizes: GraphError.
std::vector<Tensor> with_sizes(const std::vector<Tensor>& tensors, SizedFunction f,
                               Site site = Site::current());
/// The same for one tensor: `with_sizes(x, [](const Tensor& x) { return sum(x) / x.size(); })`.
template <class F>
requires std::convertible_to<std::invoke_result_t<F&, const Tensor&>, Tensor> Tensor
with_sizes(const Tensor& x, F f, Site site = Site::current()) {
  return std::move(with_sizes(
                       std::vector{x},
                       [f = std::move(f)](const std::vector<Tensor>& tensors) mutable {
                         return std::vector<Tensor>{f(tensors[0])};
                       },
                       site)
                       .front());
}

}  // namespace tenure

namespace tenure::ops {

/// What is known of a function that reads sizes.
struct SizedOptions {
  /// Numbers that sizes are compared with: at sizes like these its results may change their shapes.
  Dims numbers{};
  bool draws = false;  ///< random numbers
};

/// with_sizes() in the name of an op: `op` has static storage duration.
std::vector<Tensor> with_sizes(const char* op, const std::vector<Tensor>& tensors, SizedFunction f,
                               Site site, const SizedOptions& options = {});

/// An empty tensor with the sizes of x behind a first axis of size 0: who has to know sizes alone
/// need not hold x. Throws ShapeError if x has the highest rank there is.
Tensor outline(const Operand& x);
/// The sizes that an outline stands for.
Shape outlined(const Shape& outline);

}  // namespace tenure::ops
