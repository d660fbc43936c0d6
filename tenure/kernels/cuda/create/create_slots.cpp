#include <cstring>

#include "tenure/kernels/cuda/create/create_arguments.h"
#include "tenure/kernels/cuda/index/check_indices.h"
#include "tenure/kernels/cuda/launch/bits.h"
#include "tenure/kernels/cuda/launch/device_view.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/creation/attributes.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;

constexpr std::uint32_t kThreads = 256;
constexpr const char* kFile = "tenure/kernels/cuda/create/create.cu";

/// Of elements by their bytes.
TypedKernel by_bytes(const char* function, const char* arguments) {
  return {kFile, function, arguments, kThreads, bits_types()};
}
TypedKernel of_numbers(const char* function, const char* arguments) {
  return {kFile,
          function,
          arguments,
          kThreads,
          {DType::uint8, DType::int8, DType::int16, DType::int32, DType::int64, DType::float16,
           DType::bfloat16, DType::float32, DType::float64}};
}
const TypedKernel kFill = by_bytes("fill", "FillArguments");
const TypedKernel kEye = by_bytes("eye", "EyeArguments");
const TypedKernel kOneHot = by_bytes("one_hot", "OneHotArguments");
const TypedKernel kArange = of_numbers("arange", "ArangeArguments");
const TypedKernel kLinspace = of_numbers("linspace", "LinspaceArguments");

std::uint64_t bytes_of(const Scalar& value, DType dtype, const char* op) {
  const ops::ElementBytes element = ops::element(value, dtype, op);
  std::uint64_t bytes = 0;
  std::memcpy(&bytes, element.bytes, size_of(dtype));
  return bytes;
}

void fill(const Kernel& k, const Scalar& value) {
  Gpu* const gpu = gpu_of(k);
  if (gpu == nullptr) return;
  const View& out = k.out[0];
  const std::size_t size = size_of(out.dtype);
  const FillArguments arguments{.out = out.data,
                                .n = static_cast<std::uint64_t>(out.count()),
                                .bytes = bytes_of(value, out.dtype, k.op)};
  if (arguments.bytes == 0) return gpu->set_bytes(k.op, out.data, 0, arguments.n * size);
  gpu->launch(k.op, kFill, bits_type(size), grid_over(out.count(), kThreads), arguments);
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

struct LinspaceSlot {
  static void run(const Kernel& k) {
    using Names = ops::LinspaceAttributes;
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr) return;
    const View& out = k.out[0];
    const std::int64_t n = out.count();
    gpu->launch(k.op, kLinspace, out.dtype, grid_over(n, kThreads),
                LinspaceArguments{.out = out.data,
                                  .n = static_cast<std::uint64_t>(n),
                                  .spacing = ops::spacing(k.attributes.number(Names::start),
                                                          k.attributes.number(Names::stop), n,
                                                          k.attributes.flag(Names::endpoint))});
  }
};

struct EyeSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr) return;
    const View& out = k.out[0];
    gpu->launch(k.op, kEye, bits_type(size_of(out.dtype)), grid_over(out.count(), kThreads),
                EyeArguments{.out = out.data,
                             .n = static_cast<std::uint64_t>(out.count()),
                             .columns = out.shape[1],
                             .diagonal = k.attributes.integer(ops::EyeAttributes::diagonal),
                             .bytes = bytes_of(1, out.dtype, k.op)});
  }
};

struct OneHotSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k.in[0]);
    if (gpu == nullptr) return;
    const View& out = k.out[0];
    check_indices(*gpu, k, k.in[0], out.shape.back());
    gpu->launch(k.op, kOneHot, bits_type(size_of(out.dtype)), grid_over(out.count(), kThreads),
                OneHotArguments{.indices = device_view(k.in[0]),
                                .is_wide = k.in[0].dtype == DType::int64 ? 1 : 0,
                                .depth = out.shape.back(),
                                .out = out.data,
                                .n = static_cast<std::uint64_t>(out.count()),
                                .bytes = bytes_of(1, out.dtype, k.op)});
  }
};

}  // namespace

Family creation_family() {
  return {{row<ConstantSlot<0>>("zeros"), row<ConstantSlot<1>>("ones"), row<FullSlot>("full"),
           row<ArangeSlot>("arange"), row<LinspaceSlot>("linspace"), row<EyeSlot>("eye"),
           row<OneHotSlot>("one_hot")},
          {&kFill, &kArange, &kLinspace, &kEye, &kOneHot}};
}

}  // namespace tenure::kernels::cuda
