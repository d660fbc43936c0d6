#pragma once

#include <cublasLt.h>

#include "tenure/kernels/cuda/driver/symbols-inl.h"

// cuBLASLt: products of matrices.

namespace tenure::kernels::cuda {

#define TENURE_CUBLASLT_FUNCTIONS(X)  \
  X(cublasLtGetVersion)               \
  X(cublasLtGetStatusString)          \
  X(cublasLtCreate)                   \
  X(cublasLtMatmul)                   \
  X(cublasLtMatmulAlgoGetHeuristic)   \
  X(cublasLtMatmulDescCreate)         \
  X(cublasLtMatmulDescDestroy)        \
  X(cublasLtMatmulDescSetAttribute)   \
  X(cublasLtMatrixLayoutCreate)       \
  X(cublasLtMatrixLayoutDestroy)      \
  X(cublasLtMatrixLayoutSetAttribute) \
  X(cublasLtMatmulPreferenceCreate)   \
  X(cublasLtMatmulPreferenceDestroy)  \
  X(cublasLtMatmulPreferenceSetAttribute)

struct CublasLtFunctions {
  TENURE_CUBLASLT_FUNCTIONS(TENURE_MEMBER)
};

/// The library as it was found.
struct CublasLt {
  Library library{};
  CublasLtFunctions functions{};
  std::size_t version = 0;  ///< 130000
};
/// Looked for by the first call, once.
const CublasLt& cublaslt();

}  // namespace tenure::kernels::cuda
