#pragma once

#include <cstdint>
#include <limits>

namespace tenure::kernels {

/// What the loss of a row of logits x needs, with probabilities q if there are some.
struct RowSums {
  double exponentials = 0;   ///< of exp(x - shift)
  double logits = 0;         ///< of x
  double products = 0;       ///< of q x, 0 where q is
  double probabilities = 0;  ///< of q
};

template <class T>
struct RowSoftmax {
  T shift = -std::numeric_limits<T>::infinity();
  RowSums sums{};
};

/// The vector loops over a row, or a piece of one; `q` may be nullptr.
template <class T>
struct RowLoops {
  /// The largest of x and `start`; NaN is left out.
  T (*max)(const T* x, std::int64_t n, T start);
  /// Adds to `sums`; `wants_logits`: also the sum of x. Writes exp(x - shift) to `out`, which may
  /// be x, unless that is nullptr.
  void (*add)(const T* x, const T* q, std::int64_t n, T shift, bool wants_logits, RowSums& sums,
              T* out);
  /// What max() and then add() make of each of `rows` rows, one after the other; without q.
  void (*softmax)(const T* x, std::int64_t rows, std::int64_t n, bool wants_logits,
                  RowSoftmax<T>* results, T* out);
  /// out = exp(x - shift) factor - weight q - constant.
  void (*gradient)(const T* x, const T* q, std::int64_t n, T shift, T factor, T weight, T constant,
                   T* out);
  /// The same of x in which add() wrote, without q.
  void (*finish)(T* x, std::int64_t n, T factor, T constant);
};

/// The best instance for this machine.
const RowLoops<float>& find_row_loops(float tag);
const RowLoops<double>& find_row_loops(double tag);

}  // namespace tenure::kernels
