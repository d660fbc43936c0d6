#include <cmath>

#include "tenure/kernels/cuda/places/small_nest.h"
#include "tenure/kernels/cuda/reduce/reduce_plan.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/reduce/axes.h"

namespace tenure::kernels::cuda {
namespace {

using ops::FusedNeighbours;
using ops::Kernel;

TypedKernel reducing(const char* function, const std::vector<Types>& types) {
  return {"tenure/kernels/cuda/reduce/reduce.cu", function, "ReduceArguments", kGroupThreads,
          types};
}
ReduceKernels rule(const char* rows, const char* columns, const std::vector<Types>& types) {
  return {reducing(rows, types), reducing(columns, types)};
}
const std::vector<Types> kFloats{DType::float16, DType::bfloat16, DType::float32, DType::float64};
const std::vector<Types> kIntegers{DType::boolean, DType::uint8, DType::int8,
                                   DType::int16,   DType::int32, DType::int64};
const std::vector<Types> kAll{DType::boolean, DType::uint8,  DType::int8,    DType::int16,
                              DType::int32,   DType::int64,  DType::float16, DType::bfloat16,
                              DType::float32, DType::float64};

const ReduceKernels kMean = rule("reduce_mean_rows", "reduce_mean_columns", kIntegers);
const ReduceKernels kProd = rule("reduce_prod_rows", "reduce_prod_columns", kAll);
const ReduceKernels kMax = rule("reduce_max_rows", "reduce_max_columns", kAll);
const ReduceKernels kMin = rule("reduce_min_rows", "reduce_min_columns", kAll);
const ReduceKernels kAny = rule("reduce_any_rows", "reduce_any_columns", kAll);
const ReduceKernels kEvery = rule("reduce_all_rows", "reduce_all_columns", kAll);
const ReduceKernels kArgMax = rule("reduce_argmax_rows", "reduce_argmax_columns", kAll);
const ReduceKernels kArgMin = rule("reduce_argmin_rows", "reduce_argmin_columns", kAll);
const ReduceKernels kVariance = rule("reduce_variance_rows", "reduce_variance_columns", kFloats);
const ReduceKernels kLogSumExp = rule("reduce_logsumexp_rows", "reduce_logsumexp_columns", kFloats);
const ReduceKernels kNorm = rule("reduce_norm_rows", "reduce_norm_columns", kFloats);
const ReduceKernels kPowerNorm =
    rule("reduce_power_norm_rows", "reduce_power_norm_columns", kFloats);
const ReduceKernels kLargestNorm =
    rule("reduce_largest_norm_rows", "reduce_largest_norm_columns", kFloats);
const ReduceKernels kSmallestNorm =
    rule("reduce_smallest_norm_rows", "reduce_smallest_norm_columns", kFloats);

Axes axes_of(const Kernel& k, int at = 0) {
  return ops::reduced_axes(k.attributes.dims(at), k.in[0].shape.size(), k.op);
}

ReducePlan::Call call_of(const Kernel& k, double number, bool root) {
  return {.in = k.in[0].data,
          .out = k.out[0].data,
          .workspace = k.workspace.data(),
          .number = number,
          .root = root};
}

/// What a slot is that has plan(), for a reduction that is launched by launch().
template <class Slot>
struct PlannedSlot {
  static std::size_t workspace(const Kernel& k) { return Slot::plan(k).workspace(); }
  static void run(const Kernel& k) { Slot::run_fused(k, {}); }
  static bool leads_loop(const Kernel& k) { return Slot::plan(k).outputs() <= kMostSmallSteps; }
  static constexpr ops::FusingKernel fusing{
      .leads_loop = leads_loop,
      .of_any_size = true,
      .run = [](const Kernel& k, const FusedNeighbours& after) { Slot::run_fused(k, after); }};

