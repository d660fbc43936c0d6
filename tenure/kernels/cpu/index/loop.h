#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "tenure/kernels/view.h"

namespace tenure::kernels::index {

/// Elements that a thread should have at least before another one is worth waking.
inline constexpr std::int64_t kGrain = 1 << 15;

/// An element of N bytes for code that moves values and never looks at them.
template <std::size_t N>
struct alignas(N) Word {
  std::byte bytes[N];
};

/// Calls `f(TypeTag<Word<size>>{})`: pure data movement needs four instances, not ten.
template <class F>
decltype(auto) visit_size(std::size_t size, F&& f) {
  switch (size) {
    case 1:
      return std::forward<F>(f)(TypeTag<Word<1>>{});
    case 2:
      return std::forward<F>(f)(TypeTag<Word<2>>{});
    case 4:
      return std::forward<F>(f)(TypeTag<Word<4>>{});
    default:
      return std::forward<F>(f)(TypeTag<Word<8>>{});
  }
}

/// A nest of loops over N strided operands. Dimensions of one element vanish and neighbours that
/// all operands walk evenly become one, so that the innermost loop is as long as can be.
template <int N>
class Loop {
 public:
  using Offsets = std::array<std::int64_t, N>;  ///< in elements, one per operand

  /// Adds a dimension inside those there are.
  void push(std::int64_t dim, const Offsets& strides) {
    if (dim == 1) return;
    bool even = rank_ > 0;
    for (int n = 0; even && n < N; ++n) {
      even = strides_[rank_ - 1][n] == strides[n] * dim;
    }
    if (!even) dims_[rank_++] = 1;
    dims_[rank_ - 1] *= dim;
    strides_[rank_ - 1] = strides;
  }

  /// Adds the dimensions of another nest inside those there are.
  void push(const Loop& inner) {
    for (int i = 0; i < inner.rank_; ++i) push(inner.dims_[i], inner.strides_[i]);
  }

  int rank() const { return rank_; }
  std::int64_t count() const {
    std::int64_t n = 1;
    for (int i = 0; i < rank_; ++i) n *= dims_[i];
    return n;
  }
  /// What one step of the innermost loop adds to the offsets.
  Offsets steps() const { return rank_ > 0 ? strides_[rank_ - 1] : Offsets{}; }

  /// Calls `f(offsets, length)` for the pieces of innermost loops that make up the positions
  /// [begin, end), in row-major order.
  template <class F>
  void rows(std::int64_t begin, std::int64_t end, F&& f) const {
    if (begin >= end) return;
    if (rank_ == 0) {
      f(Offsets{}, std::int64_t{1});
      return;
    }
    std::array<std::int64_t, kMaxLoops> at;
    Offsets offsets{};
    std::int64_t rest = begin;
    for (int i = rank_ - 1; i >= 0; --i) {
      at[i] = rest % dims_[i];
      rest /= dims_[i];
      for (int n = 0; n < N; ++n) offsets[n] += at[i] * strides_[i][n];
    }
    const int last = rank_ - 1;
    while (true) {
      const std::int64_t length = std::min(dims_[last] - at[last], end - begin);
      f(std::as_const(offsets), length);
      begin += length;
      if (begin >= end) return;
      for (int n = 0; n < N; ++n) offsets[n] -= at[last] * strides_[last][n];
      at[last] = 0;
      for (int i = last - 1;; --i) {
        for (int n = 0; n < N; ++n) offsets[n] += strides_[i][n];
        if (++at[i] < dims_[i]) break;
        for (int n = 0; n < N; ++n) offsets[n] -= at[i] * strides_[i][n];
        at[i] = 0;
      }
    }
  }

  /// Calls `f(offsets)` for every position in [begin, end), in row-major order.
  template <class F>
  void each(std::int64_t begin, std::int64_t end, F&& f) const {
    const Offsets step = steps();
    rows(begin, end, [&](Offsets offsets, std::int64_t length) {
      for (std::int64_t i = 0; i < length; ++i) {
        f(std::as_const(offsets));
        for (int n = 0; n < N; ++n) offsets[n] += step[n];
      }
    });
  }

 private:
  // A tiled tensor has two loops for each of its dimensions.
  static constexpr int kMaxLoops = 2 * kMaxRank;

  int rank_ = 0;
  std::array<std::int64_t, kMaxLoops> dims_;
  std::array<Offsets, kMaxLoops> strides_;
};

/// The loops over dimensions [first, last) of `shape`, with the strides of each operand there.
template <class... S>
Loop<sizeof...(S)> make_loop(const Shape& shape, int first, int last, const S&... strides) {
  Loop<sizeof...(S)> loop;
  for (int i = first; i < last; ++i) loop.push(shape[i], {strides[i]...});
  return loop;
}

template <class... S>
Loop<sizeof...(S)> make_loop(const Shape& shape, const S&... strides) {
  return make_loop(shape, 0, shape.size(), strides...);
}

/// `view`, with a scalar seen as a vector of one element.
inline View at_least_1d(View view) {
  if (view.shape.empty()) {
    view.shape = {1};
    view.strides = {1};
  }
  return view;
}

/// The part [begin, begin + size) of `view` along `axis`.
inline View narrow(View view, int axis, std::int64_t begin, std::int64_t size) {
  const auto bytes = static_cast<std::int64_t>(size_of(view.dtype));
  view.data = view.as<std::byte>() + begin * view.strides[axis] * bytes;
  view.shape[axis] = size;
  return view;
}

}  // namespace tenure::kernels::index
