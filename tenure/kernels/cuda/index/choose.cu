#pragma once

#include "tenure/kernels/cuda/find/find.cuh"
#include "tenure/kernels/cuda/index/index_arguments.h"
#include "tenure/kernels/cuda/places/places.cuh"
#include "tenure/kernels/cuda/reduce/held.cuh"

namespace tenure::kernels::cuda {

/// How far an index leads from the beginning of its axis.
inline std::int64_t chosen_step(const ChosenAxis& axis, std::int64_t at) {
  std::int64_t index = axis.is_wide != 0 ? static_cast<const std::int64_t*>(axis.indices)[at]
                                         : static_cast<const std::int32_t*>(axis.indices)[at];
  if (index < 0) index += axis.size;
  return index * axis.stride;
}

inline std::int64_t chosen_place(const Chosen& chosen, std::uint64_t i) {
  if (chosen.axes == 0) return place_of(chosen.positions, i, 0);
  const TwoPlaces first = places_of(chosen.positions, i, 0, 1);
  std::int64_t place = first.first + chosen_step(chosen.axis[0], first.second);
  for (int k = 1; k < chosen.axes; ++k) {
    place += chosen_step(chosen.axis[k], place_of(chosen.positions, i, 1 + k));
  }
  return place;
}

template <class T>
inline void choose(const ChooseArguments& a) {
  const auto n = static_cast<std::uint64_t>(a.from.positions.count);
  for (std::uint64_t i = thread_index(); i < n; i += thread_count()) {
    static_cast<T*>(a.out)[i] = static_cast<const T*>(a.in)[chosen_place(a.from, i)];
  }
}

/// Of 16 bytes: the numbers of `a` count those.
inline void choose_strips(const ChooseArguments& a) { choose<Strip<std::uint32_t, 4>>(a); }

template <class T>
inline void find_targets(const TargetArguments& a) {
  const auto n = static_cast<std::uint64_t>(a.of.positions.count);
  for (std::uint64_t i = thread_index(); i < n; i += thread_count()) {
    static_cast<T*>(a.targets)[i] = static_cast<T>(chosen_place(a.of, i));
  }
}

/// Puts few positions in the order of their targets: the place of each is how many come before it.
/// A warp has several of them, and goes over all, of which a block has a tile at a time, while the
/// next one is on its way.
template <class T>
inline void rank_targets(const RankArguments& a) {
  using U = std::make_unsigned_t<T>;
  constexpr unsigned kTile = 1024;
  constexpr unsigned kOfWarp = 4;
  constexpr unsigned kOfThread = kTile / kGroupThreads;
  __shared__ U tile[kTile];
  const auto n = static_cast<unsigned>(a.of.positions.count);
  const unsigned lane = threadIdx.x % 32;
  const unsigned begin = (blockIdx.x * kGroupThreads + threadIdx.x) / 32 * kOfWarp;
  U own[kOfWarp];
  unsigned before[kOfWarp] = {};
#pragma unroll
  for (unsigned k = 0; k < kOfWarp; ++k) {
    own[k] = begin + k < n ? static_cast<U>(chosen_place(a.of, begin + k)) : U(0);
  }
  constexpr U kNone = static_cast<U>(~U(0));  // no number of a place is so large
  U next[kOfThread];
  const auto ask_for = [&](unsigned first) {
#pragma unroll
    for (unsigned k = 0; k < kOfThread; ++k) {
      const unsigned i = first + threadIdx.x + k * kGroupThreads;
      next[k] = i < n ? static_cast<U>(chosen_place(a.of, i)) : kNone;
    }
  };
  ask_for(0);
  for (unsigned first = 0; first < n; first += kTile) {
    __syncthreads();
#pragma unroll
    for (unsigned k = 0; k < kOfThread; ++k) tile[threadIdx.x + k * kGroupThreads] = next[k];
    __syncthreads();
    ask_for(first + kTile);
    // Equals that come earlier are before it too: one more.
    const bool is_earlier = first + kTile <= begin;
    U bound[kOfWarp];
#pragma unroll
    for (unsigned k = 0; k < kOfWarp; ++k) bound[k] = own[k] + (is_earlier ? 1 : 0);
#pragma unroll 8
    for (unsigned i = lane; i < kTile; i += 32) {
#pragma unroll
      for (unsigned k = 0; k < kOfWarp; ++k) before[k] += tile[i] < bound[k] ? 1 : 0;
    }
    if (is_earlier || first > begin) continue;
    for (unsigned i = lane; i < kTile; i += 32) {
#pragma unroll
      for (unsigned k = 0; k < kOfWarp; ++k) {
        before[k] += tile[i] == own[k] && first + i < begin + k ? 1 : 0;
      }
    }
  }
#pragma unroll
  for (unsigned k = 0; k < kOfWarp; ++k) {
    for (unsigned by = 1; by < 32; by *= 2) before[k] += swapped(before[k], by);
    if (lane != 0 || begin + k >= n) continue;
    static_cast<U*>(a.targets)[before[k]] = own[k];
    a.order[before[k]] = begin + k;
  }
}

// Integers wrap around: their sums and products are of an unsigned type of at least 32 bits.
template <class T>
using Combined =
    std::conditional_t<std::is_integral_v<T>,
                       std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>,
                       Compute<T>>;

template <class T>
inline bool is_no_number(T value) {
  if constexpr (std::is_floating_point_v<T>) {
    return value != value;
  } else {
    return false;
  }
}

/// An element after an update. Floats of 16 bits go on in float32, and are rounded once.
template <class T>
struct Combination {
  using Wide = std::conditional_t<std::is_integral_v<T>, T, Compute<T>>;
  Wide value;

