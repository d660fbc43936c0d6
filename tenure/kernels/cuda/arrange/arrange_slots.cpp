#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tenure/kernels/cuda/arrange/arrange_arguments.h"
#include "tenure/kernels/cuda/launch/bits.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/move/copy_walk.h"
#include "tenure/kernels/cuda/places/nest.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/creation/attributes.h"
#include "tenure/ops/index/arrange.h"
#include "tenure/ops/index/attributes.h"
#include "tenure/ops/index/modes.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;

constexpr std::uint32_t kThreads = 256;

TypedKernel arranging(const char* function, const char* arguments) {
  return {"tenure/kernels/cuda/arrange/arrange.cu", function, arguments, kThreads, bits_types()};
}
const TypedKernel kPad = arranging("pad", "PadArguments");
const TypedKernel kTriangle = arranging("triangle", "TriangleArguments");

void pad(const Kernel& k, const Dims& low, PadMode mode, std::uint64_t fill) {
  const View& in = k.in[0];
  const View& out = k.out[0];
  if (out.count() == 0) return;
  PadArguments a{};
  for (int d = 0; d < in.shape.size(); ++d) {
    if (mode != PadMode::constant && in.shape[d] == 0) {
      throw ValueError(
          fmt::format("pad: axis {} is empty, so it can only be extended by a constant", d));
    }
    a.in_shape[d] = in.shape[d];
    a.in_strides[d] = in.strides[d];
    a.out_shape[d] = out.shape[d];
    a.low[d] = low[d];
  }
  Gpu* const gpu = gpu_of(k);
  if (gpu == nullptr) return;
  a.in = in.data;
  a.out = out.data;
  a.n = static_cast<std::uint64_t>(out.count());
  a.fill = fill;
  a.mode = static_cast<std::int64_t>(mode);
  a.rank = in.shape.size();
  gpu->launch(k.op, kPad, bits_type(size_of(in.dtype)), grid_over(out.count(), kThreads), a);
}

struct PadSlot {
  static void run(const Kernel& k) {
    const ops::ElementBytes element =
        ops::element(ops::to_scalar(k.attributes[ops::PadAttributes::value]), k.in[0].dtype, k.op);
    std::uint64_t fill = 0;
    std::memcpy(&fill, element.bytes, size_of(k.in[0].dtype));
    pad(k, k.attributes.dims(ops::PadAttributes::before),
        static_cast<PadMode>(k.attributes.integer(ops::PadAttributes::mode)), fill);
  }
};

struct RollSlot {
  static void run(const Kernel& k) {
    const Shape& shape = k.in[0].shape;
    Dims low = ops::shifts_of_axes(shape, k.attributes);
    for (int d = 0; d < shape.size() && k.out[0].count() > 0; ++d) {
      low[d] %= shape[d];
      if (low[d] < 0) low[d] += shape[d];
    }
    pad(k, low, PadMode::wrap, 0);
  }
};

/// What is written behind each other, from the outermost loop to the innermost; elements of input
/// 0.
class ArrangedCopy {
 public:
  explicit ArrangedCopy(const Kernel& k) : to_(k.out[0].count()) {}
  void add(std::int64_t size, std::int64_t from) {
    to_ /= size;
    walk_.add(size, from, to_);
  }
  void run(const Kernel& k) const {
    copy_over(*gpu_of(k), k.op, walk_,
              {k.in[0].data, k.in[0].dtype, k.out[0].data, k.out[0].dtype});
  }

 private:
  CopyWalk walk_;
  std::int64_t to_;
};

struct TileSlot {
  static void run(const Kernel& k) {
    if (k.out[0].count() == 0) return;
    const int rank = k.out[0].shape.size();
    const Shape shape = ops::with_leading_ones(k.in[0].shape, rank);
    const Strides strides = ops::with_leading_ones(k.in[0].strides, rank);
    const Dims times = ops::with_leading_ones(k.attributes.dims(ops::TileAttributes::times), rank);
    ArrangedCopy copy(k);
    for (int d = 0; d < rank; ++d) {
      copy.add(times[d], 0);
      copy.add(shape[d], strides[d]);
    }
    copy.run(k);
  }
};

struct RepeatSlot {
  static void run(const Kernel& k) {
    if (k.out[0].count() == 0) return;
    const View& in = k.in[0];
    const int axis =
        normalize_axis(k.attributes.integer(ops::RepeatAttributes::axis), in.shape.size(), k.op);
    ArrangedCopy copy(k);
    for (int d = 0; d < in.shape.size(); ++d) {
      copy.add(in.shape[d], in.strides[d]);
      if (d == axis) copy.add(k.attributes.integer(ops::RepeatAttributes::times), 0);
    }
    copy.run(k);
  }
};

template <bool is_upper>
struct TriangleSlot {
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    const View& in = k.in[0];
    const std::int64_t rows = in.shape[in.shape.size() - 2];
    const std::int64_t columns = in.shape.back();
    gpu->launch(k.op, kTriangle, bits_type(size_of(in.dtype)), grid_over(in.count(), kThreads),
                TriangleArguments{
                    .nest = loops_over(in.shape, {&in.strides}),
                    .in = in.data,
                    .out = k.out[0].data,
                    .rows = rows,
                    .columns = columns,
                    .diagonal = std::clamp(k.attributes.integer(ops::TriangleAttributes::diagonal),
                                           -rows, columns),
                    .is_upper = is_upper ? 1 : 0});
  }
};

}  // namespace

Family arrange_family() {
  return {
      {row<PadSlot>("pad"), row<TileSlot>("tile"), row<RepeatSlot>("repeat"), row<RollSlot>("roll"),
       row<TriangleSlot<false>>("tril"), row<TriangleSlot<true>>("triu")},
      {&kPad, &kTriangle}};
}

}  // namespace tenure::kernels::cuda
