#include <algorithm>
#include <bit>

#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/move/dense.h"
#include "tenure/kernels/cuda/norm/batch_norm_arguments.h"
#include "tenure/kernels/cuda/table.h"
#include "tenure/ops/core/compute_type.h"
#include "tenure/ops/nn/attributes.h"

namespace tenure::kernels::cuda {
namespace {

using ops::Kernel;

TypedKernel batch_kernel(const char* function, bool has_weights) {
  std::vector<Types> types;
  for (const DType type : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
    if (!has_weights) {
      types.emplace_back(type);
      continue;
    }
    types.emplace_back(type, type);
    if (is_narrow_float(type)) types.emplace_back(type, DType::float32);
  }
  return {"tenure/kernels/cuda/norm/batch_norm.cu", function, "BatchNormArguments", kBatchThreads,
          std::move(types)};
}

/// The kernels of a direction, in their order.
struct BatchKernels {
  TypedKernel sums;
  TypedKernel factors;
  TypedKernel apply;
  std::int64_t sum_blocks;    ///< which leave sums
  std::int64_t apply_blocks;  ///< which make results
};
// As many blocks as an H200 has room for at once.
constexpr std::int64_t kProcessors = 132;
const BatchKernels kForward{batch_kernel("batch_norm_sums", false),
                            batch_kernel("batch_norm_factors", true),
                            batch_kernel("batch_norm", false), 4 * kProcessors, 6 * kProcessors};
const BatchKernels kBackward{batch_kernel("batch_norm_gradient_sums", false),
                             batch_kernel("batch_norm_gradient_factors", true),
                             batch_kernel("batch_norm_gradient", false), 3 * kProcessors,
                             3 * kProcessors};

/// Rows of each thread: at least, if there are so many, and at most, as it may sum up in float32.
constexpr std::int64_t kLeastRows = 8;
constexpr std::int64_t kMostRows = 128;
/// As many blocks as a grid may have along its second dimension. Threads have more rows then.
constexpr std::int64_t kMostChunks = 65535;

/// Blocks along a row, and those that share the rows.
struct Share {
  std::uint32_t across = 1;
  std::uint32_t chunks = 1;
};

/// A batch as a matrix: with dy or without.
class Batch {
 public:
  Batch(const Kernel& k, bool has_gradient) : has_gradient_(has_gradient) {
    const View& x = k.in[has_gradient ? 1 : 0];
    columns_ = x.shape.back();
    rows_ = columns_ == 0 ? 0 : x.count() / columns_;
    pack_ = static_cast<std::int64_t>(16 / size_of(x.dtype));
    if (columns_ % pack_ != 0) pack_ = 1;
    const auto across = static_cast<std::uint64_t>(std::max<std::int64_t>(columns_ / pack_, 1));
    lanes_ =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(std::bit_ceil(across), kBatchLanes));
    compute_size_ = size_of(ops::widened_type(x.dtype));
  }

  bool is_empty() const { return rows_ == 0 || columns_ == 0; }
  std::int64_t columns() const { return columns_; }

  std::size_t workspace(const Kernel& k) const {
    DenseInputs inputs;
    static_cast<void>(arguments(k, inputs));
    return inputs.bytes();
  }

  void run(Gpu& gpu, const Kernel& k) const {
    DenseInputs inputs(gpu, k.op, k.workspace);
    const BatchNormArguments a = arguments(k, inputs);
    const BatchKernels& kernels = has_gradient_ ? kBackward : kForward;
    const DType type = k.in[0].dtype;
    const auto launch = [&](const TypedKernel& kernel, const Share& share) {
      gpu.launch(k.op, kernel, type,
                 {.blocks = share.across, .threads = kBatchThreads, .blocks_y = share.chunks}, a);
    };
    launch(kernels.sums, share_of(kernels.sum_blocks));
    gpu.launch(
        k.op, kernels.factors, Types(type, k.out[1].dtype),
        {.blocks = static_cast<std::uint32_t>((columns_ + kJoinedColumns - 1) / kJoinedColumns),
         .threads = kBatchThreads},
        a);
    launch(kernels.apply, share_of(kernels.apply_blocks));
  }

