#include <cmath>

#include "tenure/kernels/cuda/reduce/reduce_plan.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/reduce/axes.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;

TypedKernel reducing(const char* function, std::vector<Types> types) {
  return {"tenure/kernels/cuda/reduce/reduce.cu", function, "ReduceArguments", kGroupThreads,
          std::move(types)};
}
const std::vector<Types> kFloats{DType::float16, DType::bfloat16, DType::float32, DType::float64};
const std::vector<Types> kIntegers{DType::boolean, DType::uint8, DType::int8,
                                   DType::int16,   DType::int32, DType::int64};
const std::vector<Types> kAll{DType::boolean, DType::uint8,  DType::int8,    DType::int16,
                              DType::int32,   DType::int64,  DType::float16, DType::bfloat16,
                              DType::float32, DType::float64};

const TypedKernel kMean = reducing("reduce_mean", kIntegers);
const TypedKernel kProd = reducing("reduce_prod", kAll);
const TypedKernel kMax = reducing("reduce_max", kAll);
const TypedKernel kMin = reducing("reduce_min", kAll);
const TypedKernel kAny = reducing("reduce_any", kAll);
const TypedKernel kEvery = reducing("reduce_all", kAll);
const TypedKernel kArgMax = reducing("reduce_argmax", kAll);
const TypedKernel kArgMin = reducing("reduce_argmin", kAll);
const TypedKernel kVariance = reducing("reduce_variance", kFloats);
const TypedKernel kLogSumExp = reducing("reduce_logsumexp", kFloats);
const TypedKernel kNorm = reducing("reduce_norm", kFloats);
const TypedKernel kPowerNorm = reducing("reduce_power_norm", kFloats);
const TypedKernel kLargestNorm = reducing("reduce_largest_norm", kFloats);
const TypedKernel kSmallestNorm = reducing("reduce_smallest_norm", kFloats);

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

/// A reduction over the axes that attribute `axes_at` has.
template <int axes_at, TermOrder order, States states>
struct PlannedSlot {
  static ReducePlan plan(const Kernel& k) {
    return ReducePlan(k.in[0], axes_of(k, axes_at), order, states);
  }
  static std::size_t workspace(const Kernel& k) { return plan(k).workspace(); }
  static void launch(const Kernel& k, const TypedKernel& kernel, double number = 1,
                     bool root = false) {
    if (Gpu* const gpu = gpu_of(k)) {
      plan(k).launch(*gpu, k.op, kernel, k.in[0].dtype, call_of(k, number, root));
    }
  }
};

template <const TypedKernel& kernel, TermOrder order = TermOrder::free,
          States states = States::small>
struct ReductionSlot : PlannedSlot<0, order, states> {
  static void run(const Kernel& k) { PlannedSlot<0, order, states>::launch(k, kernel); }
};
template <const TypedKernel& kernel>
using PlaceSlot = ReductionSlot<kernel, TermOrder::given, States::large>;

struct MeanSlot : PlannedSlot<0, TermOrder::free, States::small> {
  static void run(const Kernel& k) {
    launch(k, is_floating(k.in[0].dtype) ? kReduceSum : kMean,
           static_cast<double>(plan(k).terms()));
  }
};

struct SumLikeSlot {
  static ReducePlan plan(const Kernel& k) {
    return ReducePlan(k.in[0], ops::repeated_axes(k.in[0].shape, k.in[1].shape, k.op),
                      TermOrder::free, States::small);
  }
  static std::size_t workspace(const Kernel& k) { return plan(k).workspace(); }
  static void run(const Kernel& k) {
    if (Gpu* const gpu = gpu_of(k))
      plan(k).launch(*gpu, k.op, kReduceSum, k.in[0].dtype, call_of(k, 1, false));
  }
};

/// The variance or its root.
template <bool root>
struct VarianceSlot : PlannedSlot<ops::VarianceAttributes::axes, TermOrder::free, States::large> {
  static void run(const Kernel& k) {
    launch(k, kVariance, k.attributes.number(ops::VarianceAttributes::correction), root);
  }
};

struct NormSlot : PlannedSlot<ops::VectorNormAttributes::axes, TermOrder::free, States::small> {
  static void run(const Kernel& k) {
    const double order = k.attributes.number(ops::VectorNormAttributes::order);
    const TypedKernel& kernel = order == 2           ? kNorm
                                : !std::isinf(order) ? kPowerNorm
                                : order > 0          ? kLargestNorm
                                                     : kSmallestNorm;
    launch(k, kernel, order);
  }
};

}  // namespace

const TypedKernel kReduceSum = reducing("reduce_sum", kAll);

Family reduce_family() {
  return {{row<ReductionSlot<kReduceSum>>("sum"), row<ReductionSlot<kProd>>("prod"),
           row<MeanSlot>("mean"), row<ReductionSlot<kMax>>("max"), row<ReductionSlot<kMin>>("min"),
           row<ReductionSlot<kAny>>("any"), row<ReductionSlot<kEvery>>("all"),
           row<SumLikeSlot>("sum_like"), row<PlaceSlot<kArgMax>>("argmax"),
           row<PlaceSlot<kArgMin>>("argmin"), row<VarianceSlot<false>>("var"),
           row<VarianceSlot<true>>("stddev"),
           row<ReductionSlot<kLogSumExp, TermOrder::free, States::large>>("logsumexp"),
           row<NormSlot>("norm")},
          {&kReduceSum, &kMean, &kProd, &kMax, &kMin, &kAny, &kEvery, &kArgMax, &kArgMin,
           &kVariance, &kLogSumExp, &kNorm, &kPowerNorm, &kLargestNorm, &kSmallestNorm}};
}

}  // namespace tenure::kernels::cuda
