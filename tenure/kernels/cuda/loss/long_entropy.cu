#pragma once

#include "tenure/kernels/cuda/device/exponential.cuh"
#include "tenure/kernels/cuda/loss/classes.cuh"

// Cross entropy of rows that are longer than what registers hold: logits of a vocabulary, of which
// there may be more bytes than of anything else. A block has a row, and each of its threads every so
// many elements, as rows may begin anywhere. The gradient reads a row twice, the second time from
// the cache, as few rows are worked on at a time.

namespace tenure::kernels::cuda {

/// Elements that a thread asks for before it waits for one of them.
inline constexpr unsigned kAtOnce = 16;

/// Calls `f(x, i)` for elements x[0], x[1], ... of this thread's, which follow element i of the row
/// kLongRowThreads apart. What is past the end is -infinity.
template <class T, class F>
inline void visit_row(const Row<T>& row, unsigned length, F f) {
  using C = Compute<T>;
  const bool is_near = row.columns.rank == 1;
  const std::int64_t step = row.columns.strides[0] * kLongRowThreads;
  for (unsigned i = threadIdx.x; i < length; i += kAtOnce * kLongRowThreads) {
    C x[kAtOnce];
    const auto fill = [&](auto element) {
#pragma unroll
      for (unsigned k = 0; k < kAtOnce; ++k) {
        x[k] = -std::numeric_limits<C>::infinity();
        if (i + k * kLongRowThreads < length) x[k] = static_cast<C>(element(k));
      }
    };
    if (is_near) {
      const T* const first = &row.at(i);
      fill([&](unsigned k) { return first[k * step]; });
    } else {
      fill([&](unsigned k) { return row.at(i + k * kLongRowThreads); });
    }
    f(x, i);
  }
}

/// What threads of a block of kLongRowThreads have, joined. Each gets it.
template <class V, class Join>
inline V joined_in_block(V own, Join join) {
  __shared__ V room[kLongRowThreads / 32];
  for (unsigned by = 1; by < 32; by *= 2) own = join(own, swapped(own, by));
  __syncthreads();  // the room may be in use from the last time
  if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = own;
  __syncthreads();
  V all = room[0];
  for (unsigned i = 1; i < kLongRowThreads / 32; ++i) all = join(all, room[i]);
  return all;
}

/// The sum of exp(x - shift) of what a thread has seen, and of x if that is asked for.
template <class C>
struct LongTotal {
  double sum;
  double logits;
  C shift;

  /// Of elements from number i on, as visit_row has them.
  void add(const C (&x)[kAtOnce], unsigned i, unsigned length, bool with_logits) {
    C largest = x[0];
#pragma unroll
    for (unsigned k = 1; k < kAtOnce; ++k) largest = max(largest, x[k]);
    if (largest > shift) {
      sum *= static_cast<double>(quick_exp(shift - largest));
      shift = largest;
    }
    // Where all is -infinity, powers are 0.
    const C from = shift == -std::numeric_limits<C>::infinity() ? C(0) : shift;
    C powers = 0;
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) powers += quick_exp(x[k] - from);
    sum += static_cast<double>(powers);
    if (!with_logits) return;
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      if (i + k * kLongRowThreads < length) logits += static_cast<double>(x[k]);
    }
  }
  static LongTotal join(const LongTotal& a, const LongTotal& b) {
    const C shift = max(a.shift, b.shift);
    return {a.scaled(shift) + b.scaled(shift), a.logits + b.logits, shift};
  }
  /// Of a row of which nothing is a number, or something infinite, nothing is known.
  double value() const { return shift - shift == 0 ? sum : static_cast<double>(shift - shift); }

 private:
  double scaled(C to) const {
    return shift == to ? sum : sum * static_cast<double>(quick_exp(shift - to));
  }
};

/// Of a row. All threads of a block take part.
template <class T>
inline LongTotal<Compute<T>> long_total(const Row<T>& row, unsigned length, bool with_logits) {
  using C = Compute<T>;
  using Total = LongTotal<C>;
  Total own{0, 0, -std::numeric_limits<C>::infinity()};
  visit_row(row, length, [&](const C(&x)[kAtOnce], unsigned i) {
    own.add(x, i, length, with_logits);
  });
  return joined_in_block(own, [](const Total& a, const Total& b) { return Total::join(a, b); });
}

template <class T>
inline void long_cross_entropy(const CrossEntropyArguments& a) {
  const auto length = static_cast<unsigned>(a.classes);
  LossPart own{0, 0};
  for (std::int64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
    const std::int64_t target = class_at(a.targets, row);
    double loss = 0;
    if (target != a.ignore_index) {
      const Row<T> logits(a.logits, row);
      const auto total = long_total(logits, length, a.label_smoothing != 0);
      const bool is_class = target >= 0 && target < a.classes;
      const double picked = is_class ? static_cast<double>(logits[target]) : 0;
      loss = entropy_of(a, 1, static_cast<double>(total.shift), total.value(),
                        {picked, total.logits});
      own.rows += 1;
    }
    own.loss += loss;
    if (a.sum.reduces == 0 && threadIdx.x == 0) {
      static_cast<Compute<T>*>(a.sum.out)[row] = convert<Compute<T>>(loss);
    }
  }
  if (a.sum.reduces != 0 && threadIdx.x == 0) a.sum.parts[blockIdx.x] = own;
}

template <class T>
inline void long_cross_entropy_gradient(const CrossEntropyArguments& a) {
  using C = Compute<T>;
  const auto length = static_cast<unsigned>(a.classes);
  const std::int64_t row = blockIdx.x;
  const std::int64_t target = class_at(a.targets, row);
  const Row<T> logits(a.logits, row);
  T* const out = static_cast<T*>(a.gradient.data) + row * a.classes;
  if (target == a.ignore_index) {
    for (unsigned i = threadIdx.x; i < length; i += kLongRowThreads) out[i] = convert<T>(C(0));
    return;
  }
  double counted = 0;
  if (a.sum.counts != 0) {
    const double part = threadIdx.x < a.count_parts ? a.counts[threadIdx.x] : 0;
    counted = joined_in_block(part, [](double p, double q) { return p + q; });
  }
  const auto total = long_total(logits, length, false);
  const EntropyFactors<C> by(a, row, counted, 1, total.value());
  visit_row(logits, length, [&](const C(&x)[kAtOnce], unsigned first) {
#pragma unroll
    for (unsigned k = 0; k < kAtOnce; ++k) {
      const unsigned i = first + k * kLongRowThreads;
      if (i >= length) continue;
      const C value = by.of(quick_exp(x[k] - total.shift));
      out[i] = convert<T>(i == target ? value - by.weight : value);
    }
  });
}

}  // namespace tenure::kernels::cuda
