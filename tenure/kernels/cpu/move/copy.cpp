#include "tenure/kernels/cpu/move/copy.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "tenure/kernels/cpu/elementwise/stream.h"
#include "tenure/kernels/cpu/move/transpose.h"
#include "tenure/kernels/parallel.h"

namespace tenure::kernels {
namespace {

constexpr std::int64_t kGrainBytes = 256 * 1024;

/// Dimensions of a copy, outermost first, merged where both layouts allow. The last one is the one
/// along which `out` is contiguous, if any, the one before it that of `in`, if it is another.
struct CopyPlan {
  Shape shape;
  Strides in;
  Strides out;
};

CopyPlan make_plan(const View& in, const View& out) {
  CopyPlan plan;
  for (int i = 0; i < in.shape.size(); ++i) {
    if (in.shape[i] == 1) continue;
    const int last = plan.shape.size() - 1;
    if (last >= 0 && plan.in[last] == in.strides[i] * in.shape[i] &&
        plan.out[last] == out.strides[i] * in.shape[i]) {
      plan.shape[last] *= in.shape[i];
      plan.in[last] = in.strides[i];
      plan.out[last] = out.strides[i];
    } else {
      plan.shape.push_back(in.shape[i]);
      plan.in.push_back(in.strides[i]);
      plan.out.push_back(out.strides[i]);
    }
  }
  if (plan.shape.empty()) {
    plan.shape.push_back(1);
    plan.in.push_back(1);
    plan.out.push_back(1);
  }
  const int rank = plan.shape.size();
  for (int axis = 0; axis + 2 < rank; ++axis) {
    if (plan.in[axis] != 1) continue;
    std::swap(plan.shape[axis], plan.shape[rank - 2]);
    std::swap(plan.in[axis], plan.in[rank - 2]);
    std::swap(plan.out[axis], plan.out[rank - 2]);
    break;
  }
  return plan;
}

template <class Unit>
void copy_row(const Unit* in, std::int64_t in_stride, Unit* out, std::int64_t out_stride,
              std::int64_t n) {
  if (in_stride == 1 && out_stride == 1) {
    std::memcpy(out, in, static_cast<std::size_t>(n) * sizeof(Unit));
  } else if (in_stride == 0 && out_stride == 1) {
    std::fill_n(out, n, *in);
  } else {
    for (std::int64_t i = 0; i < n; ++i) out[i * out_stride] = in[i * in_stride];
  }
}

/// Calls `f(in_offset, out_offset)` for every index of the first `axes` dimensions in [begin, end).
template <class F>
void for_each_outer(const CopyPlan& plan, int axes, std::int64_t begin, std::int64_t end,
                    const F& f) {
  for (std::int64_t flat = begin; flat < end; ++flat) {
    std::int64_t rest = flat;
    std::int64_t in = 0;
    std::int64_t out = 0;
    for (int axis = axes - 1; axis >= 0; --axis) {
      const std::int64_t i = rest % plan.shape[axis];
      rest /= plan.shape[axis];
      in += i * plan.in[axis];
      out += i * plan.out[axis];
    }
    f(in, out);
  }
}

template <class Unit>
void copy_units(const View& from, const View& to) {
  const CopyPlan plan = make_plan(from, to);
  const auto* const in = from.as<const Unit>();
  auto* const out = to.as<Unit>();
  const int inner = plan.shape.size() - 1;
  const std::int64_t columns = plan.shape[inner];
  const std::int64_t grain = kGrainBytes / static_cast<std::int64_t>(sizeof(Unit));

  if (inner == 0) {  // one run
    const bool plain = plan.in[0] == 1 && plan.out[0] == 1;
    const bool stream = plain && static_cast<std::size_t>(columns) * sizeof(Unit) >= kStreamFrom;
    parallel_for(columns, grain, [&](std::int64_t begin, std::int64_t end) {
      if (stream) {
        stream_copy(in + begin, out + begin, static_cast<std::size_t>(end - begin) * sizeof(Unit));
        stream_fence();
      } else {
        copy_row(in + begin * plan.in[0], plan.in[0], out + begin * plan.out[0], plan.out[0],
                 end - begin);
      }
    });
    return;
  }

  const std::int64_t rows = plan.shape[inner - 1];
  std::int64_t outer = 1;
  for (int axis = 0; axis < inner - 1; ++axis) outer *= plan.shape[axis];
  if (plan.in[inner - 1] == 1 && plan.out[inner] == 1 && rows >= 8) {
    const std::int64_t bytes = outer * rows * columns * static_cast<std::int64_t>(sizeof(Unit));
    const Transposition transposition{.element_size = sizeof(Unit),
                                      .rows = rows,
                                      .columns = columns,
                                      .in_column = plan.in[inner],
                                      .out_row = plan.out[inner - 1],
                                      .stream = static_cast<std::size_t>(bytes) >= kStreamFrom};
    const std::int64_t height = transposed_rows(sizeof(Unit));
    const std::int64_t bands = (rows + height - 1) / height;
    parallel_for(outer * bands, std::max<std::int64_t>(1, grain / (height * columns)),
                 [&](std::int64_t begin, std::int64_t end) {
                   while (begin < end) {  // the bands of one matrix at a time
                     const std::int64_t matrix = begin / bands;
                     const std::int64_t stop = std::min(end, (matrix + 1) * bands);
                     for_each_outer(
                         plan, inner - 1, matrix, matrix + 1, [&](std::int64_t i, std::int64_t o) {
                           copy_transposed(transposition, in + i, out + o,
                                           (begin - matrix * bands) * height,
                                           std::min(rows, (stop - matrix * bands) * height));
                         });
                     begin = stop;
                   }
                 });
    return;
  }
  parallel_for(outer * rows, std::max<std::int64_t>(1, grain / columns),
               [&](std::int64_t begin, std::int64_t end) {
                 for_each_outer(plan, inner, begin, end, [&](std::int64_t i, std::int64_t o) {
                   copy_row(in + i, plan.in[inner], out + o, plan.out[inner], columns);
                 });
               });
}

template <class Unit>
void fill_units(const View& out, const void* value) {
  Unit unit;
  std::memcpy(&unit, value, sizeof unit);
  auto* const data = out.as<Unit>();
  parallel_for(
      out.count(), kGrainBytes / static_cast<std::int64_t>(sizeof(Unit)),
      [&](std::int64_t begin, std::int64_t end) { std::fill(data + begin, data + end, unit); });
}

}  // namespace

void copy(const View& in, const View& out) {
  if (in.count() == 0) return;
  switch (size_of(in.dtype)) {
    case 1:
      return copy_units<std::uint8_t>(in, out);
    case 2:
      return copy_units<std::uint16_t>(in, out);
    case 4:
      return copy_units<std::uint32_t>(in, out);
    default:
      return copy_units<std::uint64_t>(in, out);
  }
}

void fill(const View& out, const void* value) {
  switch (size_of(out.dtype)) {
    case 1:
      return fill_units<std::uint8_t>(out, value);
    case 2:
      return fill_units<std::uint16_t>(out, value);
    case 4:
      return fill_units<std::uint32_t>(out, value);
    default:
      return fill_units<std::uint64_t>(out, value);
  }
}

}  // namespace tenure::kernels
