#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"
#include "tenure/kernels/cuda/device/vector.cuh"
#include "tenure/kernels/cuda/loops/loop_arguments.h"
#include "tenure/kernels/cuda/loops/quick.cuh"
#include "tenure/kernels/cuda/places/small_nest.cuh"
#include "tenure/ops/elementwise/words.h"

// The kernels of a loop of elementwise ops. What it computes is printed (print.h), as a struct:
//
//     struct Loop {
//       using Out = float;
//       using In = TypeList<float, bool>;
//       static Out apply(float r0, bool r1);
//     };

namespace tenure::kernels::cuda {

using namespace tenure::ops::words;
using std::exp;  // which are not those of CUDA
using std::exp2;

template <class... T>
struct TypeList {};
template <int... i>
struct Numbers {};
template <int n, int... i>
struct CountTo : CountTo<n - 1, n - 1, i...> {};
template <int... i>
struct CountTo<0, i...> {
  using type = Numbers<i...>;
};

template <class T>
inline T number_of(std::uint64_t bytes) {
  if constexpr (std::is_same_v<T, bool>) {
    return (bytes & 0xff) != 0;
  } else if constexpr (NarrowFloat<T>) {
    return T::from_bits(static_cast<std::uint16_t>(bytes));
  } else {
    using Bits = std::make_unsigned_t<std::conditional_t<
        sizeof(T) == 8, std::int64_t,
        std::conditional_t<sizeof(T) == 4, std::int32_t,
                           std::conditional_t<sizeof(T) == 2, std::int16_t, std::int8_t>>>>;
    return std::bit_cast<T>(static_cast<Bits>(bytes));
  }
}

/// What one step reads of an input, n elements, as it lies in memory until all is on its way.
template <int i, class E, int n>
struct Read {
  Bytes<sizeof(E) * n> bytes;

  void begin(const LoopArguments& a, std::int64_t at) {
    const E* const from = static_cast<const E*>(a.in[i]) + at;
    if (n > 1 && (a.repeated >> i & 1) == 0) {
      bytes = *reinterpret_cast<const Bytes<sizeof(E) * n>*>(from);
    } else if ((a.numbers >> i & 1) == 0) {
      const auto one = *reinterpret_cast<const Bytes<sizeof(E)>*>(from);
#pragma unroll
      for (int w = 0; w < one.kWords; ++w) bytes.of[w] = one.of[w];
    }
  }
  Vector<E, n> end(const LoopArguments& a) const {
    auto read = std::bit_cast<Vector<E, n>>(bytes);
    if ((a.repeated >> i & 1) == 0) return read;
    const E one = (a.numbers >> i & 1) == 0 ? read.of[0] : number_of<E>(a.values[i]);
#pragma unroll
    for (E& element : read.of) element = one;
    return read;
  }
};
template <int n, class List, class Places>
struct Step;
template <int n, class... T, int... i>
struct Step<n, TypeList<T...>, Numbers<i...>> : Read<i, T, n>... {
  void begin(const LoopArguments& a, const std::int64_t* at) {
    (Read<i, T, n>::begin(a, at[i]), ...);
  }
  template <class Loop>
  Vector<typename Loop::Out, n> end(const LoopArguments& a) const {
    return apply<Loop>(Read<i, T, n>::end(a)...);
  }

 private:
  template <class Loop>
  static Vector<typename Loop::Out, n> apply(const Vector<T, n>&... in) {
    Vector<typename Loop::Out, n> out;
#pragma unroll
    for (int j = 0; j < n; ++j) out.of[j] = Loop::apply(in.of[j]...);
    return out;
  }
};

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
  Step<n, TypeList<T...>, typename CountTo<kInputs>::type> steps[kSteps];
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
  Step<1, TypeList<T...>, typename CountTo<sizeof...(T)>::type> step;
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
