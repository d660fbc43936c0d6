#include "tenure/kernels/cpu/loss/classes.h"

#include <fmt/format.h>

#include "tenure/base/error.h"
#include "tenure/kernels/parallel.h"
#include "tenure/tensor/strided.h"

namespace tenure::kernels {
namespace {

constexpr std::int64_t kRowsOfAThread = 1 << 13;

/// The first `rank` dimensions of a view.
reduce::Walk walk_of(const View& view, int rank) {
  reduce::Walk walk;
  for (int i = 0; i < rank; ++i) walk.push({view.shape[i], view.strides[i]});
  return walk;
}

/// Elements of the size of T; what they mean does not matter.
template <class T>
void pick(std::int64_t ignore_index, const View& x, const Classes& classes, const View& out) {
  const int last = x.shape.size() - 1;
  const reduce::Walk rows = walk_of(x, last);
  parallel_for(out.count(), kRowsOfAThread, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t row = begin; row < end; ++row) {
      const std::int64_t index = classes[row];
      out.as<T>()[row] = index == ignore_index
                             ? T{0}
                             : x.as<const T>()[rows.offset(row) + index * x.strides[last]];
    }
  });
}

}  // namespace

Classes::Classes(const View& targets)
    : targets_(targets), walk_(walk_of(targets, targets.shape.size())) {}

std::int64_t Classes::checked(const char* op, std::int64_t classes,
                              std::int64_t ignore_index) const {
  std::int64_t valid = 0;
  for_each_offset(targets_.shape, targets_.strides, [&](std::int64_t offset) {
    const std::int64_t index = at(offset);
    if (index == ignore_index) return;
    if (index < 0 || index >= classes) {
      throw IndexError(op, fmt::format("there is no class {} among {}", index, classes), index,
                       classes);
    }
    ++valid;
  });
  return valid;
}

void class_values(const char* op, std::int64_t ignore_index, const View& x, const View& targets,
                  const View& out) {
  const Classes classes(targets);
  classes.checked(op, x.shape.back(), ignore_index);
  switch (size_of(x.dtype)) {
    case 2:
      return pick<std::uint16_t>(ignore_index, x, classes, out);
    case 4:
      return pick<std::uint32_t>(ignore_index, x, classes, out);
    default:
      return pick<std::uint64_t>(ignore_index, x, classes, out);
  }
}

}  // namespace tenure::kernels
