#pragma once

#include "tenure/kernels/cuda/find/find.cuh"
#include "tenure/kernels/cuda/index/index_arguments.h"
#include "tenure/kernels/cuda/places/places.cuh"

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

template <class T>
inline void find_targets(const TargetArguments& a) {
  const auto n = static_cast<std::uint64_t>(a.of.positions.count);
  for (std::uint64_t i = thread_index(); i < n; i += thread_count()) {
    static_cast<T*>(a.targets)[i] = static_cast<T>(chosen_place(a.of, i));
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

inline bool same_target(const CombineArguments& a, std::uint64_t i, std::uint64_t j) {
  if (a.wide_targets != 0) {
    const auto* const targets = static_cast<const std::uint64_t*>(a.targets);
    return targets[i] == targets[j];
  }
  const auto* const targets = static_cast<const std::uint32_t*>(a.targets);
  return targets[i] == targets[j];
}

/// The first of the positions that have one target does the work of all of them, in their order.
template <class T>
inline void combine(const CombineArguments& a) {
  const auto positions = static_cast<std::uint64_t>(a.to.positions.count);
  const auto block = static_cast<std::uint64_t>(a.block.count);
  const int of_values = static_cast<int>(a.to.axes) + 1;
  for (std::uint64_t i = thread_index(); i < positions * block; i += thread_count()) {
    const std::uint64_t first = i / block;
    if (a.targets != nullptr && first > 0 && same_target(a, first, first - 1)) continue;
    const TwoPlaces in_block = places_of(a.block, i - first * block, 0, 1);
    const auto position = [&](std::uint64_t at) {
      return a.targets == nullptr ? at : static_cast<std::uint64_t>(a.order[at]);
    };
    T& element = static_cast<T*>(a.out)[chosen_place(a.to, position(first)) + in_block.first];
    using Wide = typename Combination<T>::Wide;
    Combination<T> result{static_cast<Wide>(element)};
    for (std::uint64_t at = first;;) {
      const std::int64_t from = place_of(a.to.positions, position(at), of_values);
      result.add(static_cast<Wide>(static_cast<const T*>(a.values)[from + in_block.second]),
                 static_cast<int>(a.mode));
      ++at;
      if (a.targets == nullptr || at == positions || !same_target(a, at, first)) break;
    }
    element = static_cast<T>(result.value);
  }
}

template <class T>
inline void find_outside(const IndexCheckArguments& a) {
  find_first<T>(a, [&](std::int64_t index) { return index < -a.size || index >= a.size; });
}

}  // namespace tenure::kernels::cuda
