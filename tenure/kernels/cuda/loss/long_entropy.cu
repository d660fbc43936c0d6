#pragma once

#include "tenure/kernels/cuda/device/exponential.cuh"
#include "tenure/kernels/cuda/device/mma.cuh"
#include "tenure/kernels/cuda/loss/classes.cuh"

// Cross entropy of rows that are longer than what registers hold: logits of a vocabulary, of which
// there may be more bytes than of anything else. A block has a row. All of it is on its way to
// shared memory at once, where that has room for it. Else the gradient reads it twice, the second
// time from the cache, as few rows are worked on at a time.

namespace tenure::kernels::cuda {

/// How rows are read.
enum class Reading {
  scattered,  ///< element by element
  packed,     ///< in strips
  kept,       ///< in strips, by way of shared memory; from sm_80 on
};

/// How the threads of a block have a row: in strips of 16 bytes, as they lie if all rows of a
/// tensor follow each other or all begin with one, and what is outside of strips one by one. Who
/// has what depends on the number of the row, on sizes and on which of the two it is.
template <class T>
struct LongRow {
  static constexpr int kSize = strip_size(sizeof(T));
  /// Strips that a thread asks for before it waits for one of them.
  static constexpr unsigned kAtOnce = 4;

  unsigned head;  ///< elements before the first strip
  unsigned strips;
  unsigned singles;  ///< elements that are in none

  LongRow(const CrossEntropyArguments& a, std::int64_t row) {
    const auto length = static_cast<unsigned>(a.classes);
    const auto past = static_cast<unsigned>(row * a.row_step % kSize);
    head = past == 0 ? 0 : kSize - past;
    strips = (length - head) / kSize;
    singles = length - strips * kSize;
  }
  /// Has this thread's strips be on their way, if they are kept.
  template <Reading how>
  void fetch(const Row<T>& row) const {
    if constexpr (how == Reading::kept) {
      for (unsigned s = threadIdx.x; s < strips; s += kLongRowThreads) {
        begin_copy(room() + s, row.data + head + s * kSize);
      }
      end_copies();
    }
  }
  /// Waits for them.
  template <Reading how>
  void wait() const {
    if constexpr (how == Reading::kept) wait_for_copies<0>();
  }
  /// Calls `f(x, i)` for each strip of this thread's that begins with element i.
  template <Reading how, class F>
  void each_strip(const Row<T>& row, F f) const {
    if constexpr (how == Reading::kept) {
#pragma unroll 4
      for (unsigned s = threadIdx.x; s < strips; s += kLongRowThreads) {
        const Strip<T, kSize> x = room()[s];
        f(x, head + s * kSize);
      }
      return;
    }
    constexpr bool kPacked = how == Reading::packed;
    for (unsigned s = threadIdx.x; s < strips; s += kAtOnce * kLongRowThreads) {
      Strip<T, kSize> x[kAtOnce];
#pragma unroll
      for (unsigned k = 0; k < kAtOnce; ++k) {
        const unsigned at = s + k * kLongRowThreads;
        if (at < strips) x[k] = row.template read<Strips<kSize, 1, kPacked>>(head + at * kSize);
      }
#pragma unroll
      for (unsigned k = 0; k < kAtOnce; ++k) {
        const unsigned at = s + k * kLongRowThreads;
        if (at < strips) f(x[k], head + at * kSize);
      }
    }
  }
  /// Calls `f(x, i)` for this thread's element i outside of strips, if it has one.
  template <class F>
  void single(const Row<T>& row, F f) const {
    if (threadIdx.x >= singles) return;
    const unsigned i = threadIdx.x < head ? threadIdx.x : threadIdx.x + strips * kSize;
    const Strip<T, 1> x{row.at(i)};
    f(x, i);
  }

 private:
  static Strip<T, kSize>* room() {
    using Kept = Strip<T, kSize>;
    TENURE_SHARED(Kept, kept);
    return kept;
  }
};

/// What threads of a block of kLongRowThreads have, joined. Each gets it.
template <class V, class Join>
inline V joined_in_block(V own, Join join) {
  constexpr unsigned kWarps = kLongRowThreads / 32;
  __shared__ V room[kWarps];
  for (unsigned by = 1; by < 32; by *= 2) own = join(own, swapped(own, by));
  __syncthreads();  // the room may be in use from the last time
  if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = own;
  __syncthreads();
  V all = room[threadIdx.x % kWarps];
  for (unsigned by = 1; by < kWarps; by *= 2) all = join(all, swapped(all, by));
  return all;
}

/// The sum of exp(x - shift) of what a thread has seen, and of x if that is asked for.
template <class C>
struct LongTotal {
  double sum;
  double logits;
  C shift;

