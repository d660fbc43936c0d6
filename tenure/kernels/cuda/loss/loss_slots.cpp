#include "tenure/kernels/cuda/loss/check_classes.h"
#include "tenure/kernels/cuda/loss/loss_arguments.h"
#include "tenure/kernels/cuda/loss/loss_sum.h"
#include "tenure/kernels/cuda/reduce/matrix.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/nn/attributes.h"
#include "tenure/ops/nn/loss.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;
using ops::reduction_of;

const std::vector<Types> kFloats{DType::float16, DType::bfloat16, DType::float32, DType::float64};
constexpr const char* kClasses = "tenure/kernels/cuda/loss/classes.cu";
constexpr const char* kPointwise = "tenure/kernels/cuda/loss/pointwise.cu";

const TypedKernel kClassValues{kClasses,
                               "class_values",
                               "ClassValuesArguments",
                               kGroupThreads,
                               {DType::int16, DType::int32, DType::int64}};
const TypedKernel kPointwiseLoss{kPointwise, "pointwise_loss", "PointwiseArguments", kGroupThreads,
                                 kFloats};
const TypedKernel kPointwiseGradient{kPointwise, "pointwise_loss_gradient", "PointwiseArguments",
                                     kGroupThreads, kFloats};

/// Blocks of one sum: one for what it is done with quickly, else as many as keep a GPU busy.
constexpr std::int64_t kFewElements = 1 << 13;
constexpr std::int64_t kMostBlocks = 512;
std::int64_t blocks_of_sum(std::int64_t elements) {
  if (elements <= kFewElements) return 1;
  return std::min((elements + kFewElements - 1) / kFewElements, kMostBlocks);
}

struct ClassValuesSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    const std::int64_t ignored = k.attributes.integer(ops::ClassValuesAttributes::ignore_index);
    check_classes(*gpu, k, k.in[1], k.in[0].shape.back(), ignored);
    const std::size_t size = size_of(k.in[0].dtype);
    gpu->launch(k.op, kClassValues,
                size == 2   ? DType::int16
                : size == 4 ? DType::int32
                            : DType::int64,
                grid_over(k.out[0].count(), kGroupThreads),
                ClassValuesArguments{.x = matrix_view(k.in[0], 1),
                                     .targets = classes_view(k.in[1]),
                                     .rows = k.out[0].count(),
                                     .ignore_index = ignored,
                                     .out = k.out[0].data});
  }
};

PointwiseArguments pointwise_of(const Kernel& k, PointwiseKind kind) {
  PointwiseArguments a{};
  a.x = flat_view(k.in[0]);
  a.targets = flat_view(k.in[1]);
  a.n = k.in[0].count();
  a.kind = kind;
  a.parameter = ops::parameter_of(k.attributes);
  a.least_log = ops::kLeastLog;
  a.least_product = ops::kLeastProduct;
  return a;
}

template <PointwiseKind kind>
struct PointwiseSlot {
  static std::size_t workspace(const Kernel& k) {
    return reduces(k) ? parts_bytes(blocks_of_sum(k.in[0].count())) : 0;
  }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    PointwiseArguments arguments = pointwise_of(k, kind);
    const std::int64_t blocks = blocks_of_sum(arguments.n);
    const double scale = ops::scale_of(reduction_of(k.attributes), arguments.n);
    arguments.sum = sum_of(k, reduces(k), scale, blocks);
    Grid grid = grid_over(std::max<std::int64_t>(arguments.n, 1), kGroupThreads);
    if (reduces(k)) grid.blocks = static_cast<std::uint32_t>(blocks);
    gpu->launch(k.op, kPointwiseLoss, k.in[0].dtype, grid, arguments);
  }
};

template <PointwiseKind kind>
struct PointwiseGradientSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    PointwiseArguments arguments = pointwise_of(k, kind);
    arguments.dy = flat_view(k.in[2]);
    if (k.in[2].count() == 1) arguments.dy.walk = {.rank = 1, .sizes = {1}, .strides = {0}};
    arguments.sum = sum_of(k, false, ops::scale_of(reduction_of(k.attributes), arguments.n), 1);
    gpu->launch(k.op, kPointwiseGradient, k.in[0].dtype, grid_over(arguments.n, kGroupThreads),
                arguments);
  }
};

}  // namespace

Family loss_family() {
  return {{row<ClassValuesSlot>("class_values"), row<PointwiseSlot<kSquared>>("mse_loss"),
           row<PointwiseSlot<kAbsolute>>("l1_loss"), row<PointwiseSlot<kHuber>>("huber_loss"),
           row<PointwiseSlot<kLogitEntropy>>("binary_cross_entropy_with_logits"),
           row<PointwiseSlot<kProbabilityEntropy>>("binary_cross_entropy"),
           row<PointwiseSlot<kDivergence>>("kl_divergence"),
           row<PointwiseGradientSlot<kSquared>>("mse_loss_gradient"),
           row<PointwiseGradientSlot<kAbsolute>>("l1_loss_gradient"),
           row<PointwiseGradientSlot<kHuber>>("huber_loss_gradient"),
           row<PointwiseGradientSlot<kLogitEntropy>>("binary_cross_entropy_with_logits_gradient"),
           row<PointwiseGradientSlot<kProbabilityEntropy>>("binary_cross_entropy_gradient"),
           row<PointwiseGradientSlot<kDivergence>>("kl_divergence_gradient")},
          {&class_check_kernel(), &kClassValues, &kPointwiseLoss, &kPointwiseGradient}};
}

}  // namespace tenure::kernels::cuda
