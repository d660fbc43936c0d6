#include "tenure/kernels/cuda/reduce/matrix.h"

#include <algorithm>
#include <bit>

namespace tenure::kernels::cuda {
namespace {

/// Elements that are read in strips, of which there are whole ones.
bool is_packed(const void* data, const Walk& columns) {
  return is_aligned(data) && is_side_by_side(columns);
}

/// Rows that are so short lie side by side themselves.
constexpr std::int64_t kFewColumns = 32;

/// As they are called in RowForm.
constexpr const char* kFormNames[] = {"kLoopedRows", "kSingleRows", "kSinglesRows",   "kStripRows",
                                      "kPackedRows", "kRaggedRows", "kScatteredRows", "kWarp1Rows",
                                      "kWarp2Rows",  "kWarp3Rows",  "kWarp4Rows",     "kWarp5Rows",
                                      "kWarp6Rows",  "kWarp7Rows",  "kWarp8Rows"};
static_assert(std::size(kFormNames) == kRowForms);

/// Of rows whose lanes have so many strips each, whole ones.
RowForm packed_form(std::int64_t strips, const Groups& groups) {
  return groups.lanes == kWarpLanes ? static_cast<RowForm>(kScatteredRows + strips) : kPackedRows;
}

/// As many lanes as leave each `of_lane` of `n` things, but at least so many if they have
/// something.
std::uint32_t lanes_for(std::int64_t n, std::int64_t of_lane, std::int64_t least) {
  const std::int64_t lanes = std::max((n + of_lane - 1) / of_lane, std::min(n, least));
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(
      std::bit_ceil(static_cast<std::uint64_t>(std::max<std::int64_t>(lanes, 1))), kGroupThreads));
}

}  // namespace

bool has_strips(const MatrixView& matrix, std::size_t element) {
  if (!is_packed(matrix.data, matrix.columns)) return false;
  const std::int64_t* const strides = matrix.rows.strides;
  return std::all_of(strides, strides + matrix.rows.rank,
                     [&](std::int64_t stride) { return stride % strip_size(element) == 0; });
}

RowShape::RowShape(std::initializer_list<const MatrixView*> matrices,
                   std::initializer_list<const FlatView*> numbers, std::int64_t columns,
                   std::size_t element)
    : groups{.lanes = kGroupThreads, .columns = 0} {
  const std::int64_t strips = columns / strip_size(element);
  if (columns % strip_size(element) == 0 && strips <= kGroupThreads * held_strips(element)) {
    groups.lanes = lanes_for(strips, held_strips(element), 32);
    const bool are_packed =
        std::all_of(matrices.begin(), matrices.end(),
                    [&](const MatrixView* one) { return has_strips(*one, element); }) &&
        std::all_of(numbers.begin(), numbers.end(),
                    [](const FlatView* one) { return is_packed(one->data, one->walk); });
    form = !are_packed                  ? kScatteredRows
           : strips == 0                ? kStripRows
           : strips % groups.lanes == 0 ? packed_form(strips / groups.lanes, groups)
           : strips < groups.lanes      ? kStripRows
                                        : kRaggedRows;
  } else if (columns <= kGroupThreads * kHeldElements) {
    groups.lanes = lanes_for(columns, kHeldElements, columns <= kFewColumns ? 1 : 32);
    form = columns <= groups.lanes ? kSingleRows : kSinglesRows;
  }
}

RowKernels::RowKernels(const TypedKernel& kernel) {
  kernels_.fill(kernel);
  for (std::size_t i = 0; i < kernels_.size(); ++i) kernels_[i].first = {kFormNames[i]};
}

void RowKernels::add_to(std::vector<const TypedKernel*>& list) const {
  for (const TypedKernel& kernel : kernels_) list.push_back(&kernel);
}

}  // namespace tenure::kernels::cuda