 private:
  Share share_of(std::int64_t blocks) const {
    const std::int64_t width = static_cast<std::int64_t>(lanes_) * pack_;
    const std::int64_t across = (columns_ + width - 1) / width;
    const std::int64_t at_once = kBatchThreads / lanes_;  // rows of a block
    const auto chunks_of = [&](std::int64_t rows_of_thread) {
      return std::max<std::int64_t>(
          (rows_ + rows_of_thread * at_once - 1) / (rows_of_thread * at_once), 1);
    };
    const std::int64_t wanted = blocks / std::max<std::int64_t>(across, 1);
    const std::int64_t chunks = std::clamp(wanted, chunks_of(kMostRows), chunks_of(kLeastRows));
    return {.across = static_cast<std::uint32_t>(across),
            .chunks = static_cast<std::uint32_t>(std::min(chunks, kMostChunks))};
  }

  BatchNormArguments arguments(const Kernel& k, DenseInputs& inputs) const {
    const std::size_t at = has_gradient_ ? 1 : 0;
    BatchNormArguments a{};
    const Share sums = share_of((has_gradient_ ? kBackward : kForward).sum_blocks);
    const auto columns = static_cast<std::size_t>(columns_);
    a.chunks = sums.chunks;
    a.partials =
        reinterpret_cast<double*>(inputs.take(sums.chunks * columns * sizeof(double) *
                                              (has_gradient_ ? kBatchGradientSums : kBatchSums)));
    a.factors = inputs.take(columns * compute_size_ *
                            (has_gradient_ ? kBatchGradientFactors : kBatchFactors));
    a.x = inputs.read(k.in[at]).data;
    if (has_gradient_) a.dy = inputs.read(k.in[0]).data;
    a.weight = inputs.read(k.in[at + 1]).data;
    if (!has_gradient_) a.bias = inputs.read(k.in[2]).data;
    if (!k.out.empty()) {
      a.out = k.out[0].data;
      a.first = k.out[1].data;
      a.second = k.out[2].data;
    }
    a.rows = rows_;
    a.columns = columns_;
    a.epsilon = k.attributes.number(ops::BatchNormAttributes::epsilon);
    a.lanes = lanes_;
    a.packed = pack_ > 1 ? 1 : 0;
    const auto misplaced = [](const void* data) {
      return reinterpret_cast<std::uintptr_t>(data) % 16;
    };
    a.aligned = misplaced(a.x) + misplaced(a.dy) + misplaced(a.out) == 0 ? 1 : 0;
    return a;
  }

  bool has_gradient_;
  std::int64_t columns_ = 0;
  std::int64_t rows_ = 0;
  std::int64_t pack_ = 1;
  std::uint32_t lanes_ = 1;
  std::size_t compute_size_ = 0;
};

struct BatchNormSlot {
  static std::size_t workspace(const Kernel& k) { return Batch(k, false).workspace(k); }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    const Batch batch(k, false);
    if (gpu != nullptr && !batch.is_empty()) batch.run(*gpu, k);
  }
};

struct BatchNormGradientSlot {
  static std::size_t workspace(const Kernel& k) { return Batch(k, true).workspace(k); }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    const Batch batch(k, true);
    if (gpu == nullptr || batch.columns() == 0) return;
    if (!batch.is_empty()) return batch.run(*gpu, k);
    for (const std::size_t o : {1u, 2u}) {  // sums of nothing
      gpu->set_bytes(k.op, k.out[o].data, 0,
                     static_cast<std::size_t>(k.out[o].count()) * size_of(k.out[o].dtype));
    }
  }
};

}  // namespace

Family batch_norm_family() {
  return {{row<BatchNormSlot>("batch_norm"), row<BatchNormGradientSlot>("batch_norm_gradient")},
          {&kForward.sums, &kForward.factors, &kForward.apply, &kBackward.sums, &kBackward.factors,
           &kBackward.apply}};
}

}  // namespace tenure::kernels::cuda
