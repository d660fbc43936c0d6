#pragma once

#include "tenure/kernels/cuda/attention/attention_arguments.h"
#include "tenure/kernels/cuda/places/places.cuh"

// What all kernels of attention ask of a head.

namespace tenure::kernels::cuda {

/// One head's part of a matrix.
template <class T>
struct HeadMatrix {
  const T* data;
  std::int64_t row;
  std::int64_t column;
  std::int64_t rows;
  std::int64_t columns;

  Compute<T> at(std::int64_t i, std::int64_t j) const {
    return i < rows && j < columns ? static_cast<Compute<T>>(data[i * row + j * column])
                                   : Compute<T>(0);
  }
};
template <class T>
inline HeadMatrix<T> head_matrix(const AttentionArguments& a, const AttentionMatrix& matrix,
                                 int operand, std::int64_t head, std::int64_t rows,
                                 std::int64_t columns) {
  return {static_cast<const T*>(matrix.data) +
              place_of(a.heads, static_cast<std::uint64_t>(head), operand),
          matrix.row, matrix.column, rows, columns};
}

/// The matrices of one head.
template <class T>
struct Head {
  HeadMatrix<T> q, k, v, gradient;
  std::int64_t mask;  ///< where its mask begins
};
template <class T>
inline Head<T> head_of(const AttentionArguments& a, std::int64_t head) {
  return {head_matrix<T>(a, a.q, 0, head, a.n, a.d), head_matrix<T>(a, a.k, 1, head, a.m, a.d),
          head_matrix<T>(a, a.v, 2, head, a.m, a.e),
          head_matrix<T>(a, a.gradient, 3, head, a.n, a.e),
          place_of(a.heads, static_cast<std::uint64_t>(head), 4)};
}

/// How many keys a query sees.
inline std::int64_t keys_seen(const AttentionArguments& a, std::int64_t query) {
  if (a.causal == 0) return a.m;
  const std::int64_t seen = query + 1 + a.m - a.n;
  return seen < 0 ? 0 : seen < a.m ? seen : a.m;
}

template <class T>
inline std::int64_t mask_place(const AttentionArguments& a, const Head<T>& head, std::int64_t query,
                               std::int64_t key) {
  return head.mask + query * a.mask.row + key * a.mask.column;
}
/// Whether there are such a query and key, and it sees it.
template <class T>
inline bool is_seen(const AttentionArguments& a, const Head<T>& head, std::int64_t query,
                    std::int64_t key) {
  if (query >= a.n || key >= keys_seen(a, query)) return false;
  return a.mask_kind != 1 || static_cast<const bool*>(a.mask.data)[mask_place(a, head, query, key)];
}
/// The score of a query and a key, of their product.
template <class T>
inline Compute<T> score_of(const AttentionArguments& a, const Head<T>& head, std::int64_t query,
                           std::int64_t key, Compute<T> product) {
  using V = Compute<T>;
  if (!is_seen(a, head, query, key)) return -std::numeric_limits<V>::infinity();
  const V score = product * static_cast<V>(a.scale);
  if (a.mask_kind != 2) return score;
  return score +
         static_cast<V>(static_cast<const T*>(a.mask.data)[mask_place(a, head, query, key)]);
}

}  // namespace tenure::kernels::cuda
