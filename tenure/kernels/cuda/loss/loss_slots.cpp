#include <fmt/format.h>

#include "tenure/kernels/cuda/loss/loss_arguments.h"
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
constexpr const char* kEntropy = "tenure/kernels/cuda/loss/cross_entropy.cu";
constexpr const char* kPointwise = "tenure/kernels/cuda/loss/pointwise.cu";

const TypedKernel kCheckClasses{
    kClasses, "check_classes", "ClassesArguments", kGroupThreads, {Types()}};
const TypedKernel kClassValues{kClasses,
                               "class_values",
                               "ClassValuesArguments",
                               kGroupThreads,
                               {DType::int16, DType::int32, DType::int64}};
const TypedKernel kCrossEntropy{kEntropy, "cross_entropy", "CrossEntropyArguments", kGroupThreads,
                                kFloats};
const TypedKernel kCrossEntropyGradient{kEntropy, "cross_entropy_gradient", "CrossEntropyArguments",
                                        kGroupThreads, kFloats};
const TypedKernel kPointwiseLoss{kPointwise, "pointwise_loss", "PointwiseArguments", kGroupThreads,
                                 kFloats};
const TypedKernel kPointwiseGradient{kPointwise, "pointwise_loss_gradient", "PointwiseArguments",
                                     kGroupThreads, kFloats};
const TypedKernel kSumLossParts{kPointwise, "sum_loss_parts", "LossPartsArguments", kGroupThreads,
                                kFloats};

/// Blocks of one sum: one for what it is done with quickly, else as many as keep a GPU busy.
constexpr std::int64_t kFewElements = 1 << 13;
constexpr std::int64_t kMostBlocks = 512;
std::int64_t blocks_of_sum(std::int64_t elements) {
  if (elements <= kFewElements) return 1;
  return std::min((elements + kFewElements - 1) / kFewElements, kMostBlocks);
}
std::size_t parts_bytes(std::int64_t blocks) {
  return blocks == 1 ? 0 : static_cast<std::size_t>(blocks) * sizeof(double);
}
LossSum sum_of(const Kernel& k, bool reduces, double scale, std::int64_t blocks) {
  return {.out = k.out[0].data,
          .parts = reduces && blocks > 1 ? reinterpret_cast<double*>(k.workspace.data()) : nullptr,
          .reduces = reduces ? 1 : 0,
          .scale = scale};
}
/// Adds up what blocks left, if they did.
void finish_sum(Gpu& gpu, const Kernel& k, LossSum sum, std::int64_t blocks) {
  if (sum.parts == nullptr) return;
  LossPartsArguments arguments{.parts = sum.parts, .n = blocks, .sum = sum};
  arguments.sum.parts = nullptr;
  gpu.launch(k.op, kSumLossParts, k.out[0].dtype, {.blocks = 1, .threads = kGroupThreads},
             arguments);
}

ClassesView classes_view(const View& targets) {
  return {.view = flat_view(targets), .dtype = static_cast<std::int32_t>(targets.dtype)};
}

/// How many rows count. Throws IndexError for one that has no class and is not ignored.
std::int64_t checked_rows(Gpu& gpu, const char* op, const View& targets, std::int64_t classes,
                          std::int64_t ignore_index) {
  if (targets.count() == 0) return 0;
  ClassesArguments arguments{.targets = classes_view(targets),
                             .rows = targets.count(),
                             .classes = classes,
                             .ignore_index = ignore_index,
                             .answers = nullptr};
  Grid grid = grid_over(targets.count(), kGroupThreads);
  grid.blocks = std::min<std::uint32_t>(grid.blocks, Gpu::kMostAnswers / kClassAnswers);
  std::vector<std::uint64_t> answers(grid.blocks * kClassAnswers);
  gpu.ask(op, kCheckClasses, Types(), grid, arguments, &ClassesArguments::answers, answers);
  std::uint64_t first = ~std::uint64_t{0};
  std::int64_t target = 0;
  std::uint64_t counted = 0;
  for (std::size_t i = 0; i < answers.size(); i += kClassAnswers) {
    if (answers[i] < first) {
      first = answers[i];
      target = static_cast<std::int64_t>(answers[i + 1]);
    }
    counted += answers[i + 2];
  }
  if (first != ~std::uint64_t{0}) {
    throw IndexError(op, fmt::format("there is no class {} among {}", target, classes), target,
                     classes);
  }
  return static_cast<std::int64_t>(counted);
}

