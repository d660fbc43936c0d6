#include "tenure/kernels/cuda/reduce/axis.h"
#include "tenure/kernels/cuda/reduce/matrix.h"
#include "tenure/kernels/cuda/softmax/softmax_arguments.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/reduce/axes.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;

RowKernels along(const char* function) {
  return RowKernels({"tenure/kernels/cuda/softmax/softmax.cu",
                     function,
                     "SoftmaxArguments",
                     kGroupThreads,
                     {DType::float16, DType::bfloat16, DType::float32, DType::float64}});
}
const RowKernels kSoftmax = along("softmax");
const RowKernels kLogSoftmax = along("log_softmax");
const RowKernels kSoftmaxGradient = along("softmax_gradient");
const RowKernels kLogSoftmaxGradient = along("log_softmax_gradient");

/// Of one input; of the gradients two.
template <const RowKernels& kernels>
struct SoftmaxSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    const View& x = k.in[0];
    const int axis =
        ops::axis_of(k.attributes.integer(ops::AxiswiseAttributes::axis), x.shape.size(), k.op);
    SoftmaxArguments arguments{};
    arguments.x = matrix_along(x, axis);
    if (k.in.size() > 1) arguments.y = matrix_along(k.in[1], axis);
    arguments.out = matrix_along(k.out[0], axis);
    const AxisShape axes(x.shape, axis);
    arguments.rows = axes.columns;
    arguments.length = axes.length;
    if (axes.inner > 1) {
      arguments.groups = axes.groups(size_of(x.dtype), kHeldElements);
      arguments.form = axes.length <= kHeldElements * std::int64_t{arguments.groups.lanes}
                           ? kSinglesRows
                           : kLoopedRows;
    } else {
      const RowShape shape({&arguments.x, &arguments.y, &arguments.out}, {}, axes.length,
                           size_of(x.dtype));
      arguments.groups = shape.groups;
      arguments.form = shape.form;
    }
    gpu->launch(k.op, kernels.of(arguments.form), x.dtype,
                {.blocks = blocks_for(arguments.rows, arguments.groups), .threads = kGroupThreads},
                arguments);
  }
};

}  // namespace

Family softmax_family() {
  Family family{
      {row<SoftmaxSlot<kSoftmax>>("softmax"), row<SoftmaxSlot<kLogSoftmax>>("log_softmax"),
       row<SoftmaxSlot<kSoftmaxGradient>>("softmax_gradient"),
       row<SoftmaxSlot<kLogSoftmaxGradient>>("log_softmax_gradient")},
      {}};
  for (const RowKernels* const each :
       {&kSoftmax, &kLogSoftmax, &kSoftmaxGradient, &kLogSoftmaxGradient}) {
    each->add_to(family.kernels);
  }
  return family;
}

}  // namespace tenure::kernels::cuda
