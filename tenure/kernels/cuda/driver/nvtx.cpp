#include "tenure/kernels/cuda/driver/nvtx-inl.h"

#include "tenure/base/lasting.h"

namespace tenure::kernels::cuda {

const Nvtx& nvtx() {
  static constinit Lasting<const Nvtx> one;
  return one.get([] {
    Nvtx found;
    NvtxFunctions& functions = found.functions;
    const Symbol symbols[] = {
        {"nvtxRangePushA", reinterpret_cast<void**>(&functions.nvtxRangePushA)},
        {"nvtxRangePop", reinterpret_cast<void**>(&functions.nvtxRangePop)}};
    found.library = open_library({"libnvtx3interop.so.1", "libnvToolsExt.so.1"}, symbols);
    return new const Nvtx(std::move(found));
  });
}

}  // namespace tenure::kernels::cuda
