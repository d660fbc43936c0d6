#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "tenure/kernels/parallel.h"
#include "tenure/kernels/view.h"

// Views of random layout over memory of their own, and slow but plain access to their elements.
namespace tenure::kernels::test {

using Coordinates = std::vector<std::int64_t>;

/// A view with its memory. Elements between those of the view hold a pattern, to see stray writes.
struct Owned : View {
  std::shared_ptr<std::vector<std::byte>> memory;

  std::vector<std::byte> bytes() const { return *memory; }
};

inline std::int64_t offset_of(const View& view, const Coordinates& at) {
  std::int64_t offset = 0;
  for (int i = 0; i < view.shape.size(); ++i) {
    offset += at[static_cast<std::size_t>(i)] * view.strides[i];
  }
  return offset;
}

inline double get(const View& view, const Coordinates& at) {
  return visit_dtype(view.dtype, [&]<class T>(TypeTag<T>) {
    return static_cast<double>(view.as<const T>()[offset_of(view, at)]);
  });
}

inline void set(const View& view, const Coordinates& at, double value) {
  visit_dtype(view.dtype, [&]<class T>(TypeTag<T>) {
    if constexpr (sizeof(T) == 2 && !std::is_integral_v<T>) {
      view.as<T>()[offset_of(view, at)] = T(static_cast<float>(value));
    } else {
      view.as<T>()[offset_of(view, at)] = static_cast<T>(value);
    }
  });
}

/// Calls `f(coordinates)` for all positions of `shape` in row-major order.
template <class F>
void for_each(const Shape& shape, F f) {
  Coordinates at(static_cast<std::size_t>(shape.size()), 0);
  for (std::int64_t n = count(shape); n > 0; --n) {
    f(std::as_const(at));
    for (int i = shape.size() - 1; i >= 0; --i) {
      auto& a = at[static_cast<std::size_t>(i)];
      if (++a < shape[i]) break;
      a = 0;
    }
  }
}

inline std::vector<double> values_of(const View& view) {
  std::vector<double> values;
  for_each(view.shape, [&](const Coordinates& at) { values.push_back(get(view, at)); });
  return values;
}

inline Owned make_dense(DType dtype, const Shape& shape) {
  Owned result;
  const auto n = static_cast<std::size_t>(count(shape)) * size_of(dtype);
  result.memory = std::make_shared<std::vector<std::byte>>(n);
  result.dtype = dtype;
  result.shape = shape;
  result.strides = contiguous_strides(shape);
  result.data = result.memory->data();
  return result;
}

/// Makes views at random, and what else tests draw.
class RandomViews {
 public:
  explicit RandomViews(unsigned seed) : engine_(seed) {}

  std::int64_t integer(std::int64_t low, std::int64_t high) {  // [low, high]
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  bool chance(double p) { return std::bernoulli_distribution(p)(engine_); }
  DType dtype() { return static_cast<DType>(integer(0, kDTypes - 1)); }
  DType index_dtype() { return chance(0.5) ? int32 : int64; }

  Shape shape(int min_rank, int max_rank, std::int64_t max_dim, bool may_be_empty = true) {
    Shape result;
    const auto rank = integer(min_rank, max_rank);
    for (std::int64_t i = 0; i < rank; ++i) {
      result.push_back(may_be_empty && chance(0.03) ? 0 : integer(1, max_dim));
    }
    return result;
  }

  /// Permuted, reversed and spaced-out strides; repeated elements if `broadcast`.
  Owned layout(DType dtype, const Shape& shape, bool broadcast = true) {
    Owned result;
    result.dtype = dtype;
    result.shape = shape;
    result.strides = Strides::filled(shape.size(), 0);
    std::vector<int> order(static_cast<std::size_t>(shape.size()));
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
    const bool plain = chance(0.3);
    if (!plain) std::shuffle(order.begin(), order.end(), engine_);
    std::reverse(order.begin(), order.end());
    std::int64_t step = plain ? 1 : integer(1, 2);
    std::int64_t first = 0;
    for (int i : order) {
      if (!plain && broadcast && chance(0.1)) continue;
      const bool reversed = !plain && chance(0.2);
      result.strides[i] = reversed ? -step : step;
      if (reversed && shape[i] > 0) first += step * (shape[i] - 1);
      step *= std::max<std::int64_t>(shape[i], 1);
      if (!plain && chance(0.2)) step += 1;
    }
    const auto bytes = static_cast<std::size_t>(step + 1) * size_of(dtype);
    const auto pattern = static_cast<std::byte>(dtype == boolean ? 1 : 0x5a);
    result.memory = std::make_shared<std::vector<std::byte>>(bytes, pattern);
    result.data = result.memory->data() + static_cast<std::size_t>(first) * size_of(dtype);
    return result;
  }

  /// A layout with integers in [low, high], within the type's range.
  Owned view(DType dtype, const Shape& shape, std::int64_t low = -8, std::int64_t high = 8,
             bool broadcast = true) {
    Owned result = layout(dtype, shape, broadcast);
    if (dtype == uint8) low = std::max<std::int64_t>(low, 0);
    for_each(shape, [&](const Coordinates& at) {
      set(result, at, dtype == boolean ? chance(0.5) : static_cast<double>(integer(low, high)));
    });
    return result;
  }

 private:
  std::mt19937 engine_;
};

/// Runs `f` with one and then two threads, and expects equal values.
template <class F>
void expect_same_on_threads(F f) {
  const int before = num_threads();
  set_num_threads(1);
  const auto serial = f();
  set_num_threads(2);
  const auto parallel = f();
  set_num_threads(before);
  EXPECT_EQ(serial, parallel);
}

}  // namespace tenure::kernels::test
