#pragma once

#include <cstdint>

namespace tenure::kernels::cuda {

/// A matrix with a row for each sequence.
struct CellMatrix {
  void* data;
  std::int64_t row;  ///< in elements
  std::int64_t column;
};

/// Of one step of a recurrent layer; inputs and outputs in the order of the op's.
struct CellArguments {
  std::int64_t rows;
  std::int64_t units;
  CellMatrix in[5];
  CellMatrix out[3];
};

}  // namespace tenure::kernels::cuda
