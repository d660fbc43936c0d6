#include "tenure/kernels/cpu/move/dense.h"
#include "tenure/kernels/cpu/pool/pool.h"
#include "tenure/kernels/cpu/table.h"
#include "tenure/ops/nn/pool_shape.h"

namespace tenure::kernels {
namespace {

using ops::Kernel;

struct MaxPoolSlot {
  static std::size_t workspace(const Kernel& k) {
    return staged_bytes(compute_type(k.in[0].dtype), k.in, k.out.first(1));
  }
  static void run(const Kernel& k) {
    const DType type = compute_type(k.in[0].dtype);
    Staging staging(type, k.workspace);
    const View x = staging.read(k.in[0]);
    const View y = staging.write(k.out[0]);
    max_pool(ops::max_pooling(k.op, k.in[0].shape, k.attributes), type, x.data, y.data, k.out[1]);
    staging.finish(y, k.out[0]);
  }
};

/// From windows to images or back, by the places of maxima.
template <auto pooling, auto compute>
struct ByPlacesSlot {
  static std::size_t workspace(const Kernel& k) {
    return staged_bytes(compute_type(k.in[0].dtype), k.in.first(1), k.out) +
           staged_bytes(k.in[1].dtype, k.in.subspan(1, 1), {});
  }
  static void run(const Kernel& k) {
    const DType type = compute_type(k.in[0].dtype);
    Staging staging(type, k.workspace);
    const View from = staging.read(k.in[0]);
    const View to = staging.write(k.out[0]);
    Staging rest(k.in[1].dtype, staging.rest());
    compute(pooling(k.op, k.in[0].shape, k.attributes), type, from.data, rest.read(k.in[1]),
            to.data);
    staging.finish(to, k.out[0]);
  }
};

/// Average pooling or its gradient.
template <auto pooling, auto compute>
struct AverageSlot {
  static std::size_t workspace(const Kernel& k) {
    return staged_bytes(compute_type(k.in[0].dtype), k.in, k.out);
  }
  static void run(const Kernel& k) {
    const DType type = compute_type(k.in[0].dtype);
    Staging staging(type, k.workspace);
    const View from = staging.read(k.in[0]);
    const View to = staging.write(k.out[0]);
    compute(
        pooling(k.op, k.in[0].shape, k.attributes), type,
        k.attributes.flag(ops::PoolArguments::kCountPadding) ? PoolCount::all : PoolCount::inside,
        from.data, to.data);
    staging.finish(to, k.out[0]);
  }
};

using MaxPoolGradientSlot = ByPlacesSlot<ops::max_pooling_of_windows, max_pool_gradient>;
using MaxPoolSelectSlot = ByPlacesSlot<ops::max_pooling, max_pool_select>;
using AveragePoolSlot = AverageSlot<ops::average_pooling, average_pool>;
using AveragePoolGradientSlot = AverageSlot<ops::average_pooling_of_windows, average_pool_gradient>;

}  // namespace

std::vector<KernelRow> pool_kernels() {
  return {kernel_row<MaxPoolSlot>("max_pool"), kernel_row<MaxPoolGradientSlot>("max_pool_gradient"),
          kernel_row<MaxPoolSelectSlot>("max_pool_select"),
          kernel_row<AveragePoolSlot>("average_pool"),
          kernel_row<AveragePoolGradientSlot>("average_pool_gradient")};
}

}  // namespace tenure::kernels
