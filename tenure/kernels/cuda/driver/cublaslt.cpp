#include "tenure/base/lasting.h"
#include "tenure/kernels/cuda/driver/cublaslt-inl.h"

namespace tenure::kernels::cuda {

const CublasLt& cublaslt() {
  static constinit Lasting<const CublasLt> one;
  return one.get([] {
    CublasLt found;
    CublasLtFunctions& functions = found.functions;
    const Symbol symbols[] = {TENURE_CUBLASLT_FUNCTIONS(TENURE_SYMBOL)};
    found.library = open_library({"libcublasLt.so.13", "libcublasLt.so.12"}, symbols);
    if (found.library.is_usable()) found.version = functions.cublasLtGetVersion();
    return new const CublasLt(std::move(found));
  });
}

}  // namespace tenure::kernels::cuda
