#include <bit>
#include <limits>

#include "tenure/base/units.h"
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

TypedKernel entropy(const char* file, const char* function, unsigned threads, unsigned blocks = 1) {
  return {file,
          function,
          "CrossEntropyArguments",
          threads,
          {DType::float16, DType::bfloat16, DType::float32, DType::float64},
          blocks};
}
constexpr const char* kHeldRows = "tenure/kernels/cuda/loss/cross_entropy.cu";
constexpr const char* kLongRows = "tenure/kernels/cuda/loss/long_entropy.cu";
const RowKernels kCrossEntropy(entropy(kHeldRows, "cross_entropy", kGroupThreads));
const RowKernels kCrossEntropyGradient(entropy(kHeldRows, "cross_entropy_gradient", kGroupThreads));
const TypedKernel kKeptEntropy = entropy(kLongRows, "kept_cross_entropy", kLongRowThreads, 2);
const TypedKernel kKeptEntropyGradient =
    entropy(kLongRows, "kept_cross_entropy_gradient", kLongRowThreads, 2);
const TypedKernel kPackedEntropy = entropy(kLongRows, "packed_cross_entropy", kLongRowThreads);
const TypedKernel kPackedEntropyGradient =
    entropy(kLongRows, "packed_cross_entropy_gradient", kLongRowThreads, 2);
const TypedKernel kScatteredEntropy =
    entropy(kLongRows, "scattered_cross_entropy", kLongRowThreads);
const TypedKernel kScatteredEntropyGradient =
    entropy(kLongRows, "scattered_cross_entropy_gradient", kLongRowThreads);
const TypedKernel kCountClasses{"tenure/kernels/cuda/loss/classes.cu",
                                "count_classes",
                                "CountClassesArguments",
                                kGroupThreads,
                                {Types()}};

/// So many rows of few classes do not keep a GPU busy unless each class has a thread.
constexpr std::int64_t kFewRows = 1 << 14;
constexpr std::int64_t kFewClasses = 32;
/// Parts of a sum: of blocks that have held rows, which go on with others, and of long ones.
constexpr std::int64_t kMostHeldParts = 1024;
constexpr std::int64_t kMostLongParts = 8192;
/// Rows that each block of a gradient counts for itself, and those of a part of the count.
constexpr std::int64_t kFewTargets = 2048;
constexpr std::int64_t kCountedRows = 1024;

std::int64_t row_count(const Kernel& k) {
  const std::int64_t classes = k.in[0].shape.back();
  return classes == 0 ? 0 : k.in[0].count() / classes;
}
std::int64_t count_parts(std::int64_t rows) {
  return std::min((rows + kCountedRows - 1) / kCountedRows, kMostCountParts);
}
/// Whether rows are counted for the mean.
bool counts(const Kernel& k) {
  return ops::reduction_of(k.attributes) == Reduction::mean && !is_floating(k.in[1].dtype);
}

/// A call of cross_entropy or of its gradient, without what sums them.
class Entropy {
 public:
  /// Throws as check_classes.
  Entropy(Gpu& gpu, const Kernel& k, const View* gradient) {
    const View& logits = k.in[0];
    const View& targets = k.in[1];
    a.classes = logits.shape.back();
    a.rows = row_count(k);
    a.logits = matrix_view(logits, 1);
    a.ignore_index = k.attributes.integer(ops::CrossEntropyAttributes::ignore_index);
    a.label_smoothing = k.attributes.number(ops::CrossEntropyAttributes::label_smoothing);
    if (is_floating(targets.dtype)) {
      a.probabilities = matrix_view(targets, 1);
    } else {
      check_classes(gpu, k, targets, a.classes, a.ignore_index);
      a.targets = classes_view(targets);
    }
    if (gradient != nullptr) a.gradient = matrix_view(*gradient, 1);
    const RowShape shape({&a.logits, &a.probabilities, &a.gradient}, {}, a.classes,
                         size_of(logits.dtype));
    a.form = shape.form;
    a.groups = shape.groups;
    // A loss of rows that one block has is not shared out, which would take longer.
    const bool is_shared =
        gradient != nullptr || a.rows > static_cast<std::int64_t>(kGroupThreads / a.groups.lanes);
    if (a.form == kSinglesRows && a.classes <= kFewClasses && a.rows <= kFewRows && is_shared) {
      a.form = kSingleRows;
      a.groups.lanes = std::bit_ceil(static_cast<std::uint32_t>(a.classes));
    }
    // Of no rows no block leaves a part of the sum.
    is_long = a.form == kLoopedRows && a.targets.view.data != nullptr && a.rows > 0 &&
              a.classes <= std::numeric_limits<std::int32_t>::max();
    const bool is_apart = has_strips(a.logits, size_of(logits.dtype)) &&
                          has_strips(a.gradient, size_of(logits.dtype));
    is_packed =
        is_long && (is_apart || (follow_each_other(a.logits) && follow_each_other(a.gradient)));
    a.row_step = is_apart ? 0 : a.classes;
    if (is_packed && gpu.facts().architecture >= 80)
      kept = kept_bytes(a.classes, size_of(logits.dtype));
    const double scale = ops::scale_of(ops::reduction_of(k.attributes), a.rows);
    a.sum = {.out = k.out[0].data,
             .parts = nullptr,
             .reduces = reduces(k) ? 1 : 0,
             .counts = counts(k) ? 1 : 0,
             .scale = scale};
  }

  CrossEntropyArguments a{};
  bool is_long = false;    ///< rows are those of long_entropy.cu
  bool is_packed = false;  ///< and are read in strips
  std::size_t kept = 0;    ///< shared memory that they go by; 0: they do not

