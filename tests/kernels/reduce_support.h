#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tenure/kernels/cpu/reduce/reduce.h"
#include "tenure/kernels/parallel.h"

// Slow, obviously correct counterparts for the tests of reductions, scans and softmax.

namespace tenure::kernels::reduce_testing {

inline constexpr DType kAllTypes[] = {boolean, uint8,   int8,     int16,   int32,
                                      int64,   float16, bfloat16, float32, float64};
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kInf = std::numeric_limits<double>::infinity();
inline constexpr DType kFloats[] = {float16, bfloat16, float32, float64};

inline long double epsilon(DType dtype) {
  switch (dtype) {
    case DType::float16:
      return 0x1p-10L;
    case DType::bfloat16:
      return 0x1p-7L;
    case DType::float32:
      return 0x1p-23L;
    case DType::float64:
      return 0x1p-52L;
    default:
      return 0;
  }
}

/// A tensor that owns its elements.
struct Array {
  std::vector<std::byte> bytes;
  View view;

  Array(DType dtype, const Shape& shape) : Array(dtype, shape, contiguous_strides(shape), 0, 0) {
    const auto size = static_cast<std::size_t>(count(shape)) * size_of(dtype);
    bytes.assign(std::max<std::size_t>(size, 1), std::byte{0});
    view.data = bytes.data();
  }
  Array(DType dtype, const Shape& shape, const Strides& strides, std::int64_t elements,
        std::int64_t origin)
      : bytes(static_cast<std::size_t>(elements) * size_of(dtype)) {
    view = {dtype, shape, strides,
            bytes.data() + origin * static_cast<std::int64_t>(size_of(dtype))};
  }
  Array(const Array&) = delete;
  Array(Array&&) = default;

  std::int64_t elements() const {
    return static_cast<std::int64_t>(bytes.size() / size_of(view.dtype));
  }
};

inline long double read(const void* data, DType dtype, std::int64_t at) {
  return visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    return static_cast<long double>(static_cast<const T*>(data)[at]);
  });
}

inline void write(void* data, DType dtype, std::int64_t at, double value) {
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      static_cast<T*>(data)[at] = T(static_cast<float>(value));
    } else {
      static_cast<T*>(data)[at] = static_cast<T>(value);
    }
  });
}

/// Where the element with row-major number `index` lies.
inline std::int64_t place(const View& view, std::int64_t index) {
  std::int64_t offset = 0;
  for (int i = view.shape.size() - 1; i >= 0; --i) {
    offset += index % view.shape[i] * view.strides[i];
    index /= view.shape[i];
  }
  return offset;
}

inline long double element(const View& view, std::int64_t index) {
  return read(view.data, view.dtype, place(view, index));
}

enum class LayoutKind { contiguous, strided, broadcast };

/// Random elements: floats around `center`, integers of few bits. Strided: permuted, with gaps and
/// backwards; broadcast: some strides are zero as well.
inline Array random_array(DType dtype, const Shape& shape, LayoutKind layout, std::mt19937& rng,
                          double center = 0) {
  std::vector<int> order(static_cast<std::size_t>(shape.size()));
  for (int i = 0; i < shape.size(); ++i) order[static_cast<std::size_t>(i)] = i;
  if (layout != LayoutKind::contiguous) std::shuffle(order.begin(), order.end(), rng);
  Strides strides = shape;
  std::int64_t step = 1;
  std::int64_t origin = 0;
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    const std::int64_t n = std::max<std::int64_t>(shape[*at], 1);
    const bool strided = layout != LayoutKind::contiguous;
    if (layout == LayoutKind::broadcast && rng() % 3 == 0) {
      strides[*at] = 0;
      continue;
    }
    if (strided && rng() % 3 == 0) step *= 2;
    const bool backwards = strided && rng() % 3 == 0;
    strides[*at] = backwards ? -step : step;
    if (backwards) origin += (n - 1) * step;
    step *= n;
  }
  Array array(dtype, shape, strides, step, origin);
  std::normal_distribution<double> normal(center, 1);
  for (std::int64_t i = 0; i < step; ++i) {
    double value = normal(rng);
    if (dtype == DType::boolean || dtype == DType::uint8) value = rng() % 4 == 0 ? 0 : 1;
    if (dtype == DType::uint8) value *= rng() % 200;
    if (dtype >= DType::int8 && dtype <= DType::int64) {
      value = static_cast<double>(rng() % 200) - 100;
    }
    write(array.bytes.data(), dtype, i, value);
  }
  return array;
}