  void add(Wide update, int mode) {
    using C = Combined<T>;
    switch (mode) {
      case 0:
        value = update;
        break;
      case 1:
        value = static_cast<Wide>(static_cast<C>(value) + static_cast<C>(update));
        break;
      case 2:
        value = static_cast<Wide>(static_cast<C>(value) * static_cast<C>(update));
        break;
      case 3:
        if (update > value || is_no_number(update)) value = update;
        break;
      default:
        if (update < value || is_no_number(update)) value = update;
        break;
    }
  }
};

/// The positions in the order of their targets from one on that have its target.
class Run {
 public:
  Run(const CombineArguments& a, std::uint64_t first, std::uint64_t positions)
      : a_(a), first_(first), positions_(positions) {
    if (a.targets == nullptr) return;
    own_ = target(first);
    if (first > 0) before_ = target(first - 1);
  }
  /// Whether none before has that target.
  bool begins() const { return a_.targets == nullptr || first_ == 0 || own_ != before_; }
  bool has(std::uint64_t at) const {
    if (a_.targets == nullptr) return at == first_;
    return (at < positions_) & (target(within(at)) == own_);
  }
  /// The last one if there are not so many.
  std::uint64_t within(std::uint64_t at) const { return at < positions_ ? at : positions_ - 1; }
  std::uint64_t position(std::uint64_t at) const {
    return a_.targets == nullptr ? at : static_cast<std::uint64_t>(a_.order[at]);
  }
  /// Where the target is.
  std::int64_t place() const {
    if (a_.target_step != 0) return static_cast<std::int64_t>(own_) * a_.target_step;
    return chosen_place(a_.to, position(first_));
  }

 private:
  std::uint64_t target(std::uint64_t at) const {
    return a_.wide_targets != 0 ? static_cast<const std::uint64_t*>(a_.targets)[at]
                                : static_cast<const std::uint32_t*>(a_.targets)[at];
  }

  const CombineArguments& a_;
  std::uint64_t first_;
  std::uint64_t positions_;
  std::uint64_t own_ = 0;
  std::uint64_t before_ = 0;
};

/// Some of the positions of a run, one behind the other: where the values of each are. Those behind
/// the end of the run are not there. All are asked for at once.
template <unsigned count>
struct SomeOfRun {
  std::int64_t places[count];
  unsigned there;

