#pragma once

#include "tenure/kernels/cuda/device/elements.cuh"
#include "tenure/kernels/cuda/norm/batch_norm_arguments.h"
#include "tenure/kernels/cuda/reduce/groups.cuh"

// Note: batches
//
// A matrix is read once for its sums and once for its results; of gradients, x and dy together. A
// thread has some columns, side by side, and every so many rows. Sums are those of differences from
// the first row, which are small if the deviation is small against the mean, and are joined in
// float64: even a first row that is far from all others costs no more digits than there are rows.
// What is made of an element then takes a few factors for its column.

namespace tenure::kernels::cuda {

/// Rows that are read before the first of them is used: where results are written, few threads
/// that read much are slower than many that read little.
inline constexpr int kSummedRows = 4;
template <bool has_gradient>
inline constexpr int kMadeRows = has_gradient ? 2 : 1;

/// A number of the compiler's.
template <int n>
struct Count {
  static constexpr int value = n;
};

/// The first column that a thread has, of n.
inline std::int64_t column_of(const BatchNormArguments& a, int n) {
  return (blockIdx.x * static_cast<std::int64_t>(a.lanes) + threadIdx.x % a.lanes) * n;
}

/// Calls `f(at, step, Count)` for the rows of a thread whose columns begin at `column`, `most` or
/// one at once: from element `at` on, `step` elements apart. Blocks take turns, so that at any time
/// all of them are in one stretch of memory.
template <int most, class F>
inline void for_rows(const BatchNormArguments& a, std::int64_t column, const F& f) {
  if (column >= a.columns) return;
  const std::int64_t apart = kBatchThreads / a.lanes;
  const std::int64_t step = apart * a.columns;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * most * apart; first < a.rows;
       first += static_cast<std::int64_t>(gridDim.y) * most * apart) {
    std::int64_t row = first + threadIdx.x / a.lanes;
    std::int64_t at = row * a.columns + column;
    if (row + (most - 1) * apart < a.rows) {
      f(at, step, Count<most>());
    } else {
      for (; row < a.rows; row += apart, at += step) f(at, step, Count<1>());
    }
  }
}

template <class T, int n, int many>
inline void read_rows(const BatchNormArguments& a, const void* from, std::int64_t at,
                      std::int64_t step, Elements<T, n> (&rows)[many]) {
#pragma unroll
  for (int r = 0; r < many; ++r) {
    const T* const row = static_cast<const T*>(from) + at + r * step;
    if (a.aligned != 0) {
      rows[r] = *reinterpret_cast<const Elements<T, n>*>(row);
    } else {
      for (int j = 0; j < n; ++j) rows[r].of[j] = row[j];
    }
  }
}
template <class T, int n>
inline void write_row(const BatchNormArguments& a, const Elements<T, n>& row, std::int64_t at) {
  T* const to = static_cast<T*>(a.out) + at;
  if (a.aligned != 0) {
    *reinterpret_cast<Elements<T, n>*>(to) = row;
  } else {
    for (int j = 0; j < n; ++j) to[j] = row.of[j];
  }
}

/// What a thread sums up its rows in.
template <class T>
using BatchSum = std::conditional_t<NarrowFloat<T>, float, double>;

/// Adds up what the threads of a block have for each of their columns, in the order of their rows.
template <class Sum, int sums, int n>
inline void leave_sums(const BatchNormArguments& a, const Sum (&own)[sums][n]) {
  __shared__ double room[kBatchThreads * n];
  const unsigned width = a.lanes * n;
  const std::int64_t first = blockIdx.x * static_cast<std::int64_t>(width);
#pragma unroll
  for (int s = 0; s < sums; ++s) {
    __syncthreads();  // the room may be in use from the last time
#pragma unroll
    for (int j = 0; j < n; ++j) {
      room[static_cast<unsigned>(j) * kBatchThreads + threadIdx.x] = static_cast<double>(own[s][j]);
    }
    __syncthreads();
    for (unsigned i = threadIdx.x; i < width; i += kBatchThreads) {
      const std::int64_t column = first + i % a.lanes * n + i / a.lanes;
      if (column >= a.columns) continue;
      double sum = 0;
      for (unsigned from = i % a.lanes; from < kBatchThreads; from += a.lanes) {
        sum += room[i / a.lanes * kBatchThreads + from];
      }
      a.partials[(static_cast<std::int64_t>(blockIdx.y) * sums + s) * a.columns + column] = sum;
    }
  }
}