 private:
  /// For the strips of a row, if there is room.
  static std::size_t kept_bytes(std::int64_t classes, std::size_t element) {
    constexpr std::size_t kMost = 99 * KiB - 768;  // of a block, from sm_80 on; the rest is taken
    const std::size_t bytes = static_cast<std::size_t>(classes) * element / 16 * 16;
    return bytes <= kMost ? bytes : 0;
  }
  /// Whether rows lie behind each other without gaps, the first on 16 bytes.
  bool follow_each_other(const MatrixView& rows) const {
    return is_aligned(rows.data) && is_side_by_side(rows.columns) &&
           (rows.rows.rank == 0 || (rows.rows.rank == 1 && rows.rows.strides[0] == a.classes));
  }
};

/// Elements of a matrix whose rows cannot be read in strips as those of the other one are.
std::int64_t moved_for(const View& logits, const View& other) {
  const auto is_apart = [&](const View& view) {
    const std::int64_t strip = strip_size(size_of(view.dtype));
    bool is = view.strides.back() == 1;
    for (int d = 0; d < view.shape.size() - 1; ++d) {
      is &= view.shape[d] == 1 || view.strides[d] % strip == 0;
    }
    return is;
  };
  const bool is_in_strips =
      (is_apart(logits) && is_apart(other)) || (logits.contiguous() && other.contiguous());
  return is_in_strips ? 0 : static_cast<std::int64_t>(size_of(logits.dtype)) * logits.count();
}

struct CrossEntropySlot {
  static std::optional<std::int64_t> moved(const Kernel& k) {
    if (!k.out[0].contiguous()) return std::nullopt;
    return moved_for(k.in[0], k.in[0]);
  }
  static std::size_t workspace(const Kernel& k) {
    return reduces(k)
               ? static_cast<std::size_t>(std::min(row_count(k), kMostLongParts)) * sizeof(LossPart)
               : 0;
  }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    auto [a, is_long, is_packed, kept] = Entropy(*gpu, k, nullptr);
    const std::int64_t of_block = is_long ? 1 : kGroupThreads / a.groups.lanes;
    std::int64_t blocks = std::max<std::int64_t>((a.rows + of_block - 1) / of_block, 1);
    if (a.sum.reduces != 0) {
      blocks = std::min(blocks, is_long ? kMostLongParts : kMostHeldParts);
      if (blocks > 1) a.sum.parts = reinterpret_cast<LossPart*>(k.workspace.data());
    }
    a.all_groups = blocks * of_block;
    const TypedKernel& kernel = !is_long    ? kCrossEntropy.of(a.form)
                                : kept > 0  ? kKeptEntropy
                                : is_packed ? kPackedEntropy
                                            : kScatteredEntropy;
    gpu->launch(k.op, kernel, k.in[0].dtype,
                {.blocks = static_cast<std::uint32_t>(blocks),
                 .threads = is_long ? kLongRowThreads : kGroupThreads,
                 .shared_bytes = static_cast<std::uint32_t>(kept)},
                a);
  }
};

struct CrossEntropyGradientSlot {
  static std::optional<std::int64_t> moved(const Kernel& k) { return moved_for(k.in[0], k.out[0]); }
  static std::size_t workspace(const Kernel& k) {
    return counts(k) ? static_cast<std::size_t>(count_parts(row_count(k))) * sizeof(double) : 0;
  }
  static void run(const Kernel& k) {
    Gpu* const gpu = gpu_of(k);
    if (gpu == nullptr || k.out[0].count() == 0) return;
    auto [a, is_long, is_packed, kept] = Entropy(*gpu, k, &k.out[0]);
    a.dy = flat_view(k.in[2]);
    a.dy_dtype = static_cast<std::int32_t>(k.in[2].dtype);
    if (a.sum.counts != 0 && (is_long || a.rows > kFewTargets)) {
      a.count_parts = count_parts(a.rows);
      a.counts = reinterpret_cast<const double*>(k.workspace.data());
      gpu->launch(k.op, kCountClasses, Types(),
                  {.blocks = static_cast<std::uint32_t>(a.count_parts), .threads = kGroupThreads},
                  CountClassesArguments{.targets = a.targets,
                                        .rows = a.rows,
                                        .chunk = (a.rows + a.count_parts - 1) / a.count_parts,
                                        .ignore_index = a.ignore_index,
                                        .counts = reinterpret_cast<double*>(k.workspace.data())});
    }
    if (is_long) {
      const TypedKernel& kernel = kept > 0    ? kKeptEntropyGradient
                                  : is_packed ? kPackedEntropyGradient
                                              : kScatteredEntropyGradient;
      gpu->launch(k.op, kernel, k.in[0].dtype,
                  {.blocks = static_cast<std::uint32_t>(a.rows),
                   .threads = kLongRowThreads,
                   .shared_bytes = static_cast<std::uint32_t>(kept)},
                  a);
    } else {
      gpu->launch(k.op, kCrossEntropyGradient.of(a.form), k.in[0].dtype,
                  {.blocks = blocks_for(a.rows, a.groups), .threads = kGroupThreads}, a);
    }
  }
};

}  // namespace

Family entropy_family() {
  Family family{{row<CrossEntropySlot>("cross_entropy"),
                 row<CrossEntropyGradientSlot>("cross_entropy_gradient")},
                {&kKeptEntropy, &kKeptEntropyGradient, &kPackedEntropy, &kPackedEntropyGradient,
                 &kScatteredEntropy, &kScatteredEntropyGradient, &kCountClasses}};
  kCrossEntropy.add_to(family.kernels);
  kCrossEntropyGradient.add_to(family.kernels);
  return family;
}

}  // namespace tenure::kernels::cuda