 protected:
  static void launch(const Kernel& k, const FusedNeighbours& after, const ReduceKernels& kernel,
                     double number = 1, bool root = false) {
    if (Gpu* const gpu = gpu_of(k)) {
      Slot::plan(k).launch(*gpu, k.op, kernel, k.in[0].dtype, call_of(k, number, root), after);
    }
  }
};

template <const ReduceKernels& kernel, TermOrder order = TermOrder::free,
          States states = States::small>
struct ReductionSlot : PlannedSlot<ReductionSlot<kernel, order, states>> {
  static ReducePlan plan(const Kernel& k) { return {k.in[0], axes_of(k), order, states}; }
  static void run_fused(const Kernel& k, const FusedNeighbours& after) {
    ReductionSlot::launch(k, after, kernel);
  }
};
template <const ReduceKernels& kernel>
using PlaceSlot = ReductionSlot<kernel, TermOrder::given, States::large>;

struct MeanSlot : PlannedSlot<MeanSlot> {
  static ReducePlan plan(const Kernel& k) {
    return {k.in[0], axes_of(k), TermOrder::free, States::small};
  }
  static void run_fused(const Kernel& k, const FusedNeighbours& after) {
    launch(k, after, is_floating(k.in[0].dtype) ? kReduceSum : kMean,
           static_cast<double>(plan(k).terms()));
  }
};

struct SumLikeSlot : PlannedSlot<SumLikeSlot> {
  static ReducePlan plan(const Kernel& k) {
    return {k.in[0], ops::repeated_axes(k.in[0].shape, k.in[1].shape, k.op), TermOrder::free,
            States::small};
  }
  static void run_fused(const Kernel& k, const FusedNeighbours& after) {
    launch(k, after, kReduceSum);
  }
};

/// The variance or its root.
template <bool root>
struct VarianceSlot : PlannedSlot<VarianceSlot<root>> {
  static ReducePlan plan(const Kernel& k) {
    return {k.in[0], axes_of(k, ops::VarianceAttributes::axes), TermOrder::free, States::large};
  }
  static void run_fused(const Kernel& k, const FusedNeighbours& after) {
    VarianceSlot::launch(k, after, kVariance,
                         k.attributes.number(ops::VarianceAttributes::correction), root);
  }
};

struct NormSlot : PlannedSlot<NormSlot> {
  static ReducePlan plan(const Kernel& k) {
    return {k.in[0], axes_of(k, ops::VectorNormAttributes::axes), TermOrder::free, States::small};
  }
  static void run_fused(const Kernel& k, const FusedNeighbours& after) {
    const double order = k.attributes.number(ops::VectorNormAttributes::order);
    const ReduceKernels& kernel = order == 2           ? kNorm
                                  : !std::isinf(order) ? kPowerNorm
                                  : order > 0          ? kLargestNorm
                                                       : kSmallestNorm;
    launch(k, after, kernel, order);
  }
};

}  // namespace

const ReduceKernels kReduceSum = rule("reduce_sum_rows", "reduce_sum_columns", kAll);

Family reduce_family() {
  std::vector<const TypedKernel*> kernels;
  for (const ReduceKernels* const each :
       {&kReduceSum, &kMean, &kProd, &kMax, &kMin, &kAny, &kEvery, &kArgMax, &kArgMin, &kVariance,
        &kLogSumExp, &kNorm, &kPowerNorm, &kLargestNorm, &kSmallestNorm}) {
    kernels.push_back(&each->rows);
    kernels.push_back(&each->columns);
  }
  return {{row<ReductionSlot<kReduceSum>>("sum"), row<ReductionSlot<kProd>>("prod"),
           row<MeanSlot>("mean"), row<ReductionSlot<kMax>>("max"), row<ReductionSlot<kMin>>("min"),
           row<ReductionSlot<kAny>>("any"), row<ReductionSlot<kEvery>>("all"),
           row<SumLikeSlot>("sum_like"), row<PlaceSlot<kArgMax>>("argmax"),
           row<PlaceSlot<kArgMin>>("argmin"), row<VarianceSlot<false>>("var"),
           row<VarianceSlot<true>>("stddev"),
           row<ReductionSlot<kLogSumExp, TermOrder::free, States::large>>("logsumexp"),
           row<NormSlot>("norm")},
          std::move(kernels)};
}

}  // namespace tenure::kernels::cuda
