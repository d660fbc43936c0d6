#include "tenure/kernels/cpu/index/arrange.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "tenure/kernels/cpu/index/blocks.h"
#include "tenure/kernels/cpu/index/loop.h"
#include "tenure/kernels/parallel.h"

namespace tenure::kernels {
namespace {

using namespace index;

constexpr std::int64_t kFill = -1;

std::int64_t floor_mod(std::int64_t i, std::int64_t n) {
  const std::int64_t m = i % n;
  return m < 0 ? m + n : m;
}

/// The element of an axis of size n that stands at place i of its extension, or kFill.
std::int64_t source(PadMode mode, std::int64_t i, std::int64_t n) {
  if (i >= 0 && i < n) return i;
  switch (mode) {
    case PadMode::constant:
      return kFill;
    case PadMode::edge:
      return i < 0 ? 0 : n - 1;
    case PadMode::reflect:
      if (n == 1) return 0;
      i = floor_mod(i, 2 * (n - 1));
      return std::min(i, 2 * (n - 1) - i);
    case PadMode::symmetric:
      i = floor_mod(i, 2 * n);
      return std::min(i, 2 * n - 1 - i);
    case PadMode::wrap:
      return floor_mod(i, n);
  }
  return kFill;
}

void fill_elements(std::size_t size, std::byte* out, std::int64_t n, const void* value) {
  visit_size(size, [&]<class T>(TypeTag<T>) {
    T element;
    std::memcpy(&element, value, sizeof(T));
    std::fill_n(reinterpret_cast<T*>(out), n, element);
  });
}

/// Copies along the last axis that pad changes; the axes inside it move as one block.
class PadRow {
 public:
  PadRow(const View& in, const View& out, int axis, std::int64_t low, PadMode mode,
         const void* fill)
      : size_(size_of(in.dtype)),
        from_(in.shape[axis]),
        to_(out.shape[axis]),
        stride_(in.strides[axis]),
        low_(low),
        mode_(mode),
        fill_(fill),
        block_(make_loop(in.shape, axis + 1, in.shape.size(), contiguous_strides(in.shape),
                         in.strides)),
        block_count_(block_.count()) {}

  std::int64_t count() const { return to_ * block_count_; }
  std::size_t bytes(std::int64_t elements) const {
    return static_cast<std::size_t>(elements) * size_;
  }

  void fill(std::byte* out) const { fill_elements(size_, out, count(), fill_); }

  void copy(std::byte* out, const std::byte* in) const {
    for (std::int64_t at = 0; at < to_;) {
      const auto [first, step, length] = run(at);
      std::byte* to = out + bytes(at * block_count_);
      if (first == kFill) {
        fill_elements(size_, to, length * block_count_, fill_);
      } else {
        Loop<2> loop;
        loop.push(length, {block_count_, step * stride_});
        loop.push(block_);
        const std::int64_t offset = first * stride_ * static_cast<std::int64_t>(size_);
        copy_elements(size_, loop, to, in + offset, 0, length * block_count_);
      }
      at += length;
    }
  }

 private:
  struct Run {
    std::int64_t first;
    std::int64_t step;
    std::int64_t length;
  };

  bool inside(std::int64_t at) const { return at >= low_ && at - low_ < from_; }
  std::int64_t source_of(std::int64_t at) const { return source(mode_, at - low_, from_); }

  /// The longest run of evenly spaced elements that begins at place `at` of the output.
  Run run(std::int64_t at) const {
    const std::int64_t first = source_of(at);
    if (inside(at)) return {first, 1, std::min(from_ - first, to_ - at)};
    std::int64_t length = 1;
    std::int64_t step = 0;
    if (at + 1 < to_ && !inside(at + 1)) step = source_of(at + 1) - first;
    while (at + length < to_ && !inside(at + length) &&
           source_of(at + length) == first + length * step) {
      ++length;
    }
    return {first, step, length};
  }

