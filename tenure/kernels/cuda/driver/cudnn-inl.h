#pragma once

#include <cudnn.h>

#include "tenure/kernels/cuda/driver/symbols-inl.h"

// cuDNN: convolutions and attention, as graphs of its backend's.

namespace tenure::kernels::cuda {

#define TENURE_CUDNN_FUNCTIONS(X)  \
  X(cudnnGetVersion)               \
  X(cudnnGetErrorString)           \
  X(cudnnCreate)                   \
  X(cudnnSetStream)                \
  X(cudnnBackendCreateDescriptor)  \
  X(cudnnBackendDestroyDescriptor) \
  X(cudnnBackendSetAttribute)      \
  X(cudnnBackendGetAttribute)      \
  X(cudnnBackendFinalize)          \
  X(cudnnBackendExecute)

struct CudnnFunctions {
  TENURE_CUDNN_FUNCTIONS(TENURE_MEMBER)
};

/// The library as it was found.
struct Cudnn {
  Library library{};
  CudnnFunctions functions{};
  std::size_t version = 0;  ///< 91400
};
/// Looked for by the first call, once.
const Cudnn& cudnn();

}  // namespace tenure::kernels::cuda
