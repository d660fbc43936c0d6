#pragma once

#include "tenure/kernels/cuda/random/normal.cuh"
#include "tenure/kernels/cuda/random/random_arguments.h"
#include "tenure/kernels/cuda/reduce/groups.cuh"

namespace tenure::kernels::cuda {

/// Calls `f(words, i, n)` for the counters that are this thread's: elements [i, i + n) are made of
/// its words, `per_counter` at most.
template <int per_counter, class F>
inline void for_counters(const RandomArguments& a, F f) {
  const std::int64_t counters = (a.n + per_counter - 1) / per_counter;
  for (auto c = static_cast<std::int64_t>(thread_index()); c < counters;
       c += static_cast<std::int64_t>(thread_count())) {
    const std::int64_t first = c * per_counter;
    const std::int64_t left = a.n - first;
    f(philox(a.seed, a.counter + static_cast<std::uint64_t>(c)), first,
      left < per_counter ? static_cast<int>(left) : per_counter);
  }
}

template <class T>
inline void uniform(const RandomArguments& a) {
  using C = Compute<T>;
  constexpr bool kNarrow = sizeof(C) == 4;
  constexpr int kPerCounter = kNarrow ? 4 : 2;
  const C start = static_cast<C>(a.first);
  const C width = static_cast<C>(a.second);
  const C last = static_cast<C>(a.last);
  for_counters<kPerCounter>(a, [&](const RandomWords& words, std::int64_t first, int n) {
#pragma unroll
    for (int k = 0; k < kPerCounter; ++k) {
      if (k >= n) break;
      C unit = 0;
      if constexpr (kNarrow) {
        unit = static_cast<C>(static_cast<std::int32_t>(words.of[k] >> 8)) * C(0x1p-24);
      } else {
        unit = static_cast<C>(static_cast<std::int64_t>(words.wide(k) >> 11)) * C(0x1p-53);
      }
      const C value = start + unit * width;
      static_cast<T*>(a.out)[first + k] = convert<T>(last < value ? last : value);
    }
  });
}

template <class T>
inline void normal(const RandomArguments& a) {
  using C = Compute<T>;
  constexpr bool kNarrow = sizeof(C) == 4;
  constexpr int kPerCounter = kNarrow ? 4 : 2;
  const C mean = static_cast<C>(a.first);
  const C deviation = static_cast<C>(a.second);
  for_counters<kPerCounter>(a, [&](const RandomWords& words, std::int64_t first, int n) {
    C made[kPerCounter];
    for (int pair = 0; pair < kPerCounter / 2; ++pair) {
      NormalPair<C> two;
      if constexpr (kNarrow) {
        two = box_muller<C>(words.of[2 * pair], words.of[2 * pair + 1]);
      } else {
        two = box_muller<C>(words.wide(0), words.wide(1));
      }
      made[2 * pair] = two.cosine * deviation + mean;
      made[2 * pair + 1] = two.sine * deviation + mean;
    }
#pragma unroll
    for (int k = 0; k < kPerCounter; ++k) {
      if (k < n) static_cast<T*>(a.out)[first + k] = convert<T>(made[k]);
    }
  });
}

template <class T>
inline void bernoulli(const RandomArguments& a) {
  for_counters<4>(a, [&](const RandomWords& words, std::int64_t first, int n) {
    for (int k = 0; k < n; ++k) {
      static_cast<T*>(a.out)[first + k] = convert<T>(words.of[k] < a.width ? 1.0f : 0.0f);
    }
  });
}

template <class T>
inline void randint(const RandomArguments& a) {
  for_counters<2>(a, [&](const RandomWords& words, std::int64_t first, int n) {
    for (int k = 0; k < n; ++k) {
      static_cast<T*>(a.out)[first + k] =
          static_cast<T>(a.low + __umul64hi(words.wide(k), a.width));
    }
  });
}

template <class T>
inline void dropout(const DropoutArguments& a) {
  using C = Compute<T>;
  const auto* const key = static_cast<const std::int64_t*>(a.key.data);
  const auto seed = static_cast<std::uint64_t>(key[0]);
  const auto counter = static_cast<std::uint64_t>(key[offset_in(a.key.walk, 1)]);
  const C scale = static_cast<C>(a.scale);
  for (auto c = static_cast<std::int64_t>(thread_index()); 4 * c < a.n;
       c += static_cast<std::int64_t>(thread_count())) {
    const RandomWords words = philox(seed, counter + static_cast<std::uint64_t>(c));
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const std::int64_t i = 4 * c + k;
      if (i >= a.n) break;
      const C x = static_cast<C>(static_cast<const T*>(a.x.data)[offset_in(a.x.walk, i)]);
      static_cast<T*>(a.out)[i] = convert<T>(words.of[k] < a.threshold ? C(0) : x * scale);
    }
  }
}

}  // namespace tenure::kernels::cuda