  template <class T, int n>
  void add(const Strip<T, n>& x, bool with_logits) {
    C largest = static_cast<C>(x.of[0]);
#pragma unroll
    for (int e = 1; e < n; ++e) largest = max(largest, static_cast<C>(x.of[e]));
    if (largest > shift) {
      sum *= static_cast<double>(quick_exp(shift - largest));
      shift = largest;
    }
    // Where all is -infinity, powers are 0.
    const PowersFrom<C> powers(shift == -std::numeric_limits<C>::infinity() ? C(0) : shift);
    C part = 0;
#pragma unroll
    for (int e = 0; e < n; ++e) part += powers.of(static_cast<C>(x.of[e]));
    sum += static_cast<double>(part * powers.factor());
    if (!with_logits) return;
#pragma unroll
    for (int e = 0; e < n; ++e) logits += static_cast<double>(static_cast<C>(x.of[e]));
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
template <Reading how, class T>
inline LongTotal<Compute<T>> long_total(const Row<T>& row, const LongRow<T>& shape,
                                        bool with_logits) {
  using Total = LongTotal<Compute<T>>;
  Total own{0, 0, -std::numeric_limits<Compute<T>>::infinity()};
  const auto add = [&](const auto& strip, unsigned) { own.add(strip, with_logits); };
  shape.template each_strip<how>(row, add);
  shape.single(row, add);
  return joined_in_block(own, [](const Total& a, const Total& b) { return Total::join(a, b); });
}

template <Reading how, class T>
inline void long_cross_entropy_in(const CrossEntropyArguments& a) {
  LossPart own{0, 0};
  for (std::int64_t row = blockIdx.x; row < a.rows; row += gridDim.x) {
    const Row<T> logits(a.logits, row);
    const LongRow<T> shape(a, row);
    shape.template fetch<how>(logits);
    const std::int64_t target = class_at(a.targets, row);
    shape.template wait<how>();
    double loss = 0;
    if (target != a.ignore_index) {
      const auto total = long_total<how>(logits, shape, a.label_smoothing != 0);
      const bool is_class = target >= 0 && target < a.classes;
      const double picked = is_class ? static_cast<double>(logits[target]) : 0;
      loss =
          entropy_of(a, 1, static_cast<double>(total.shift), total.value(), {picked, total.logits});
      own.rows += 1;
    }
    own.loss += loss;
    if (a.sum.reduces == 0 && threadIdx.x == 0) {
      static_cast<Compute<T>*>(a.sum.out)[row] = convert<Compute<T>>(loss);
    }
  }
  if (a.sum.reduces == 0) return;
  if (threadIdx.x != 0) own = {0, 0};
  add_up<Compute<T>, kLongRowThreads>(a.sum, own, [](const LossPart& part) {
    return joined_in_block(Pair<double>{part.loss, part.rows},
                           [](const Pair<double>& x, const Pair<double>& y) {
                             return Pair<double>{x.first + y.first, x.second + y.second};
                           });
  });
}

template <class T>
inline void kept_cross_entropy(const CrossEntropyArguments& a) {
  long_cross_entropy_in<Reading::kept, T>(a);
}
template <class T>
inline void packed_cross_entropy(const CrossEntropyArguments& a) {
  long_cross_entropy_in<Reading::packed, T>(a);
}
template <class T>
inline void scattered_cross_entropy(const CrossEntropyArguments& a) {
  long_cross_entropy_in<Reading::scattered, T>(a);
}

template <Reading how, class T>
inline void long_cross_entropy_gradient_in(const CrossEntropyArguments& a) {
  using C = Compute<T>;
  const auto length = static_cast<unsigned>(a.classes);
  const std::int64_t row = blockIdx.x;
  const Row<T> logits(a.logits, row);
  const Row<T> out(a.gradient, row);
  const LongRow<T> shape(a, row);
  shape.template fetch<how>(logits);
  const std::int64_t target = class_at(a.targets, row);
  if (target == a.ignore_index) {
    shape.template wait<how>();
    for (unsigned i = threadIdx.x; i < length; i += kLongRowThreads) out.set(i, 0);
    return;
  }
  double counted = 0;
  if (a.sum.counts != 0) {
    const double part = threadIdx.x < a.count_parts ? a.counts[threadIdx.x] : 0;
    counted = joined_in_block(part, [](double p, double q) { return p + q; });
  }
  shape.template wait<how>();
  const auto total = long_total<how>(logits, shape, false);
  EntropyFactors<C> by(a, row, counted, 1, total.value());
  const PowersFrom<C> powers(total.shift);
  by.factor *= powers.factor();
  const auto write = [&]<int n>(const Strip<T, n>& x, unsigned i) {
    Strip<T, n> made;
#pragma unroll
    for (int e = 0; e < n; ++e) {
      made.of[e] = convert<T>(by.of(powers.of(static_cast<C>(x.of[e]))));
    }
    const std::int64_t at = target - i;
    if (at >= 0 && at < n) {
      const C power = powers.of(static_cast<C>(logits[target]));
#pragma unroll
      for (int e = 0; e < n; ++e) {
        if (e == at) made.of[e] = convert<T>(by.of(power) - by.weight);
      }
    }
    out.template write<Strips<n, 1, how != Reading::scattered && (n > 1)>>(i, made);
  };
  shape.template each_strip<how>(logits, write);
  shape.single(logits, write);
}

template <class T>
inline void kept_cross_entropy_gradient(const CrossEntropyArguments& a) {
  long_cross_entropy_gradient_in<Reading::kept, T>(a);
}
template <class T>
inline void packed_cross_entropy_gradient(const CrossEntropyArguments& a) {
  long_cross_entropy_gradient_in<Reading::packed, T>(a);
}
template <class T>
inline void scattered_cross_entropy_gradient(const CrossEntropyArguments& a) {
  long_cross_entropy_gradient_in<Reading::scattered, T>(a);
}

}  // namespace tenure::kernels::cuda
