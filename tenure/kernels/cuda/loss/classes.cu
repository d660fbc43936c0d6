#pragma once

#include "tenure/kernels/cuda/loss/loss.cuh"

namespace tenure::kernels::cuda {

inline void check_classes(const ClassesArguments& a) {
  struct Found {
    std::uint64_t row;
    std::int64_t target;
    std::uint64_t counted;
  };
  Found own{~std::uint64_t{0}, 0, 0};
  for (auto row = static_cast<std::int64_t>(thread_index()); row < a.rows;
       row += static_cast<std::int64_t>(thread_count())) {
    const std::int64_t target = class_at(a.targets, row);
    if (target == a.ignore_index) continue;
    ++own.counted;
    if ((target < 0 || target >= a.classes) && own.row == ~std::uint64_t{0}) {
      own.row = static_cast<std::uint64_t>(row);
      own.target = target;
    }
  }
  const Found all = joined(own, kWholeBlock, [](const Found& p, const Found& q) {
    const Found& first = q.row < p.row ? q : p;
    return Found{first.row, first.target, p.counted + q.counted};
  });
  if (threadIdx.x != 0) return;
  std::uint64_t* const to = a.answers + kClassAnswers * blockIdx.x;
  to[0] = all.row;
  to[1] = static_cast<std::uint64_t>(all.target);
  to[2] = all.counted;
}

/// Elements of the size of T; what they mean does not matter.
template <class T>
inline void class_values(const ClassValuesArguments& a) {
  for (auto row = static_cast<std::int64_t>(thread_index()); row < a.rows;
       row += static_cast<std::int64_t>(thread_count())) {
    const std::int64_t target = class_at(a.targets, row);
    const T* const x = static_cast<const T*>(a.x.data) + offset_in(a.x.rows, row);
    static_cast<T*>(a.out)[row] =
        target == a.ignore_index ? T(0) : x[offset_in(a.x.columns, target)];
  }
}

}  // namespace tenure::kernels::cuda
