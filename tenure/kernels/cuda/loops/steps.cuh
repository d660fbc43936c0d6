#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"
#include "tenure/kernels/cuda/device/vector.cuh"
#include "tenure/kernels/cuda/loops/loop_arguments.h"
#include "tenure/kernels/cuda/loops/quick.cuh"
#include "tenure/ops/elementwise/words.h"

// The steps of a loop of elementwise ops. What it computes is printed (print.h), as a struct:
//
//     struct Loop {
//       using Out = float;
//       using In = TypeList<float, bool>;
//       static Out apply(float r0, bool r1);
//     };

namespace tenure::kernels::cuda {

/// Where structs are printed.
namespace printed {
using namespace tenure::ops::words;
using std::exp;  // which are not those of CUDA
using std::exp2;
}  // namespace printed

template <class... T>
struct TypeList {};
template <int... i>
struct Numbers {};
/// From `first` up to `past`.
template <int first, int past, int... i>
struct Count : Count<first, past - 1, past - 1, i...> {};
template <int first, int... i>
struct Count<first, first, i...> {
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

  void begin(const LoopReads& a, std::int64_t at) {
    const E* const from = static_cast<const E*>(a.in[i]) + at;
    if (n > 1 && (a.repeated >> i & 1) == 0) {
      bytes = *reinterpret_cast<const Bytes<sizeof(E) * n>*>(from);
    } else if ((a.numbers >> i & 1) == 0) {
      const auto one = *reinterpret_cast<const Bytes<sizeof(E)>*>(from);
#pragma unroll
      for (int w = 0; w < one.kWords; ++w) bytes.of[w] = one.of[w];
    }
  }
  Vector<E, n> end(const LoopReads& a) const {
    auto read = std::bit_cast<Vector<E, n>>(bytes);
    if ((a.repeated >> i & 1) == 0) return read;
    const E one = (a.numbers >> i & 1) == 0 ? read.of[0] : number_of<E>(a.values[i]);
#pragma unroll
    for (E& element : read.of) element = one;
    return read;
  }
};
/// What one step of a loop reads of some of its inputs, and what becomes of it.
template <int n, class List, class Places>
struct Step;
template <int n, class... T, int... i>
struct Step<n, TypeList<T...>, Numbers<i...>> : Read<i, T, n>... {
  void begin([[maybe_unused]] const LoopReads& a, [[maybe_unused]] const std::int64_t* at) {
    (Read<i, T, n>::begin(a, at[i]), ...);
  }
  /// `given`: of the inputs before those.
  template <class Loop, class... Given>
  Vector<typename Loop::Out, n> end([[maybe_unused]] const LoopReads& a,
                                    const Given&... given) const {
    return apply<Loop>(given..., Read<i, T, n>::end(a)...);
  }

 private:
  template <class Loop, class... In>
  static Vector<typename Loop::Out, n> apply(const In&... in) {
    Vector<typename Loop::Out, n> out;
#pragma unroll
    for (int j = 0; j < n; ++j) out.of[j] = Loop::apply(in.of[j]...);
    return out;
  }
};

}  // namespace tenure::kernels::cuda