template <class T, int n, bool has_gradient>
inline void sum_batch(const BatchNormArguments& a) {
  using Sum = BatchSum<T>;
  constexpr int kSums = has_gradient ? kBatchGradientSums : kBatchSums;
  const std::int64_t column = column_of(a, n);
  Sum own[kSums][n] = {};
  Sum origin[n] = {};
  if (column < a.columns) {
    for (int j = 0; j < n; ++j) {
      origin[j] = static_cast<Sum>(static_cast<const T*>(a.x)[column + j]);
    }
  }
  for_rows<kSummedRows>(a, column, [&](std::int64_t at, std::int64_t step, auto count) {
    constexpr int kMany = decltype(count)::value;
    Elements<T, n> xs[kMany];
    [[maybe_unused]] Elements<T, n> dys[kMany];
    read_rows(a, a.x, at, step, xs);
    if constexpr (has_gradient) read_rows(a, a.dy, at, step, dys);
#pragma unroll
    for (int j = 0; j < n; ++j) {
#pragma unroll
      for (int r = 0; r < kMany; ++r) {
        const Sum difference = static_cast<Sum>(xs[r].of[j]) - origin[j];
        own[0][j] += difference;
        own[1][j] = std::fma(difference, difference, own[1][j]);
        if constexpr (has_gradient) {
          const Sum gradient = static_cast<Sum>(dys[r].of[j]);
          own[2][j] += gradient;
          own[3][j] = std::fma(gradient, difference, own[3][j]);
        }
      }
    }
  });
  leave_sums(a, own);
}

template <class T, bool has_gradient>
inline void sum_batch_of(const BatchNormArguments& a) {
  if (a.packed != 0) {
    sum_batch<T, Pack<T>::kSize, has_gradient>(a);
  } else {
    sum_batch<T, 1, has_gradient>(a);
  }
}
template <class T>
inline void batch_norm_sums(const BatchNormArguments& a) {
  sum_batch_of<T, false>(a);
}
template <class T>
inline void batch_norm_gradient_sums(const BatchNormArguments& a) {
  sum_batch_of<T, true>(a);
}

/// The sums of all chunks for a column, which several threads join.
template <int sums>
inline void join_chunks(const BatchNormArguments& a, double (&all)[sums]) {
  __shared__ double room[kBatchThreads];
  constexpr std::int64_t kLanes = kBatchThreads / kJoinedColumns;
  const std::int64_t column =
      blockIdx.x * static_cast<std::int64_t>(kJoinedColumns) + threadIdx.x % kJoinedColumns;
  double own[sums] = {};
  if (column < a.columns) {
#pragma unroll 8
    for (std::int64_t c = threadIdx.x / kJoinedColumns; c < a.chunks; c += kLanes) {
#pragma unroll
      for (int s = 0; s < sums; ++s) own[s] += a.partials[(c * sums + s) * a.columns + column];
    }
  }
#pragma unroll
  for (int s = 0; s < sums; ++s) {
    __syncthreads();
    room[threadIdx.x] = own[s];
    __syncthreads();
    for (unsigned half = kBatchThreads / 2; half >= kJoinedColumns; half /= 2) {
      if (threadIdx.x < half) room[threadIdx.x] += room[threadIdx.x + half];
      __syncthreads();
    }
    all[s] = room[threadIdx.x % kJoinedColumns];
  }
}

/// Mean and variance of a column from its sums.
struct BatchMoments {
  double mean;
  double variance;
  double difference;  ///< of the mean from the first row
  double scale;

  BatchMoments(const BatchNormArguments& a, double first, double sum, double squares)
      : difference(sum / static_cast<double>(a.rows)) {
    mean = first + difference;
    variance = squares / static_cast<double>(a.rows) - difference * difference;
    if (variance < 0) variance = 0;
    scale = 1 / std::sqrt(variance + a.epsilon);
  }
};

/// The factors of a column: those of elements, and what is added. Of floats that are computed in
/// their own type, the mean is apart, in two parts, as it may be large against the deviation.
template <class T, int count>
inline void leave_factors(const BatchNormArguments& a, std::int64_t column, double mean,
                          const double (&given)[count]) {
  using C = Compute<T>;
  C* to = static_cast<C*>(a.factors) + column;
  const double of_x = given[count - 2];
  for (int f = 0; f + 1 < count; ++f, to += a.columns) *to = static_cast<C>(given[f]);
  if constexpr (NarrowFloat<T>) {
    *to = static_cast<C>(given[count - 1] - mean * of_x);
  } else {
    *to = static_cast<C>(given[count - 1]);
    const C upper = static_cast<C>(mean);
    to[a.columns] = upper;
    to[2 * a.columns] = static_cast<C>(mean - static_cast<double>(upper));
  }
}
template <class T, bool has_gradient>
inline constexpr int kFactors = (has_gradient ? kBatchGradientFactors : kBatchFactors) -
                                (NarrowFloat<T> ? 2 : 0);

