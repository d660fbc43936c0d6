#include "tenure/kernels/cpu/index/blocks.h"

#include <fmt/format.h>

#include <cstring>
#include <limits>
#include <type_traits>

namespace tenure::kernels::index {
namespace {

template <class T>
struct Assign {
  static void apply(T& out, T in) { out = in; }
};

// Signed overflow wraps around: the sums are taken in an unsigned type of at least 32 bits.
template <class T>
using Arithmetic =
    std::conditional_t<std::is_integral_v<T>,
                       std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>,
                       std::conditional_t<sizeof(T) == 8, double, float>>;

template <class T>
struct Add {
  static void apply(T& out, T in) {
    using A = Arithmetic<T>;
    out = static_cast<T>(static_cast<A>(out) + static_cast<A>(in));
  }
};

template <class T>
struct Multiply {
  static void apply(T& out, T in) {
    using A = Arithmetic<T>;
    out = static_cast<T>(static_cast<A>(out) * static_cast<A>(in));
  }
};

template <class T>
bool is_nan(T value) {
  if constexpr (std::is_integral_v<T>) {
    return false;
  } else {
    return value != value;
  }
}

template <class T>
struct Maximum {
  static void apply(T& out, T in) {
    if (in > out || is_nan(in)) out = in;
  }
};

template <class T>
struct Minimum {
  static void apply(T& out, T in) {
    if (in < out || is_nan(in)) out = in;
  }
};

template <template <class> class Op, class T>
void combine_row(T* out, std::int64_t out_step, const T* in, std::int64_t in_step, std::int64_t n) {
  if (out_step == 1 && in_step == 1) {
    if constexpr (std::is_same_v<Op<T>, Assign<T>>) {
      std::memcpy(out, in, static_cast<std::size_t>(n) * sizeof(T));
    } else {
      for (std::int64_t i = 0; i < n; ++i) Op<T>::apply(out[i], in[i]);
    }
  } else {
    for (std::int64_t i = 0; i < n; ++i) Op<T>::apply(out[i * out_step], in[i * in_step]);
  }
}

/// What an operation does to elements of a type, at n places. Everything around it, the nest of
/// loops, is compiled once for all of them.
struct Combination {
  void (*elements)(void* out, const std::int64_t* out_offsets, const void* in,
                   const std::int64_t* in_offsets, std::int64_t n);
  void (*rows)(void* out, const std::int64_t* out_offsets, std::int64_t out_step, const void* in,
               const std::int64_t* in_offsets, std::int64_t in_step, std::int64_t n,
               std::int64_t length);
};

template <template <class> class Op, class T>
constexpr Combination kCombination{
    [](void* out, const std::int64_t* out_offsets, const void* in, const std::int64_t* in_offsets,
       std::int64_t n) {
      for (std::int64_t i = 0; i < n; ++i) {
        Op<T>::apply(static_cast<T*>(out)[out_offsets[i]],
                     static_cast<const T*>(in)[in_offsets[i]]);
      }
    },
    [](void* out, const std::int64_t* out_offsets, std::int64_t out_step, const void* in,
       const std::int64_t* in_offsets, std::int64_t in_step, std::int64_t n, std::int64_t length) {
      for (std::int64_t i = 0; i < n; ++i) {
        combine_row<Op>(static_cast<T*>(out) + out_offsets[i], out_step,
                        static_cast<const T*>(in) + in_offsets[i], in_step, length);
      }
    }};

template <template <class> class Op>
const Combination& combination_of(DType dtype) {
  return visit_dtype(dtype,
                     []<class T>(TypeTag<T>) -> const Combination& { return kCombination<Op, T>; });
}

const Combination& find_combination(ScatterMode mode, DType dtype) {
  switch (mode) {
    case ScatterMode::assign:
      return visit_size(size_of(dtype), []<class T>(TypeTag<T>) -> const Combination& {
        return kCombination<Assign, T>;
      });
    case ScatterMode::add:
      return combination_of<Add>(dtype);
    case ScatterMode::multiply:
      return combination_of<Multiply>(dtype);
    case ScatterMode::maximum:
      return combination_of<Maximum>(dtype);
    case ScatterMode::minimum:
      return combination_of<Minimum>(dtype);
  }
  throw InternalError("unknown scatter mode");
}

template <class F>
void visit_index_type(const View& indices, F&& f) {
  if (indices.dtype == int32) {
    f(TypeTag<std::int32_t>{});
  } else {
    f(TypeTag<std::int64_t>{});
  }
}

/// Calls `f(step)`, so that the compiler sees a constant where the step is one.
template <class F>
void with_unit_step(std::int64_t step, const F& f) {
  if (step == 1) {
    f(1);
  } else {
    f(step);
  }
}

}  // namespace

void check_indices(std::string_view op, const View& indices, std::int64_t size) {
  if (indices.dtype != int32 && indices.dtype != int64) {
    throw DTypeError(op,
                     fmt::format("indices must be int32 or int64, not {}", name_of(indices.dtype)));
  }
  const auto loop = make_loop(indices.shape, indices.strides);
  const std::int64_t step = loop.steps()[0];
  visit_index_type(indices, [&]<class I>(TypeTag<I>) {
    loop.rows(0, loop.count(), [&](const auto& at, std::int64_t length) {
      const I* row = indices.as<const I>() + at[0];
      I low = row[0];
      I high = row[0];
      const auto extend = [&](std::int64_t by) {
        for (std::int64_t i = 0; i < length; ++i) {
          low = std::min(low, row[i * by]);
          high = std::max(high, row[i * by]);
        }
      };
      with_unit_step(step, extend);
      if (low >= -size && high < size) return;
      for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t index = row[i * step];
        if (index >= -size && index < size) continue;
        throw IndexError(op, fmt::format("index {} is outside an axis of size {}", index, size),
                         index, size);
      }
    });
  });
}

