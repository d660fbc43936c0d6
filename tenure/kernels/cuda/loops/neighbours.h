#pragma once

#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/loops/neighbours_arguments.h"
#include "tenure/ops/core/loop.h"

// Note: kernels with loops beside them
//
// Elementwise ops that make a kernel's first input, or that follow on its result, need no kernel
// and no memory of their own where they are printed into it (ops::FusingKernel). The template gets
// them behind its types:
//
//     template <class T, class After = NoLoop, class Before = NoLoop,
//               class Arguments = NormArguments>
//     void norm(const Arguments& a) {
//       const Vector<T, 4> x = made<Before, T, 4>(a, a.in, element);
//       ...
//       *reinterpret_cast<Vector<ResultOf<After, T>, 4>*>(a.out + element) =
//           followed<After, T, 4>(a, element, y);
//
// (neighbours.cuh). `element` counts elements of the input, or of the result, as those of a
// contiguous tensor. Results are rounded to T before the loop that follows, as if they had been in
// memory: they have the same bits either way.

namespace tenure::kernels::cuda {

/// A loop beside a kernel, on its way into a launch.
struct Neighbour {
  const PrintedStruct* loop = nullptr;  ///< nullptr: there is none
  NeighbourReads reads;
};

/// Of a loop over `shape`, which has fewer than 2^31 elements, and whose kernel goes by vectors of
/// `vector` elements at most.
Neighbour neighbour_of(const ops::PreparedLoop& loop, const ops::LoopInputs& in, const Shape& shape,
                       int vector);

/// Queues a kernel with the loops beside it, which go by vectors of `vector` elements at most.
/// `made`: the shape of its first input, where a loop makes that.
template <class Arguments>
void launch_with(Gpu& gpu, const char* op, const TypedKernel& kernel, Types types, const Grid& grid,
                 const Arguments& arguments, const ops::FusedNeighbours& neighbours,
                 const Shape& made, int vector) {
  Neighbour before;
  Neighbour after;
  if (neighbours.before != nullptr) {
    before = neighbour_of(*neighbours.before, neighbours.before_inputs, made, vector);
  }
  if (neighbours.after != nullptr) {
    after =
        neighbour_of(*neighbours.after, neighbours.after_inputs, neighbours.after_shape, vector);
  }
  const Function function =
      gpu.function(kernel, types, {.before = before.loop, .after = after.loop});
  const auto launch = [&](const auto& all) { gpu.launch(op, function, grid, &all, sizeof all); };
  if (before.loop == nullptr && after.loop == nullptr) return launch(arguments);
  if (before.loop == nullptr) return launch(WithAfter<Arguments>{arguments, after.reads});
  if (after.loop == nullptr) return launch(WithBefore<Arguments>{arguments, before.reads});
  launch(WithBoth<Arguments>{arguments, before.reads, after.reads});
}

}  // namespace tenure::kernels::cuda
