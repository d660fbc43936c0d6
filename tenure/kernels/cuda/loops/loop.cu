#pragma once

#include "tenure/kernels/cuda/loops/steps.cuh"
#include "tenure/kernels/cuda/places/small_nest.cuh"

// The kernels of a loop of elementwise ops.

namespace tenure::kernels::cuda {

/// What a thread does of a loop: steps that are as far apart as the grid has threads.
template <class Loop, int n, class... T>
inline void loop_steps(const LoopArguments& a, TypeList<T...>) {
  constexpr int kInputs = sizeof...(T);
  constexpr int kSteps = steps_at_once(n * (std::size_t{0} + ... + sizeof(T)));
  const auto first = static_cast<std::uint32_t>(thread_index());
  const auto apart = static_cast<std::uint32_t>(thread_count());
  std::uint32_t step[kSteps];
  std::int64_t at[kSteps][kInputs];
#pragma unroll
  for (int s = 0; s < kSteps; ++s) step[s] = first + s * apart;
  places_of(a.nest, step, at);
  Step<n, TypeList<T...>, typename Count<0, kInputs>::type> steps[kSteps];
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    if (first + s * apart < a.nest.count) steps[s].begin(a, at[s]);
  }
#pragma unroll
  for (int s = 0; s < kSteps; ++s) {
    const std::uint32_t i = first + s * apart;
    if (i >= a.nest.count) break;
    static_cast<Vector<typename Loop::Out, n>*>(a.out)[i] = steps[s].template end<Loop>(a);
  }
}

template <class Loop, class... T>
inline void vectors_of(const LoopArguments& a, TypeList<T...> types) {
  constexpr int n = vector_size<typename Loop::Out, T...>();
  loop_steps<Loop, n>(a, types);
  const auto i = static_cast<std::uint32_t>(thread_index());
  if (i >= a.rest) return;
  const std::int64_t place = static_cast<std::int64_t>(a.nest.count) * n + i;
  std::int64_t at[sizeof...(T)];
  for (std::size_t k = 0; k < sizeof...(T); ++k) at[k] = (a.repeated >> k & 1) != 0 ? 0 : place;
  Step<1, TypeList<T...>, typename Count<0, sizeof...(T)>::type> step;
  step.begin(a, at);
  static_cast<Vector<typename Loop::Out, 1>*>(a.out)[place] = step.template end<Loop>(a);
}

/// Steps of vectors.
template <class Loop>
inline void vectors(const LoopArguments& arguments) {
  vectors_of<Loop>(arguments, typename Loop::In());
}
/// Steps of an element.
template <class Loop>
inline void elements(const LoopArguments& arguments) {
  loop_steps<Loop, 1>(arguments, typename Loop::In());
}

}  // namespace tenure::kernels::cuda
