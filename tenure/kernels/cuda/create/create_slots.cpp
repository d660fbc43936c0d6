#include <cstring>

#include "tenure/kernels/cuda/create/create_arguments.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/creation/attributes.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;

constexpr std::uint32_t kThreads = 256;
constexpr const char* kFile = "tenure/kernels/cuda/create/create.cu";

const TypedKernel kFill{kFile,
                        "fill",
                        "FillArguments",
                        kThreads,
                        {DType::uint8, DType::int16, DType::int32, DType::int64}};
const TypedKernel kArange{kFile,
                          "arange",
                          "ArangeArguments",
                          kThreads,
                          {DType::uint8, DType::int8, DType::int16, DType::int32, DType::int64,
                           DType::float16, DType::bfloat16, DType::float32, DType::float64}};

void fill(const Kernel& k, const Scalar& value) {
  Gpu* const gpu = gpu_of(k);
  if (gpu == nullptr) return;
  const View& out = k.out[0];
  const ops::ElementBytes element = ops::element(value, out.dtype, k.op);
  const std::size_t size = size_of(out.dtype);
  FillArguments arguments{
      .out = out.data, .n = static_cast<std::uint64_t>(out.count()), .bytes = 0};
  std::memcpy(&arguments.bytes, element.bytes, size);
  if (arguments.bytes == 0) return gpu->set_bytes(out.data, 0, arguments.n * size);
  constexpr DType kOfSize[] = {DType::uint8, DType::int16, DType::int32, DType::int64};
  const std::size_t which = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3;
  gpu->launch(k.op, kFill, kOfSize[which], grid_over(out.count(), kThreads), arguments);
}

template <int number>
struct ConstantSlot {
  static void run(const Kernel& k) { fill(k, number); }
};

struct FullSlot {
  static void run(const Kernel& k) {
    fill(k, ops::to_scalar(k.attributes[ops::FullAttributes::value]));
  }
};

struct ArangeSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr) return;
    const View& out = k.out[0];
    const ops::ArangeNumbers r(k.attributes);
    gpu->launch(k.op, kArange, out.dtype, grid_over(out.count(), kThreads),
                ArangeArguments{.out = out.data,
                                .n = static_cast<std::uint64_t>(out.count()),
                                .integers = r.integers() ? 1 : 0,
                                .start = r.start.integer,
                                .step = r.step.integer,
                                .double_start = r.start.floating,
                                .double_step = r.step.floating});
  }
};

}  // namespace

Family creation_family() {
  return {{row<ConstantSlot<0>>("zeros"), row<ConstantSlot<1>>("ones"), row<FullSlot>("full"),
           row<ArangeSlot>("arange")},
          {&kFill, &kArange}};
}

}  // namespace tenure::kernels::cuda
