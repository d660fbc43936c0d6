#include <cstdlib>
#include <limits>

#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/pool/pool_arguments.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/nn/pool_shape.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;
using ops::Pooling;

constexpr std::uint32_t kPoolThreads = 256;
constexpr DType kPooledTypes[] = {DType::float16, DType::bfloat16, DType::float32, DType::float64};

TypedKernel pooling_kernel(const char* function, bool has_places) {
  std::vector<Types> types;
  for (const DType type : kPooledTypes) {
    if (!has_places) {
      types.emplace_back(type);
      continue;
    }
    for (const DType place : {DType::uint8, DType::int32}) types.emplace_back(type, place);
  }
  return {"tenure/kernels/cuda/pool/pool.cu", function, "PoolArguments", kPoolThreads,
          std::move(types)};
}
const TypedKernel kMaxPool = pooling_kernel("max_pool", true);
const TypedKernel kMaxPoolGradient = pooling_kernel("max_pool_gradient", true);
const TypedKernel kMaxPoolSelect = pooling_kernel("max_pool_select", true);
const TypedKernel kAveragePool = pooling_kernel("average_pool", false);
const TypedKernel kAveragePoolGradient = pooling_kernel("average_pool_gradient", false);

/// Spatial axes that are missing have size 1 and come first.
PoolOperand pool_operand(const View& view) {
  const int rank = view.shape.size();
  PoolOperand operand{.data = view.data, .strides = {}};
  for (int d = 0; d < rank; ++d) operand.strides[d == 0 ? 0 : d + 5 - rank] = view.strides[d];
  return operand;
}

PoolArguments pool_arguments(const Pooling& p) {
  PoolArguments a{};
  for (std::size_t d = 0; d < 3; ++d) {
    const Pooling::Axis& axis = p.axes[d];
    a.axes[d] = {.in = axis.in,
                 .out = axis.out,
                 .kernel = axis.kernel,
                 .stride = axis.stride,
                 .padding = axis.padding,
                 .dilation = axis.dilation};
  }
  a.batch = p.batch;
  a.channels = p.channels;
  return a;
}

void launch(const Kernel& k, const TypedKernel& kernel, Types types, const PoolArguments& a) {
  Gpu* const gpu = gpu_of(k);
  if (gpu == nullptr || k.out[0].count() == 0) return;
  gpu->launch(k.op, kernel, types, grid_over(k.out[0].count(), kPoolThreads), a);
}

/// How far the elements of an operand lie from its first one, at most; `size` is a member of axes.
std::int64_t reach_of(const PoolArguments& a, const PoolOperand& operand,
                      std::int64_t PoolAxis::*size) {
  std::int64_t reach = (a.batch - 1) * std::abs(operand.strides[0]) +
                       (a.channels - 1) * std::abs(operand.strides[4]);
  for (int d = 0; d < 3; ++d) reach += (a.axes[d].*size - 1) * std::abs(operand.strides[d + 1]);
  return reach;
}

/// Whether channels fill 16 bytes of elements of T, and lie so wherever an operand is, and elements
/// can be counted in 32 bits, in whatever order the axes of a view lie.
bool is_packed(const PoolArguments& a, DType type, DType places) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const auto n = static_cast<std::int64_t>(16 / size_of(type));
  const auto fits = [&](const PoolOperand& operand, std::int64_t PoolAxis::*size,
                        std::size_t element) {
    bool fits = operand.strides[4] == 1 &&
                reinterpret_cast<std::uintptr_t>(operand.data) % (element * n) == 0;
    for (int d = 0; d < 4; ++d) fits = fits && operand.strides[d] % n == 0;
    return fits && reach_of(a, operand, size) <= kMost;
  };
  bool is_counted = true;
  for (const PoolAxis& axis : a.axes) is_counted = is_counted && axis.in * axis.out <= kMost;
  return is_counted && a.channels % n == 0 && fits(a.images, &PoolAxis::in, size_of(type)) &&
         fits(a.windows, &PoolAxis::out, size_of(type)) &&
         fits(a.places, &PoolAxis::out, size_of(places));
}

struct MaxPoolSlot {
  static void run(const Kernel& k) {
    PoolArguments a = pool_arguments(ops::max_pooling(k.op, k.in[0].shape, k.attributes));
    a.images = pool_operand(k.in[0]);
    a.windows = pool_operand(k.out[0]);
    a.places = pool_operand(k.out[1]);
    a.packed = is_packed(a, k.in[0].dtype, k.out[1].dtype) ? 1 : 0;
    launch(k, kMaxPool, Types(k.in[0].dtype, k.out[1].dtype), a);
  }
};

struct MaxPoolGradientSlot {
  static void run(const Kernel& k) {
    PoolArguments a =
        pool_arguments(ops::max_pooling_of_windows(k.op, k.in[0].shape, k.attributes));
    a.windows = pool_operand(k.in[0]);
    a.places = pool_operand(k.in[1]);
    a.images = pool_operand(k.out[0]);
    a.packed = is_packed(a, k.in[0].dtype, k.in[1].dtype) ? 1 : 0;
    launch(k, kMaxPoolGradient, Types(k.in[0].dtype, k.in[1].dtype), a);
  }
};

struct MaxPoolSelectSlot {
  static void run(const Kernel& k) {
    PoolArguments a = pool_arguments(ops::max_pooling(k.op, k.in[0].shape, k.attributes));
    a.images = pool_operand(k.in[0]);
    a.places = pool_operand(k.in[1]);
    a.windows = pool_operand(k.out[0]);
    launch(k, kMaxPoolSelect, Types(k.in[0].dtype, k.in[1].dtype), a);
  }
};

std::int64_t counts_padding(const Kernel& k) {
  return k.attributes.flag(ops::PoolArguments::kCountPadding) ? 1 : 0;
}

struct AveragePoolSlot {
  static void run(const Kernel& k) {
    PoolArguments a = pool_arguments(ops::average_pooling(k.op, k.in[0].shape, k.attributes));
    a.images = pool_operand(k.in[0]);
    a.windows = pool_operand(k.out[0]);
    a.counts_padding = counts_padding(k);
    launch(k, kAveragePool, k.in[0].dtype, a);
  }
};

struct AveragePoolGradientSlot {
  static void run(const Kernel& k) {
    PoolArguments a =
        pool_arguments(ops::average_pooling_of_windows(k.op, k.in[0].shape, k.attributes));
    a.windows = pool_operand(k.in[0]);
    a.images = pool_operand(k.out[0]);
    a.counts_padding = counts_padding(k);
    launch(k, kAveragePoolGradient, k.in[0].dtype, a);
  }
};

}  // namespace

Family pool_family() {
  return {{row<MaxPoolSlot>("max_pool"), row<MaxPoolGradientSlot>("max_pool_gradient"),
           row<MaxPoolSelectSlot>("max_pool_select"), row<AveragePoolSlot>("average_pool"),
           row<AveragePoolGradientSlot>("average_pool_gradient")},
          {&kMaxPool, &kMaxPoolGradient, &kMaxPoolSelect, &kAveragePool, &kAveragePoolGradient}};
}

}  // namespace tenure::kernels::cuda