  SomeOfRun(const CombineArguments& a, const Run& run, std::uint64_t from) : there(0) {
    const int of_values = static_cast<int>(a.to.axes) + 1;
    std::uint64_t positions[count];
    bool has[count];
#pragma unroll
    for (unsigned k = 0; k < count; ++k) {
      positions[k] = run.position(run.within(from + k));
      has[k] = run.has(from + k);
    }
#pragma unroll
    for (unsigned k = 0; k < count; ++k) {
      places[k] = place_of(a.to.positions, positions[k], of_values);
      there = has[k] ? k + 1 : there;
    }
  }
  /// Adds what they bring to `result`, in their order. All of it is asked for before the first is
  /// waited for; `meanwhile()` is called in between.
  template <class T, int n, class F>
  void add_to(Combination<T> (&result)[n], const T* values, int mode, const F& meanwhile) const {
    Strip<T, n> brought[count];
#pragma unroll
    for (unsigned k = 0; k < count; ++k) {
      if (k < there) brought[k] = *reinterpret_cast<const Strip<T, n>*>(values + places[k]);
    }
    meanwhile();
#pragma unroll
    for (unsigned k = 0; k < count; ++k) {
      if (k >= there) continue;
#pragma unroll
      for (int e = 0; e < n; ++e) {
        result[e].add(static_cast<typename Combination<T>::Wide>(brought[k].of[e]), mode);
      }
    }
  }
};

/// The first of the positions that have one target does the work of all of them, in their order,
/// for `n` elements of the block that lie side by side. Most runs are short; some, as those of the
/// words of a language, are not.
template <class T, int n>
inline void combine_strips(const CombineArguments& a) {
  using Wide = typename Combination<T>::Wide;
  constexpr unsigned kAtOnce = 4;
  const auto positions = static_cast<std::uint64_t>(a.to.positions.count);
  const auto strips = static_cast<std::uint64_t>(a.block.count) / n;
  const int mode = static_cast<int>(a.mode);
  for (std::uint64_t i = thread_index(); i < positions * strips; i += thread_count()) {
    const std::uint64_t first = quotient(i, strips);
    const Run run(a, first, positions);
    if (!run.begins()) continue;
    const TwoPlaces in_block = places_of(a.block, (i - first * strips) * n, 0, 1);
    const T* const values = static_cast<const T*>(a.values) + in_block.second;
    auto& element =
        *reinterpret_cast<Strip<T, n>*>(static_cast<T*>(a.out) + run.place() + in_block.first);
    const Strip<T, n> before = element;
    Combination<T> result[n];
#pragma unroll
    for (int e = 0; e < n; ++e) result[e].value = static_cast<Wide>(before.of[e]);
    SomeOfRun<kAtOnce> some(a, run, first);
    SomeOfRun<kAtOnce> next = some;
    for (std::uint64_t from = first + kAtOnce; some.there > 0; from += kAtOnce) {
      next.there = 0;
      const bool goes_on = some.there == kAtOnce;
      some.add_to(result, values, mode, [&] {
        if (goes_on) next = SomeOfRun<kAtOnce>(a, run, from);
      });
      some = next;
    }
    Strip<T, n> after;
#pragma unroll
    for (int e = 0; e < n; ++e) after.of[e] = static_cast<T>(result[e].value);
    element = after;
  }
}

template <class T>
inline void combine(const CombineArguments& a) {
  if (a.is_packed != 0) return combine_strips<T, strip_size(sizeof(T))>(a);
  combine_strips<T, 1>(a);
}

template <class T>
inline void find_outside(const IndexCheckArguments& a) {
  find_first<T>(a, [&](std::int64_t index) { return index < -a.size || index >= a.size; });
}

}  // namespace tenure::kernels::cuda
