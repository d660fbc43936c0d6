#include "tenure/kernels/cpu/move/dense.h"
#include "tenure/kernels/cpu/reduce/reduce.h"
#include "tenure/kernels/cpu/table.h"
#include "tenure/ops/reduce/axes.h"

namespace tenure::kernels {
namespace {

using ops::FusedNeighbours;
using ops::FusingKernel;
using ops::Kernel;

/// `at`: which attribute has the axes.
Axes axes_of(const Kernel& k, int at = 0) {
  return ops::reduced_axes(k.attributes.dims(at), k.in[0].shape.size(), k.op);
}
int axis_of(const Kernel& k) {
  return ops::axis_of(k.attributes.integer(ops::AxiswiseAttributes::axis), k.in[0].shape.size(),
                      k.op);
}

/// A result is small, and in a register when a loop may follow.
bool always(const Kernel&) { return true; }

/// A reduction that `reduce` computes.
template <Reduction kind>
struct PlainReductionSlot {
  static bool takes_loop(const Kernel& k) {
    return reduce_takes_loop(kind, k.in[0].dtype, k.in[0].shape, axes_of(k));
  }
  static void run_fused(const Kernel& k, const FusedNeighbours& neighbours) {
    reduce_axes(kind, k.in[0], axes_of(k), k.out[0], neighbours);
  }
  static constexpr FusingKernel fusing{
      .takes_loop = takes_loop, .leads_loop = always, .run = run_fused};
  static void run(const Kernel& k) { run_fused(k, {}); }
};

struct SumLikeSlot {
  static Axes axes(const Kernel& k) {
    return ops::repeated_axes(k.in[0].shape, k.in[1].shape, k.op);
  }
  static bool takes_loop(const Kernel& k) {
    return reduce_takes_loop(Reduction::sum, k.in[0].dtype, k.in[0].shape, axes(k));
  }
  static void run_fused(const Kernel& k, const FusedNeighbours& neighbours) {
    View out = k.out[0];
    const Axes over = axes(k);
    out.shape = ops::reduced_shape(k.in[0].shape, over, false);
    out.strides = contiguous_strides(out.shape);
    reduce_axes(Reduction::sum, k.in[0], over, out, neighbours);
  }
  static constexpr FusingKernel fusing{
      .takes_loop = takes_loop, .leads_loop = always, .run = run_fused};
  static void run(const Kernel& k) { run_fused(k, {}); }
};

template <Extremum kind>
struct ExtremePlaceSlot {
  static void run(const Kernel& k) { arg_reduce(kind, k.in[0], axes_of(k), k.out[0]); }
};

/// The variance or its root.
template <bool root>
struct VarianceSlot {
  static void run(const Kernel& k) {
    variance(k.in[0], axes_of(k), k.attributes.number(ops::VarianceAttributes::correction), root,
             k.out[0]);
  }
};

struct LogSumExpSlot {
  static void run(const Kernel& k) { logsumexp(k.in[0], axes_of(k), k.out[0]); }
};

struct NormSlot {
  static void run(const Kernel& k) {
    norm(k.in[0], axes_of(k, ops::VectorNormAttributes::axes),
         k.attributes.number(ops::VectorNormAttributes::order), k.out[0]);
  }
};

template <Scan kind>
struct RunningFoldSlot {
  static void run(const Kernel& k) { scan(kind, k.in[0], axis_of(k), k.out[0]); }
};

template <bool log>
struct SoftmaxSlot {
  static void run(const Kernel& k) { (log ? log_softmax : softmax)(k.in[0], axis_of(k), k.out[0]); }
};

template <bool log>
struct SoftmaxGradientSlot {
  static std::size_t workspace(const Kernel& k) {
    return staged_bytes(compute_type(k.in[0].dtype), k.in, k.out);
  }
  static void run(const Kernel& k) {
    Staging staging(compute_type(k.in[0].dtype), k.workspace);
    const View dy = staging.read(k.in[0]);
    const View y = staging.read(k.in[1]);
    const View dx = staging.write(k.out[0]);
    (log ? log_softmax_gradient : softmax_gradient)(dy, y, axis_of(k), dx);
    staging.finish(dx, k.out[0]);
  }
};

}  // namespace

std::vector<KernelRow> reduce_kernels() {
  return {kernel_row<PlainReductionSlot<Reduction::sum>>("sum"),
          kernel_row<PlainReductionSlot<Reduction::prod>>("prod"),
          kernel_row<PlainReductionSlot<Reduction::mean>>("mean"),
          kernel_row<PlainReductionSlot<Reduction::max>>("max"),
          kernel_row<PlainReductionSlot<Reduction::min>>("min"),
          kernel_row<PlainReductionSlot<Reduction::any>>("any"),
          kernel_row<PlainReductionSlot<Reduction::all>>("all"),
          kernel_row<SumLikeSlot>("sum_like"),
          kernel_row<ExtremePlaceSlot<Extremum::max>>("argmax"),
          kernel_row<ExtremePlaceSlot<Extremum::min>>("argmin"),
          kernel_row<VarianceSlot<false>>("var"),
          kernel_row<VarianceSlot<true>>("stddev"),
          kernel_row<LogSumExpSlot>("logsumexp"),
          kernel_row<NormSlot>("norm"),
          kernel_row<RunningFoldSlot<Scan::sum>>("cumsum"),
          kernel_row<RunningFoldSlot<Scan::prod>>("cumprod"),
          kernel_row<RunningFoldSlot<Scan::max>>("cummax"),
          kernel_row<RunningFoldSlot<Scan::min>>("cummin"),
          kernel_row<SoftmaxSlot<false>>("softmax"),
          kernel_row<SoftmaxSlot<true>>("log_softmax"),
          kernel_row<SoftmaxGradientSlot<false>>("softmax_gradient"),
          kernel_row<SoftmaxGradientSlot<true>>("log_softmax_gradient")};
}

}  // namespace tenure::kernels
