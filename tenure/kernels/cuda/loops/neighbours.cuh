#pragma once

#include "tenure/kernels/cuda/loops/neighbours_arguments.h"
#include "tenure/kernels/cuda/loops/steps.cuh"
#include "tenure/kernels/cuda/places/small_nest.cuh"

// What loops beside a kernel do with its elements; neighbours.h tells how a kernel gets them.

namespace tenure::kernels::cuda {

/// In place of a loop, where there is none.
struct NoLoop {};

template <class Loop, class T>
struct ResultAfter {
  using type = typename Loop::Out;
};
template <class T>
struct ResultAfter<NoLoop, T> {
  using type = T;
};
/// What a kernel stores that computes T and has a loop behind it.
template <class Loop, class T>
using ResultOf = typename ResultAfter<Loop, T>::type;

template <class List>
struct WithoutFirst;
template <class First, class... T>
struct WithoutFirst<TypeList<First, T...>> {
  using type = TypeList<T...>;
};

template <class List>
struct Length;
template <class... T>
struct Length<TypeList<T...>> {
  static constexpr int value = sizeof...(T);
};

/// What a loop computes from its inputs past those that are given, in one step of n elements that
/// begins at `element`, a multiple of n where the loop goes by vectors.
template <class Loop, int n, class Rest, class... Given>
inline Vector<typename Loop::Out, n> neighbour_step(const NeighbourReads& reads,
                                                    std::int64_t element, const Given&... given) {
  constexpr int kInputs = Length<typename Loop::In>::value;
  using Inputs = typename Count<sizeof...(Given), kInputs>::type;
  const std::uint32_t step[1] = {static_cast<std::uint32_t>(element)};
  std::int64_t at[1][kInputs];
  places_of(reads.nest, step, at);
  Step<n, Rest, Inputs> inputs;
  inputs.begin(reads, at[0]);
  return inputs.template end<Loop>(reads, given...);
}

/// What the loop that follows makes of n results that lie side by side from `element` on, which is
/// a multiple of n.
template <class Loop, class T, int n, class Arguments>
inline auto followed(const Arguments& arguments, std::int64_t element, const Vector<T, n>& results) {
  if constexpr (std::is_same_v<Loop, NoLoop>) {
    return results;
  } else {
    using Rest = typename WithoutFirst<typename Loop::In>::type;
    if (n == 1 || arguments.after.is_by_vectors) {
      return neighbour_step<Loop, n, Rest>(arguments.after, element, results);
    }
    Vector<typename Loop::Out, n> out;
#pragma unroll
    for (int j = 0; j < n; ++j) {
      const Vector<T, 1> one{results.of[j]};
      out.of[j] = neighbour_step<Loop, 1, Rest>(arguments.after, element + j, one).of[0];
    }
    return out;
  }
}

/// n elements of the kernel's first input from `element` on, a multiple of n, which a loop makes,
/// or which lie in memory.
template <class Loop, class T, int n, class Arguments>
inline auto made(const Arguments& arguments, const T* input, std::int64_t element) {
  if constexpr (std::is_same_v<Loop, NoLoop>) {
    return *reinterpret_cast<const Vector<T, n>*>(input + element);
  } else {
    using All = typename Loop::In;
    if (n == 1 || arguments.before.is_by_vectors) {
      return neighbour_step<Loop, n, All>(arguments.before, element);
    }
    Vector<T, n> out;
#pragma unroll 1  // as this is seldom: it takes no room from the usual way
    for (int j = 0; j < n; ++j) {
      out.of[j] = neighbour_step<Loop, 1, All>(arguments.before, element + j).of[0];
    }
    return out;
  }
}

}  // namespace tenure::kernels::cuda
