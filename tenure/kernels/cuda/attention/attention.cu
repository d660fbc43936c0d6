#pragma once

#include "tenure/kernels/cuda/attention/head.cuh"

// A block has 32 rows of the result, and 64 of its columns. It goes over the matrices that meet
// them in pieces of 32 rows, in their order, and has the scores of one piece at a time: weights are
// relative to the largest score so far, and what was summed up is scaled when a larger one comes.
// Eight threads share a row: each has four of the scores of a piece and eight columns of the
// result.

namespace tenure::kernels::cuda {

inline constexpr int kPiece = 32;
inline constexpr int kAcross = 64;
inline constexpr int kDepth = 16;  ///< of products at a time: a block has 48 KiB to share
inline constexpr int kSharers = 8;
inline constexpr int kScores = kPiece / kSharers;
inline constexpr int kColumns = kAcross / kSharers;

inline int own_row() { return static_cast<int>(threadIdx.x) / kSharers; }
inline int own_column(int k) { return static_cast<int>(threadIdx.x) % kSharers + k * kSharers; }

/// Products of rows of x, from x_row on, with rows of y, from y_row on.
template <class T>
inline void multiply_rows(const HeadMatrix<T>& x, std::int64_t x_row, const HeadMatrix<T>& y,
                          std::int64_t y_row, Compute<T> (&products)[kScores]) {
  using V = Compute<T>;
  __shared__ V x_part[kPiece][kDepth + 1];
  __shared__ V y_part[kPiece][kDepth + 1];
  for (int k = 0; k < kScores; ++k) products[k] = 0;
  for (std::int64_t from = 0; from < x.columns; from += kDepth) {
    for (int i = static_cast<int>(threadIdx.x); i < kPiece * kDepth; i += kPiece * kSharers) {
      x_part[i / kDepth][i % kDepth] = x.at(x_row + i / kDepth, from + i % kDepth);
      y_part[i / kDepth][i % kDepth] = y.at(y_row + i / kDepth, from + i % kDepth);
    }
    __syncthreads();
    for (int c = 0; c < kDepth; ++c) {
      for (int k = 0; k < kScores; ++k) {
        products[k] = std::fma(x_part[own_row()][c], y_part[own_column(k)][c], products[k]);
      }
    }
    __syncthreads();
  }
}

/// sums += weights of this thread's row times rows of `x`, from `row` on, in its columns.
template <class T>
inline void add_rows(Compute<T> (&weights)[kPiece][kPiece + 1], const HeadMatrix<T>& x,
                     std::int64_t row, std::int64_t column, Compute<T> (&sums)[kColumns]) {
  using V = Compute<T>;
  __shared__ V part[kPiece][kAcross];
  for (int i = static_cast<int>(threadIdx.x); i < kPiece * kAcross; i += kPiece * kSharers) {
    part[i / kAcross][i % kAcross] = x.at(row + i / kAcross, column + i % kAcross);
  }
  __syncthreads();
  for (int r = 0; r < kPiece; ++r) {
    for (int k = 0; k < kColumns; ++k) {
      sums[k] = std::fma(weights[own_row()][r], part[r][own_column(k)], sums[k]);
    }
  }
  __syncthreads();
}

/// Calls `f(head, row, column)` for the results that this block has.
template <class F>
inline void for_each_result(const AttentionArguments& a, std::int64_t rows, std::int64_t columns,
                            const F& f) {
  const std::int64_t down = (rows + kPiece - 1) / kPiece;
  const std::int64_t across = (columns + kAcross - 1) / kAcross;
  for (std::int64_t i = blockIdx.x; i < a.heads.count * down * across; i += gridDim.x) {
    f(i / (down * across), i / across % down * kPiece, i % across * kAcross);
  }
}

/// Weights of one row as they come. Those of another piece make them relative to its largest.
template <class V>
struct RunningWeights {
  V largest = -std::numeric_limits<V>::infinity();
  V sum = 0;

