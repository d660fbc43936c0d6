#include "tenure/kernels/cpu/index/create.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "tenure/kernels/cpu/index/blocks.h"
#include "tenure/kernels/cpu/index/loop.h"
#include "tenure/kernels/parallel.h"

namespace tenure::kernels {
namespace {

using namespace index;

/// `value` as an element. Integers are cut towards zero, saturate at 64 bits and wrap around below.
template <class T>
T from_double(double value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<T>) {
    if (!(value > -0x1p63)) return static_cast<T>(value == value ? INT64_MIN : 0);
    if (value >= 0x1p63) return static_cast<T>(INT64_MAX);
    return static_cast<T>(static_cast<std::int64_t>(value));
  } else if constexpr (NarrowFloat<T>) {
    return round_to<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

template <class T>
T from_int(std::int64_t value) {
  if constexpr (NarrowFloat<T>) {
    return round_to<T>(value);
  } else {
    return static_cast<T>(value);
  }
}

/// out[i] = f(TypeTag<T>{}, i)
template <class F>
void fill_by_place(const View& out, const F& f) {
  visit_dtype(out.dtype, [&]<class T>(TypeTag<T> tag) {
    T* data = out.as<T>();
    parallel_for(out.count(), kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) data[i] = f(tag, i);
    });
  });
}

}  // namespace

void eye(const View& out, std::int64_t diagonal) {
  const std::int64_t total = out.count();
  if (total == 0) return;
  const int rank = out.shape.size();
  const std::int64_t rows = out.shape[rank - 2];
  const std::int64_t columns = out.shape[rank - 1];
  const std::int64_t k = std::clamp(diagonal, -rows, columns);
  std::memset(out.data, 0, static_cast<std::size_t>(total) * size_of(out.dtype));
  visit_dtype(out.dtype, [&]<class T>(TypeTag<T>) {
    const T one = from_int<T>(1);
    for (T* matrix = out.as<T>(); matrix != out.as<T>() + total; matrix += rows * columns) {
      const std::int64_t first = std::max<std::int64_t>(-k, 0);
      const std::int64_t last = std::min(rows, columns - k);
      for (std::int64_t i = first; i < last; ++i) matrix[i * columns + i + k] = one;
    }
  });
}

void one_hot(const View& indices, const View& out, const void* on, const void* off) {
  const std::int64_t depth = out.shape.back();
  check_indices("one_hot", indices, depth);
  if (out.count() == 0) return;
  const auto positions =
      make_loop(indices.shape, Strides::filled(indices.shape.size(), 0), indices.strides);
  visit_size(size_of(out.dtype), [&]<class T>(TypeTag<T>) {
    T on_element;
    T off_element;
    std::memcpy(&on_element, on, sizeof(T));
    std::memcpy(&off_element, off, sizeof(T));
    const std::int64_t grain = std::max<std::int64_t>(kGrain / depth, 1);
    parallel_for(indices.count(), grain, [&](std::int64_t begin, std::int64_t end) {
      std::int64_t at[kBatch];
      for (; begin < end; begin += kBatch) {
        const std::int64_t n = std::min(kBatch, end - begin);
        std::fill_n(at, n, 0);
        add_index_offsets(positions, indices, depth, 1, begin, n, at);
        T* rows = out.as<T>() + begin * depth;
        std::fill_n(rows, n * depth, off_element);
        for (std::int64_t i = 0; i < n; ++i) rows[i * depth + at[i]] = on_element;
      }
    });
  });
}

void arange(const View& out, double start, double step) {
  fill_by_place(out, [=]<class T>(TypeTag<T>, std::int64_t i) {
    return from_double<T>(start + static_cast<double>(i) * step);
  });
}

void arange(const View& out, std::int64_t start, std::int64_t step) {
  const auto first = static_cast<std::uint64_t>(start);
  const auto factor = static_cast<std::uint64_t>(step);
  fill_by_place(out, [=]<class T>(TypeTag<T>, std::int64_t i) {
    return from_int<T>(static_cast<std::int64_t>(first + static_cast<std::uint64_t>(i) * factor));
  });
}

void linspace(const View& out, const ops::Spacing& spacing) {
  const std::int64_t n = out.count();
  fill_by_place(out, [&spacing, n]<class T>(TypeTag<T>, std::int64_t place) {
    const double value = spacing.at(place, n);
    return from_double<T>(std::is_integral_v<T> ? std::floor(value) : value);
  });
}

void logspace(const View& out, double start, double stop, double base, bool endpoint) {
  const std::int64_t n = out.count();
  const auto steps = static_cast<long double>(std::max<std::int64_t>(endpoint ? n - 1 : n, 1));
  const long double width = static_cast<long double>(stop) - start;
  fill_by_place(out, [&]<class T>(TypeTag<T>, std::int64_t place) {
    const long double power = start + width * static_cast<long double>(place) / steps;
    return from_double<T>(static_cast<double>(std::pow(static_cast<long double>(base), power)));
  });
}

}  // namespace tenure::kernels
