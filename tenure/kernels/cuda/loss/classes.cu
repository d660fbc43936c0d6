#pragma once

#include "tenure/kernels/cuda/loss/classes.cuh"

namespace tenure::kernels::cuda {

inline void check_classes(const ClassesArguments& a) {
  struct Found {
    std::uint64_t row;
    std::int64_t target;
  };
  Found own{~std::uint64_t{0}, 0};
  for (auto row = static_cast<std::int64_t>(thread_index()); row < a.rows;
       row += static_cast<std::int64_t>(thread_count())) {
    const std::int64_t target = class_at(a.targets, row);
    if (target == a.ignore_index) continue;
    if ((target < 0 || target >= a.classes) && own.row == ~std::uint64_t{0}) {
      own.row = static_cast<std::uint64_t>(row);
      own.target = target;
    }
  }
  const Found all = joined(own, kWholeBlock,
                           [](const Found& p, const Found& q) { return q.row < p.row ? q : p; });
  if (threadIdx.x != 0) return;
  std::uint64_t* const to = a.answers + kClassAnswers * blockIdx.x;
  to[0] = all.row;
  to[1] = static_cast<std::uint64_t>(all.target);
}

/// Each block leaves how many of its rows count.
inline void count_classes(const CountClassesArguments& a) {
  const std::int64_t begin = blockIdx.x * a.chunk;
  const std::int64_t end = begin + a.chunk < a.rows ? begin + a.chunk : a.rows;
  const double all =
      sum_of_lanes(counted_by_thread(a.targets, a.ignore_index, begin, end), kWholeBlock);
  if (threadIdx.x == 0) a.counts[blockIdx.x] = all;
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