  /// Makes weights of scores, for all threads to see, and says how what was there is scaled.
  V take(V (&weights)[kPiece][kPiece + 1], const V (&scores)[kScores]) {
    for (int k = 0; k < kScores; ++k) weights[own_row()][own_column(k)] = scores[k];
    __syncthreads();
    V most = largest;
    for (int r = 0; r < kPiece; ++r) {
      const V score = weights[own_row()][r];
      if (score > most) most = score;
    }
    __syncthreads();
    const bool has_any = most > -std::numeric_limits<V>::infinity();
    for (int k = 0; k < kScores; ++k) {
      // One that is no number stays so.
      const bool is_seen =
          scores[k] > -std::numeric_limits<V>::infinity() || scores[k] != scores[k];
      weights[own_row()][own_column(k)] =
          is_seen ? std::exp(scores[k] - (has_any ? most : V(0))) : V(0);
    }
    __syncthreads();
    const V scale = largest == most ? V(1) : std::exp(largest - most);
    V added = 0;
    for (int r = 0; r < kPiece; ++r) added += weights[own_row()][r];
    sum = sum * scale + added;
    largest = most;
    return scale;
  }
};

template <class T>
inline void attend(const AttentionArguments& a) {
  using V = Compute<T>;
  __shared__ V weights[kPiece][kPiece + 1];
  for_each_result(a, a.n, a.e, [&](std::int64_t which, std::int64_t row, std::int64_t column) {
    const Head<T> head = head_of<T>(a, which);
    const std::int64_t last = row + kPiece < a.n ? row + kPiece : a.n;
    const std::int64_t seen = keys_seen(a, last - 1);
    const std::int64_t query = row + own_row();
    RunningWeights<V> running;
    V sums[kColumns] = {};
    for (std::int64_t key = 0; key < seen; key += kPiece) {
      V scores[kScores];
      multiply_rows(head.q, row, head.k, key, scores);
      for (int k = 0; k < kScores; ++k) {
        scores[k] = score_of(a, head, query, key + own_column(k), scores[k]);
      }
      const V scale = running.take(weights, scores);
      for (int k = 0; k < kColumns; ++k) sums[k] *= scale;
      add_rows(weights, head.v, key, column, sums);
    }
    if (query >= a.n) return;
    T* const out = static_cast<T*>(a.out) + (which * a.n + query) * a.e + column;
    for (int k = 0; k < kColumns; ++k) {
      if (column + own_column(k) >= a.e) continue;
      out[own_column(k)] = static_cast<T>(running.sum == 0 ? V(0) : sums[k] / running.sum);
    }
  });
}

/// What the gradients want to know of each query.
template <class T>
inline void attention_facts(const AttentionArguments& a) {
  using V = Compute<T>;
  __shared__ V weights[kPiece][kPiece + 1];
  __shared__ V slopes[kPiece][kPiece + 1];
  for_each_result(a, a.n, 1, [&](std::int64_t which, std::int64_t row, std::int64_t) {
    const Head<T> head = head_of<T>(a, which);
    const std::int64_t last = row + kPiece < a.n ? row + kPiece : a.n;
    const std::int64_t seen = keys_seen(a, last - 1);
    const std::int64_t query = row + own_row();
    RunningWeights<V> running;
    V slope = 0;
    for (std::int64_t key = 0; key < seen; key += kPiece) {
      V scores[kScores];
      V of_weights[kScores];
      multiply_rows(head.q, row, head.k, key, scores);
      multiply_rows(head.gradient, row, head.v, key, of_weights);
      for (int k = 0; k < kScores; ++k) {
        scores[k] = score_of(a, head, query, key + own_column(k), scores[k]);
        slopes[own_row()][own_column(k)] = of_weights[k];
      }
      slope *= running.take(weights, scores);
      for (int r = 0; r < kPiece; ++r) {
        slope = std::fma(weights[own_row()][r], slopes[own_row()][r], slope);
      }
      __syncthreads();
    }
    if (query >= a.n || threadIdx.x % kSharers != 0) return;
    V* const facts = static_cast<V*>(a.facts) + (which * a.n + query) * 3;
    const V share = running.sum == 0 ? V(0) : V(1) / running.sum;
    facts[0] = running.largest;
    facts[1] = share;
    facts[2] = slope * share;
  });
}

/// The weight of a query and a key, of their score.
template <class V>
inline V weight_of(const V* facts, V score) {
  const bool is_seen = score > -std::numeric_limits<V>::infinity() || score != score;
  return is_seen ? std::exp(score - facts[0]) * facts[1] : V(0);
}

template <class T>
inline void attention_query_gradient(const AttentionArguments& a) {
  using V = Compute<T>;
  __shared__ V weights[kPiece][kPiece + 1];
  for_each_result(a, a.n, a.d, [&](std::int64_t which, std::int64_t row, std::int64_t column) {
    const Head<T> head = head_of<T>(a, which);
    const std::int64_t last = row + kPiece < a.n ? row + kPiece : a.n;
    const std::int64_t seen = keys_seen(a, last - 1);
    const std::int64_t query = row + own_row();
    const V* const facts =
        static_cast<const V*>(a.facts) + (which * a.n + (query < a.n ? query : 0)) * 3;
    V sums[kColumns] = {};
    for (std::int64_t key = 0; key < seen; key += kPiece) {
      V scores[kScores];
      V slopes[kScores];
      multiply_rows(head.q, row, head.k, key, scores);
      multiply_rows(head.gradient, row, head.v, key, slopes);
      for (int k = 0; k < kScores; ++k) {
        const V score = score_of(a, head, query, key + own_column(k), scores[k]);
        weights[own_row()][own_column(k)] =
            weight_of(facts, score) * (slopes[k] - facts[2]) * static_cast<V>(a.scale);
      }
      __syncthreads();
      add_rows(weights, head.k, key, column, sums);
    }
    if (query >= a.n) return;
    T* const out = static_cast<T*>(a.out) + (which * a.n + query) * a.d + column;
    for (int k = 0; k < kColumns; ++k) {
      if (column + own_column(k) < a.d) out[own_column(k)] = static_cast<T>(sums[k]);
    }
  });
}

/// The gradient by k, or by v: sums over the queries. A row of this block is a key.
template <class T, bool by_value>
inline void gradient_over_queries(const AttentionArguments& a) {
  using V = Compute<T>;
  __shared__ V weights[kPiece][kPiece + 1];
  const std::int64_t columns = by_value ? a.e : a.d;
  for_each_result(a, a.m, columns, [&](std::int64_t which, std::int64_t row, std::int64_t column) {
    const Head<T> head = head_of<T>(a, which);
    const std::int64_t key = row + own_row();
    V sums[kColumns] = {};
    for (std::int64_t first = 0; first < a.n; first += kPiece) {
      const std::int64_t last = first + kPiece < a.n ? first + kPiece : a.n;
      if (keys_seen(a, last - 1) <= row) continue;
      V scores[kScores];
      V slopes[kScores] = {};
      multiply_rows(head.k, row, head.q, first, scores);
      if (!by_value) multiply_rows(head.v, row, head.gradient, first, slopes);
      for (int k = 0; k < kScores; ++k) {
        const std::int64_t query = first + own_column(k);
        const V* const facts =
            static_cast<const V*>(a.facts) + (which * a.n + (query < a.n ? query : 0)) * 3;
        V weight = weight_of(facts, score_of(a, head, query, key, scores[k]));
        if (!by_value) weight *= (slopes[k] - facts[2]) * static_cast<V>(a.scale);
        weights[own_row()][own_column(k)] = weight;
      }
      __syncthreads();
      add_rows(weights, by_value ? head.gradient : head.q, first, column, sums);
    }
    if (key >= a.m) return;
    T* const out = static_cast<T*>(a.out) + (which * a.m + key) * columns + column;
    for (int k = 0; k < kColumns; ++k) {
      if (column + own_column(k) < columns) out[own_column(k)] = static_cast<T>(sums[k]);
    }
  });
}
template <class T>
inline void attention_key_gradient(const AttentionArguments& a) {
  gradient_over_queries<T, false>(a);
}
template <class T>
inline void attention_value_gradient(const AttentionArguments& a) {
  gradient_over_queries<T, true>(a);
}

}  // namespace tenure::kernels::cuda
