#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "tenure/tenure.h"
#include "tests/support/share.h"

// What the tests of budgets that evict have in common.

namespace tenure::test {

inline constexpr std::int64_t kSide = 128;
inline constexpr std::size_t kOne = kSide * kSide * sizeof(float);  // more than what is small

inline constexpr Budget::Options kEvict{.evict = true};

inline Tensor numbers(std::int64_t first) {
  return reshape(arange(first, first + kSide * kSide), {kSide, kSide}) * 0.001;
}

/// From the host: nothing can compute it again.
inline Tensor from_host(float value) {
  return reshape(tensor(std::vector<float>(kSide * kSide, value)), {kSide, kSide});
}

/// A row of results, each from the one before.
inline std::vector<Tensor> row_of(Tensor x, int n) {
  std::vector<Tensor> row{std::move(x)};
  for (int i = 0; i < n; ++i) row.push_back(tanh(row.back() * 1.5 + 0.25));
  return row;
}

/// Takes all the room that a budget has, so that everything that can goes.
inline void squeeze(const Budget& budget) {
  std::size_t bytes = budget.limit();
  while (bytes > 0) {
    try {
      const Tensor all = room(static_cast<std::int64_t>(bytes));
      return;
    } catch (const OutOfMemory&) {
      bytes -= std::min<std::size_t>(bytes, kOne);
    }
  }
}

}  // namespace tenure::test