  std::size_t size_;
  std::int64_t from_;
  std::int64_t to_;
  std::int64_t stride_;
  std::int64_t low_;
  PadMode mode_;
  const void* fill_;
  Loop<2> block_;
  std::int64_t block_count_;
};

void copy_parallel(const View& in, const View& out, const Loop<2>& loop) {
  parallel_for(loop.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    copy_elements(size_of(in.dtype), loop, out.data, in.data, begin, end);
  });
}

/// Repeats along the last axis, where the rows of a copy would be too short.
void repeat_elements(const View& in, std::int64_t times, const View& out) {
  const auto loop = make_loop(in.shape, in.strides);
  const std::int64_t grain = std::max<std::int64_t>(kGrain / std::max<std::int64_t>(times, 1), 1);
  visit_size(size_of(in.dtype), [&]<class T>(TypeTag<T>) {
    parallel_for(loop.count(), grain, [&](std::int64_t begin, std::int64_t end) {
      T* to = out.as<T>() + begin * times;
      loop.each(begin, end, [&](const auto& at) {
        const T element = in.as<const T>()[at[0]];
        for (std::int64_t i = 0; i < times; ++i) *to++ = element;
      });
    });
  });
}

/// `k`, or the nearest diagonal outside the matrix: any integer is allowed.
std::int64_t clamp_diagonal(const View& in, std::int64_t k) {
  const int rank = in.shape.size();
  return std::clamp(k, -in.shape[rank - 2], in.shape[rank - 1]);
}

/// Copies the columns [from(row), to(row)) of every row of a stack of matrices, zeros elsewhere.
template <class F>
void copy_columns(const View& in, const View& out, const F& kept) {
  if (out.count() == 0) return;
  const int rank = in.shape.size();
  const std::int64_t rows = in.shape[rank - 2];
  const std::int64_t columns = in.shape[rank - 1];
  const bool in_place = in.data == out.data;
  internal_check(!in_place || in.contiguous(), "a triangle in place is contiguous");
  const auto loop = make_loop(in.shape, 0, rank - 1, in.strides);
  Loop<2> row;
  row.push(columns, {1, in.strides[rank - 1]});
  const std::size_t size = size_of(in.dtype);
  const std::int64_t grain = std::max<std::int64_t>(kGrain / columns, 1);
  parallel_for(loop.count(), grain, [&](std::int64_t begin, std::int64_t end) {
    std::byte* to = out.as<std::byte>() + static_cast<std::size_t>(begin * columns) * size;
    std::int64_t r = begin;
    loop.each(begin, end, [&](const auto& at) {
      const auto [first, last] = kept(r++ % rows, columns);
      if (!in_place) {
        copy_elements(size, row, to,
                      in.as<const std::byte>() + at[0] * static_cast<std::int64_t>(size), first,
                      last);
      }
      std::memset(to, 0, static_cast<std::size_t>(first) * size);
      std::memset(to + static_cast<std::size_t>(last) * size, 0,
                  static_cast<std::size_t>(columns - last) * size);
      to += static_cast<std::size_t>(columns) * size;
    });
  });
}

}  // namespace

void pad(const View& input, const View& output, const Dims& low_pads, PadMode mode,
         const void* fill) {
  const View in = at_least_1d(input);
  const View out = at_least_1d(output);
  const Dims low = low_pads.empty() ? Dims{0} : low_pads;
  if (out.count() == 0) return;
  int axis = 0;  // the last one that changes
  for (int i = 0; i < in.shape.size(); ++i) {
    if (mode != PadMode::constant && in.shape[i] == 0) {
      throw ValueError(
          fmt::format("pad: axis {} is empty, so it can only be extended by a constant", i));
    }
    if (low[i] != 0 || in.shape[i] != out.shape[i]) axis = i;
  }

  const PadRow row(in, out, axis, low[axis], mode, fill);
  const std::int64_t rows = out.count() / row.count();
  const std::int64_t grain = std::max<std::int64_t>(kGrain / row.count(), 1);
  parallel_for(rows, grain, [&](std::int64_t begin, std::int64_t end) {
    for (; begin < end; ++begin) {
      std::int64_t rest = begin;
      std::int64_t offset = 0;
      bool filled = false;
      for (int i = axis - 1; i >= 0; --i) {
        const std::int64_t at = source(mode, rest % out.shape[i] - low[i], in.shape[i]);
        rest /= out.shape[i];
        filled |= at == kFill;
        offset += at * in.strides[i];
      }
      std::byte* to = out.as<std::byte>() + row.bytes(begin * row.count());
      if (filled) {
        row.fill(to);
      } else {
        row.copy(to,
                 in.as<const std::byte>() + offset * static_cast<std::int64_t>(size_of(in.dtype)));
      }
    }
  });
}

void roll(const View& in, const View& out, const Dims& shifts) {
  if (out.count() == 0) return;
  Dims low = shifts;
  for (int i = 0; i < in.shape.size(); ++i) low[i] = floor_mod(shifts[i], in.shape[i]);
  pad(in, out, low, PadMode::wrap, nullptr);
}

void repeat(const View& input, int axis, std::int64_t times, const View& out) {
  const View in = at_least_1d(input);
  const Strides to = contiguous_strides(at_least_1d(out).shape);
  if (axis == in.shape.size() - 1) return repeat_elements(in, times, out);
  Loop<2> loop;
  for (int i = 0; i < in.shape.size(); ++i) {
    loop.push(in.shape[i], {i == axis ? to[i] * times : to[i], in.strides[i]});
    if (i == axis) loop.push(times, {to[i], 0});
  }
  copy_parallel(in, out, loop);
}

void tile(const View& in, const Dims& times, const View& out) {
  const Strides to = contiguous_strides(out.shape);
  Loop<2> loop;
  for (int i = 0; i < in.shape.size(); ++i) {
    loop.push(times[i], {to[i] * in.shape[i], 0});
    loop.push(in.shape[i], {to[i], in.strides[i]});
  }
  copy_parallel(in, out, loop);
}

void tril(const View& in, const View& out, std::int64_t diagonal) {
  const std::int64_t k = clamp_diagonal(in, diagonal);
  copy_columns(in, out, [k](std::int64_t row, std::int64_t columns) {
    return std::pair{std::int64_t{0}, std::clamp<std::int64_t>(row + k + 1, 0, columns)};
  });
}

void triu(const View& in, const View& out, std::int64_t diagonal) {
  const std::int64_t k = clamp_diagonal(in, diagonal);
  copy_columns(in, out, [k](std::int64_t row, std::int64_t columns) {
    return std::pair{std::clamp<std::int64_t>(row + k, 0, columns), columns};
  });
}

}  // namespace tenure::kernels