/// What both directions of cross_entropy have; throws as checked_rows.
CrossEntropyArguments cross_entropy_of(Gpu& gpu, const Kernel& k, std::int64_t blocks) {
  const View& logits = k.in[0];
  const View& targets = k.in[1];
  const Reduction reduction = reduction_of(k.attributes);
  CrossEntropyArguments a{};
  a.classes = logits.shape.back();
  a.rows = a.classes == 0 ? 0 : logits.count() / a.classes;
  a.logits = matrix_view(logits, 1);
  a.ignore_index = k.attributes.integer(ops::CrossEntropyAttributes::ignore_index);
  a.label_smoothing = k.attributes.number(ops::CrossEntropyAttributes::label_smoothing);
  std::int64_t counted = a.rows;
  if (is_floating(targets.dtype)) {
    a.probabilities = matrix_view(targets, 1);
  } else {
    counted = checked_rows(gpu, k.op, targets, a.classes, a.ignore_index);
    a.targets = classes_view(targets);
  }
  a.groups = groups_of_rows(a.classes, size_of(logits.dtype));
  a.all_groups = std::max<std::int64_t>(
      std::min<std::int64_t>(a.rows, blocks * (kGroupThreads / a.groups.lanes)), 1);
  a.sum = sum_of(k, reduction != Reduction::none, ops::scale_of(reduction, counted), blocks);
  return a;
}

struct CrossEntropySlot {
  static bool reduces(const Kernel& k) { return reduction_of(k.attributes) != Reduction::none; }
  /// Without a sum, each group has one row.
  static std::int64_t blocks(const Kernel& k) {
    const View& logits = k.in[0];
    if (reduces(k)) return blocks_of_sum(logits.count());
    const std::int64_t rows = logits.count() / std::max<std::int64_t>(logits.shape.back(), 1);
    return blocks_for(rows, groups_of_rows(logits.shape.back(), size_of(logits.dtype)));
  }
  static std::size_t workspace(const Kernel& k) { return reduces(k) ? parts_bytes(blocks(k)) : 0; }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    const std::int64_t all = std::max<std::int64_t>(blocks(k), 1);
    const CrossEntropyArguments arguments = cross_entropy_of(*gpu, k, all);
    gpu->launch(k.op, kCrossEntropy, k.in[0].dtype,
                {.blocks = static_cast<std::uint32_t>(all), .threads = kGroupThreads}, arguments);
    finish_sum(*gpu, k, arguments.sum, all);
  }
};

struct CrossEntropyGradientSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    CrossEntropyArguments arguments = cross_entropy_of(*gpu, k, 1);
    arguments.dy = flat_view(k.in[2]);
    arguments.dy_dtype = static_cast<std::int32_t>(k.in[2].dtype);
    arguments.gradient = matrix_view(k.out[0], 1);
    gpu->launch(k.op, kCrossEntropyGradient, k.in[0].dtype,
                {.blocks = blocks_for(arguments.rows, arguments.groups), .threads = kGroupThreads},
                arguments);
  }
};

struct ClassValuesSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    const std::int64_t ignored = k.attributes.integer(ops::ClassValuesAttributes::ignore_index);
    checked_rows(*gpu, k.op, k.in[1], k.in[0].shape.back(), ignored);
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
  static bool reduces(const Kernel& k) { return reduction_of(k.attributes) != Reduction::none; }
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
    finish_sum(*gpu, k, arguments.sum, blocks);
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
  return {{row<CrossEntropySlot>("cross_entropy"),
           row<CrossEntropyGradientSlot>("cross_entropy_gradient"),
           row<ClassValuesSlot>("class_values"), row<PointwiseSlot<kSquared>>("mse_loss"),
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
          {&kCheckClasses, &kClassValues, &kCrossEntropy, &kCrossEntropyGradient, &kPointwiseLoss,
           &kPointwiseGradient, &kSumLossParts}};
}

}  // namespace tenure::kernels::cuda