void add_index_offsets(const Loop<2>& positions, const View& indices, std::int64_t size,
                       std::int64_t stride, std::int64_t begin, std::int64_t n,
                       std::int64_t* offsets) {
  const std::int64_t base_step = positions.steps()[0];
  const std::int64_t index_step = positions.steps()[1];
  visit_index_type(indices, [&]<class I>(TypeTag<I>) {
    positions.rows(begin, begin + n, [&](const auto& at, std::int64_t length) {
      const I* __restrict row = indices.as<const I>() + at[1];
      std::int64_t* __restrict to = offsets;
      const auto add = [&, base = at[0]](std::int64_t step) {
        for (std::int64_t i = 0; i < length; ++i) {
          const std::int64_t index = row[i * step];
          to[i] += base + i * base_step + (index + (index < 0 ? size : 0)) * stride;
        }
      };
      with_unit_step(index_step, add);
      offsets += length;
    });
  });
}

void combine_blocks(ScatterMode mode, DType dtype, const Loop<2>& block, void* out,
                    const std::int64_t* out_offsets, const void* in, const std::int64_t* in_offsets,
                    std::int64_t n) {
  const Combination& combination = find_combination(mode, dtype);
  if (block.rank() == 0) return combination.elements(out, out_offsets, in, in_offsets, n);
  const std::int64_t size = block.count();
  const std::int64_t out_step = block.steps()[0];
  const std::int64_t in_step = block.steps()[1];
  if (block.rank() == 1) {
    return combination.rows(out, out_offsets, out_step, in, in_offsets, in_step, n, size);
  }
  for (std::int64_t i = 0; i < n; ++i) {
    block.rows(0, size, [&](const auto& at, std::int64_t length) {
      const std::int64_t to = out_offsets[i] + at[0];
      const std::int64_t from = in_offsets[i] + at[1];
      combination.rows(out, &to, out_step, in, &from, in_step, 1, length);
    });
  }
}

void gather_elements(std::size_t size, void* out, const void* in, const std::int64_t* offsets,
                     std::int64_t n) {
  visit_size(size, [&]<class T>(TypeTag<T>) {
    T* __restrict to = static_cast<T*>(out);
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<const T*>(in)[offsets[i]];
  });
}

void copy_elements(std::size_t size, const Loop<2>& loop, void* out, const void* in,
                   std::int64_t begin, std::int64_t end) {
  const std::int64_t out_step = loop.steps()[0];
  const std::int64_t in_step = loop.steps()[1];
  visit_size(size, [&]<class T>(TypeTag<T>) {
    loop.rows(begin, end, [&](const auto& at, std::int64_t length) {
      T* to = static_cast<T*>(out) + at[0];
      const T* from = static_cast<const T*>(in) + at[1];
      if (out_step == 1 && in_step == 0) {
        std::fill_n(to, length, *from);
      } else {
        combine_row<Assign>(to, out_step, from, in_step, length);
      }
    });
  });
}

}  // namespace tenure::kernels::index