inline bool contains(const Axes& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

inline Shape kept_shape(const Shape& shape, const Axes& axes) {
  Shape kept;
  for (int i = 0; i < shape.size(); ++i) {
    if (!contains(axes, i)) kept.push_back(shape[i]);
  }
  return kept;
}

/// For each output, the row-major numbers of the elements that make it, in order.
inline std::vector<std::vector<std::int64_t>> terms_of(const Shape& shape, const Axes& axes) {
  std::vector<std::vector<std::int64_t>> terms(
      static_cast<std::size_t>(count(kept_shape(shape, axes))));
  for (std::int64_t index = 0; index < count(shape); ++index) {
    std::int64_t rest = index;
    std::int64_t output = 0;
    std::int64_t scale = 1;
    for (int i = shape.size() - 1; i >= 0; --i) {
      if (!contains(axes, i)) {
        output += rest % shape[i] * scale;
        scale *= shape[i];
      }
      rest /= shape[i];
    }
    terms[static_cast<std::size_t>(output)].push_back(index);
  }
  return terms;
}

struct Case {
  Shape shape;
  Axes axes;
};

/// Every set of axes of small shapes, and shapes that reach each way of walking an input.
inline std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Shape& shape : {Shape{}, Shape{1}, Shape{7}, Shape{130}, Shape{3, 5}, Shape{2, 3, 4},
                             Shape{3, 1, 2, 5}, Shape{2, 1, 2, 1, 2, 1, 2, 3}}) {
    const int subsets = shape.size() > 4 ? 9 : 1 << shape.size();
    for (int subset = 0; subset < subsets; ++subset) {
      Axes axes;
      for (int i = 0; i < shape.size(); ++i) {
        const int bits = shape.size() > 4 ? subset * 29 : subset;
        if (bits >> i & 1) axes.push_back(i);
      }
      all.push_back({shape, axes});
    }
  }
  all.insert(all.end(), {{{1000}, {0}},
                         {{33, 70}, {0}},
                         {{33, 70}, {1}},
                         {{700, 3}, {0}},
                         {{3, 700}, {0}},
                         {{1300, 9}, {1}},
                         {{9, 1300}, {0}},
                         {{5, 40, 49}, {0, 2}},
                         {{40, 5, 3}, {0, 1}},
                         {{8, 200, 4}, {1}},
                         {{4, 5000}, {1}},
                         {{5000, 2}, {0, 1}}});
  return all;
}

inline std::string describe(const Array& in, const Axes& axes) {
  return std::string(name_of(in.view.dtype)) + to_string(in.view.shape) + " strides " +
         to_string(in.view.strides) + " axes " + to_string(axes);
}

using Values = std::vector<long double>;

/// Calls `check(terms, got)` for each output of a reduction.
inline void check_outputs(const Array& in, const Axes& axes, const Array& out,
                          const std::function<void(const Values&, long double)>& check) {
  SCOPED_TRACE(describe(in, axes));
  const auto terms = terms_of(in.view.shape, axes);
  for (std::size_t i = 0; i < terms.size(); ++i) {
    Values values;
    for (std::int64_t index : terms[i]) values.push_back(element(in.view, index));
    check(values, element(out.view, static_cast<std::int64_t>(i)));
    if (::testing::Test::HasFailure()) return;
  }
}

/// Runs `f` with every case and layout of inputs.
inline void for_each_input(DType dtype, double center,
                           const std::function<void(const Array&, const Axes&)>& f) {
  std::mt19937 rng(17);
  for (const Case& c : cases()) {
    for (LayoutKind layout : {LayoutKind::contiguous, LayoutKind::strided, LayoutKind::broadcast}) {
      f(random_array(dtype, c.shape, layout, rng, center), c.axes);
      if (::testing::Test::HasFailure()) return;
    }
  }
}

/// Equal, or both NaN, or closer than `tolerance`.
inline void expect_close(long double got, long double expected, long double tolerance) {
  if (std::isnan(expected)) {
    EXPECT_TRUE(std::isnan(got)) << static_cast<double>(got);
  } else if (got != expected) {
    EXPECT_LE(std::fabs(got - expected), tolerance)
        << "got " << static_cast<double>(got) << ", expected " << static_cast<double>(expected);
  }
}

/// Checks that `f(out)` gives the same bits on 1, 2 and 3 threads.
inline void expect_same_bits(DType dtype, const Shape& shape,
                             const std::function<void(const View&)>& f) {
  const int before = num_threads();
  std::vector<std::byte> first;
  for (int threads : {1, 2, 3}) {
    set_num_threads(threads);
    Array out(dtype, shape);
    f(out.view);
    if (threads == 1) first = out.bytes;
    EXPECT_TRUE(first == out.bytes) << threads << " threads";
  }
  set_num_threads(before);
}

}  // namespace tenure::kernels::reduce_testing
