#pragma once

#include <cstdint>

namespace tenure::kernels {

/// The cells on one row of n hidden units: pointers to the inputs' and outputs' rows, in their
/// order.
template <class T>
struct CellRows {
  using Row = void (*)(const T* const* in, T* const* out, std::int64_t n);
  Row lstm;
  Row lstm_gradient;
  Row gru;
  Row gru_gradient;
};

/// The best instance for this machine.
const CellRows<float>& find_cell_rows(float tag);
const CellRows<double>& find_cell_rows(double tag);

}  // namespace tenure::kernels
