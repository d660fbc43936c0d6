#pragma once

#include <cstdint>
#include <utility>

#include "tenure/tenure.h"

// Layouts that are drawn: axes in any order, views that begin anywhere, steps and flips.

namespace tenure::test {

/// Draws that are the same on every machine.
class Draws {
 public:
  explicit Draws(std::uint32_t seed) : state_(seed) {}
  std::int64_t below(std::int64_t n) {
    state_ = state_ * 1664525u + 1013904223u;
    return static_cast<std::int64_t>(state_ >> 8) % n;
  }
  bool coin() { return below(2) == 0; }
  template <class T, std::size_t n>
  T one_of(const T (&of)[n]) {
    return of[below(static_cast<std::int64_t>(n))];
  }

 private:
  std::uint32_t state_;
};

/// How a tensor is looked at, on any device.
struct Look {
  Shape whole;  ///< of the tensor
  Axes order;
  int sliced = 0;
  std::int64_t begin = 0;
  std::int64_t step = 1;
  bool flips = false;

  Tensor operator()(const Tensor& t) const {
    Tensor seen = slice(permute(t, order), sliced, begin, std::nullopt, step);
    return flips ? flip(seen, {sliced}) : seen;
  }
};
/// Of a tensor that is larger than `shape`, whose axes are in another order.
inline Look some_look(Draws& draws, const Shape& shape) {
  Look look;
  const int rank = shape.size();
  look.sliced = static_cast<int>(draws.below(rank));
  look.begin = draws.coin() ? 0 : draws.below(9);
  look.step = draws.below(4) == 0 ? 2 : 1;
  look.flips = draws.below(4) == 0;
  Shape seen = shape;  // before the slice
  seen[look.sliced] = look.begin + (shape[look.sliced] - 1) * look.step + 1;
  for (int d = 0; d < rank; ++d) look.order.push_back(d);
  if (draws.coin()) {
    for (int d = rank - 1; d > 0; --d) {
      std::swap(look.order[d], look.order[static_cast<int>(draws.below(d + 1))]);
    }
  }
  look.whole = seen;
  for (int d = 0; d < rank; ++d) look.whole[static_cast<int>(look.order[d])] = seen[d];
  return look;
}

}  // namespace tenure::test