/// Whether this thread has a column of its own when chunks are joined.
inline bool has_column(const BatchNormArguments& a, std::int64_t& column) {
  column = blockIdx.x * static_cast<std::int64_t>(kJoinedColumns) + threadIdx.x;
  return threadIdx.x < kJoinedColumns && column < a.columns;
}

template <class T, class W>
inline void batch_norm_factors(const BatchNormArguments& a) {
  double sums[kBatchSums];
  join_chunks(a, sums);
  std::int64_t column = 0;
  if (!has_column(a, column)) return;
  const BatchMoments m(a, static_cast<double>(static_cast<const T*>(a.x)[column]), sums[0],
                       sums[1]);
  static_cast<W*>(a.first)[column] = convert<W>(m.mean);
  static_cast<W*>(a.second)[column] = convert<W>(m.variance);
  const double weight = static_cast<double>(static_cast<const W*>(a.weight)[column]);
  const double bias = static_cast<double>(static_cast<const W*>(a.bias)[column]);
  leave_factors<T>(a, column, m.mean, {weight * m.scale, bias});
}

template <class T, class W>
inline void batch_norm_gradient_factors(const BatchNormArguments& a) {
  double sums[kBatchGradientSums];
  join_chunks(a, sums);
  std::int64_t column = 0;
  if (!has_column(a, column)) return;
  const BatchMoments m(a, static_cast<double>(static_cast<const T*>(a.x)[column]), sums[0],
                       sums[1]);
  const double by_bias = sums[2];
  const double by_weight = m.scale * (sums[3] - m.difference * by_bias);
  static_cast<W*>(a.first)[column] = convert<W>(by_weight);
  static_cast<W*>(a.second)[column] = convert<W>(by_bias);
  const double factor = static_cast<double>(static_cast<const W*>(a.weight)[column]) * m.scale;
  const auto rows = static_cast<double>(a.rows);
  leave_factors<T>(a, column, m.mean, {factor, m.scale * by_weight / rows, by_bias / rows});
}

/// The factors of a thread's columns.
template <class C, int count, int n>
inline void read_factors(const BatchNormArguments& a, std::int64_t column, C (&factors)[count][n]) {
  if (column >= a.columns) return;
#pragma unroll
  for (int f = 0; f < count; ++f) {
#pragma unroll
    for (int j = 0; j < n; ++j) {
      factors[f][j] = static_cast<const C*>(a.factors)[f * a.columns + column + j];
    }
  }
}

template <class T, int n, bool has_gradient>
inline void apply_to_batch(const BatchNormArguments& a) {
  using C = Compute<T>;
  constexpr int kCount = kFactors<T, has_gradient>;
  constexpr int kOfX = has_gradient ? 1 : 0;
  const std::int64_t column = column_of(a, n);
  C factors[kCount][n];
  read_factors(a, column, factors);
  for_rows<kMadeRows<has_gradient>>(a, column, [&](std::int64_t at, std::int64_t step, auto count) {
    constexpr int kMany = decltype(count)::value;
    Elements<T, n> xs[kMany];
    [[maybe_unused]] Elements<T, n> dys[kMany];
    read_rows(a, a.x, at, step, xs);
    if constexpr (has_gradient) read_rows(a, a.dy, at, step, dys);
#pragma unroll
    for (int r = 0; r < kMany; ++r) {
      Elements<T, n> results;
#pragma unroll
      for (int j = 0; j < n; ++j) {
        C x = static_cast<C>(xs[r].of[j]);
        if constexpr (!NarrowFloat<T>) x = (x - factors[kCount - 2][j]) - factors[kCount - 1][j];
        C result = std::fma(x, factors[kOfX][j], factors[kOfX + 1][j]);
        if constexpr (has_gradient) {  // that is what all rows have in common
          result = (static_cast<C>(dys[r].of[j]) - result) * factors[0][j];
        }
        results.of[j] = convert<T>(result);
      }
      write_row(a, results, at + r * step);
    }
  });
}

template <class T, bool has_gradient>
inline void apply_to_batch_of(const BatchNormArguments& a) {
  if (a.packed != 0) {
    apply_to_batch<T, Pack<T>::kSize, has_gradient>(a);
  } else {
    apply_to_batch<T, 1, has_gradient>(a);
  }
}
template <class T>
inline void batch_norm(const BatchNormArguments& a) {
  apply_to_batch_of<T, false>(a);
}
template <class T>
inline void batch_norm_gradient(const BatchNormArguments& a) {
  apply_to_batch_of<T, true>(a);
}

}  // namespace tenure::kernels::cuda
