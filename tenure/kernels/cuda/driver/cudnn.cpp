#include "tenure/base/lasting.h"
#include "tenure/kernels/cuda/driver/cudnn-inl.h"

namespace tenure::kernels::cuda {

const Cudnn& cudnn() {
  static constinit Lasting<const Cudnn> one;
  return one.get([] {
    Cudnn found;
    CudnnFunctions& functions = found.functions;
    const Symbol symbols[] = {TENURE_CUDNN_FUNCTIONS(TENURE_SYMBOL)};
    found.library = open_library({"libcudnn.so.9"}, symbols);
    if (found.library.is_usable()) found.version = functions.cudnnGetVersion();
    return new const Cudnn(std::move(found));
  });
}

}  // namespace tenure::kernels::cuda
