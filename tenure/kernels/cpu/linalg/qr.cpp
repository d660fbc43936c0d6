#include <algorithm>

#include "tenure/kernels/cpu/linalg/decompose.h"
#include "tenure/kernels/cpu/linalg/reflect.h"

namespace tenure::kernels::linalg {

void decompose_qr(double* a, std::int64_t rows, std::int64_t columns, double* q, double* factors) {
  const std::int64_t size = std::min(rows, columns);
  for (std::int64_t j = 0; j < size; ++j) {
    double* const v = a + j * rows + j;
    const Reflection reflection = make_reflection(v, rows - j);
    reflect(v, reflection.factor, rows - j, v + rows, rows, columns - j - 1);
    factors[j] = reflection.factor;
    // v goes to Q's column, where it is needed next; its place gets the diagonal.
    std::copy(v, v + (rows - j), q + j * rows + j);
    v[0] = reflection.first;
  }
  for (std::int64_t j = size - 1; j >= 0; --j) {
    double* const v = q + j * rows + j;
    reflect(v, factors[j], rows - j, v + rows, rows, size - j - 1);
    for (std::int64_t i = 1; i < rows - j; ++i) v[i] *= -factors[j];
    v[0] = 1 - factors[j];
    std::fill(q + j * rows, v, 0.0);
  }
  for (std::int64_t j = 0; j < size; ++j) {
    if (a[j * rows + j] >= 0) continue;
    for (std::int64_t i = j; i < columns; ++i) a[i * rows + j] = -a[i * rows + j];
    for (std::int64_t i = 0; i < rows; ++i) q[j * rows + i] = -q[j * rows + i];
  }
}

}  // namespace tenure::kernels::linalg
