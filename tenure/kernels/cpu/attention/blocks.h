#pragma once

#include <cstdint>

namespace tenure::kernels {

/// A product of small matrices, c = a b or c += a b. Rows of b and c are contiguous; columns up to
/// the next full vector behind n are read and written.
struct BlockProduct {
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
  std::int64_t a_row = 0, a_column = 1;
  std::int64_t b_row = 0;
  std::int64_t c_row = 0;
  bool adds = false;
};

/// What attention is made of, on contiguous rows of T. Rows end in full vectors.
template <class T>
struct BlockLoops {
  std::int64_t lanes;
  void (*multiply)(const BlockProduct& shape, const T* a, const T* b, T* c);
  /// s = s scale + bias (none if nullptr) for n elements; their largest, or -inf.
  T (*score)(T* s, std::int64_t n, T scale, const T* bias);
  /// s = exp(s - largest) for n elements, 0 from there to `width`; their sum.
  T (*exponentiate)(T* s, std::int64_t n, std::int64_t width, T largest);
  /// s = s factor.
  void (*scale)(T* s, std::int64_t n, T factor);
  /// ds = p (dp - sum(p dp)) scale in place of dp: the way back through softmax and scale.
  void (*softmax_gradient)(const T* p, T* dp, std::int64_t n, T scale);
};

/// The best instance for this machine.
const BlockLoops<float>& find_block_loops(float tag);
const BlockLoops<double>& find_block_loops(double tag);

}  // namespace tenure::kernels
