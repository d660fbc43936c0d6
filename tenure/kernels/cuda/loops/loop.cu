#pragma once

#include "tenure/kernels/cuda/device/prelude.cuh"
#include "tenure/kernels/cuda/loops/loop_arguments.h"
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

/// Elements that are read and written at once.
template <class T, int n>
struct alignas(sizeof(T) * n) Pack {
  T of[n];
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

template <class T, int n>
inline Pack<T, n> read_pack(const FlatArguments& a, int input, std::uint64_t at) {
  if ((a.numbers >> input & 1) == 0) return static_cast<const Pack<T, n>*>(a.in[input])[at];
  Pack<T, n> pack;
  for (int k = 0; k < n; ++k) pack.of[k] = number_of<T>(a.values[input]);
  return pack;
}

template <int i, class P>
struct Held {
  P pack;
};
template <int n, class List, class Places>
struct Packs;
template <int n, class... T, int... i>
struct Packs<n, TypeList<T...>, Numbers<i...>> : Held<i, Pack<T, n>>... {
  Packs(const FlatArguments& a, std::uint64_t at)
      : Held<i, Pack<T, n>>{read_pack<T, n>(a, i, at)}... {}
  template <class Loop>
  Pack<typename Loop::Out, n> apply() const {
    Pack<typename Loop::Out, n> out;
    for (int k = 0; k < n; ++k) {
      out.of[k] = Loop::apply(static_cast<const Held<i, Pack<T, n>>&>(*this).pack.of[k]...);
    }
    return out;
  }
};

template <class Out, class... T>
constexpr int pack_size(TypeList<T...>) {
  std::size_t widest = sizeof(Out);
  ((widest = sizeof(T) > widest ? sizeof(T) : widest), ...);
  return static_cast<int>(16 / widest);
}

template <class Loop, class... T>
inline void flat_elements(const FlatArguments& a, TypeList<T...> types) {
  using Places = typename CountTo<sizeof...(T)>::type;
  using Out = typename Loop::Out;
  constexpr int n = pack_size<Out>(types);
  const std::uint64_t packs = a.n / n;
  for (std::uint64_t i = thread_index(); i < packs; i += thread_count()) {
    static_cast<Pack<Out, n>*>(a.out)[i] =
        Packs<n, TypeList<T...>, Places>(a, i).template apply<Loop>();
  }
  for (std::uint64_t i = packs * n + thread_index(); i < a.n; i += thread_count()) {
    static_cast<Pack<Out, 1>*>(a.out)[i] =
        Packs<1, TypeList<T...>, Places>(a, i).template apply<Loop>();
  }
}

template <class Loop>
inline void flat(const FlatArguments& arguments) {
  flat_elements<Loop>(arguments, typename Loop::In());
}

template <class Loop, class... T, int... k>
inline void strided_elements(const StridedArguments& a, TypeList<T...>, Numbers<k...>) {
  constexpr int n = sizeof...(T);
  for (std::uint64_t i = thread_index(); i < a.flat.n; i += thread_count()) {
    std::int64_t at[n] = {};
    auto rest = static_cast<std::uint32_t>(i);
    for (int d = a.rank - 1; d >= 0; --d) {
      const auto size = static_cast<std::uint32_t>(a.shape[d]);
      const std::uint32_t row = rest / size;
      const auto place = static_cast<std::int64_t>(rest - row * size);
      for (int input = 0; input < n; ++input) at[input] += place * a.strides[input][d];
      rest = row;
    }
    static_cast<typename Loop::Out*>(a.flat.out)[i] =
        Loop::apply((a.flat.numbers >> k & 1) != 0 ? number_of<T>(a.flat.values[k])
                                                   : static_cast<const T*>(a.flat.in[k])[at[k]]...);
  }
}

template <class Loop, class... T>
inline void strided_of(const StridedArguments& a, TypeList<T...> types) {
  strided_elements<Loop>(a, types, typename CountTo<sizeof...(T)>::type());
}

template <class Loop>
inline void strided(const StridedArguments& arguments) {
  strided_of<Loop>(arguments, typename Loop::In());
}

}  // namespace tenure::kernels::cuda
