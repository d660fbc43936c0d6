#include <fmt/format.h>

#include "tenure/base/lasting.h"
#include "tenure/kernels/cuda/driver/driver-inl.h"

namespace tenure::kernels::cuda {
namespace {

Driver load_driver() {
  Driver found;
  DriverFunctions& functions = found.functions;
  const Symbol symbols[] = {TENURE_DRIVER_FUNCTIONS(TENURE_SYMBOL){
      "cuEventElapsedTime", reinterpret_cast<void**>(&functions.elapsed_time)}};
  found.library = open_library({"libcuda.so.1"}, symbols);
  std::string& problem = found.library.problem;
  if (!problem.empty()) return found;
  // Older drivers answer this before anything else.
  if (functions.cuDriverGetVersion(&found.version) == CUDA_SUCCESS &&
      found.version < kOldestDriver) {
    problem =
        fmt::format("{} is too old: it is for CUDA {}.{}, and {}.0 is needed", found.library.path,
                    found.version / 1000, found.version % 1000 / 10, kOldestDriver / 1000);
    return found;
  }
  CUresult result = functions.cuInit(0);
  if (result == CUDA_SUCCESS) result = functions.cuDeviceGetCount(&found.devices);
  if (result != CUDA_SUCCESS && result != CUDA_ERROR_NO_DEVICE) {
    const char* text = nullptr;
    functions.cuGetErrorString(result, &text);
    problem = fmt::format("{} does not start: {}", found.library.path,
                          text == nullptr ? "unknown error" : text);
  }
  return found;
}

}  // namespace

const Driver& driver() {
  static constinit Lasting<const Driver> one;
  return one.get([] { return new const Driver(load_driver()); });
}

std::string text_of(CUresult result) {
  const char* name = nullptr;
  const char* text = nullptr;
  const DriverFunctions& functions = driver().functions;
  if (functions.cuGetErrorName(result, &name) != CUDA_SUCCESS ||
      functions.cuGetErrorString(result, &text) != CUDA_SUCCESS) {
    return fmt::format("error {} of the CUDA driver", static_cast<int>(result));
  }
  return fmt::format("{}: {}", name, text);
}

}  // namespace tenure::kernels::cuda
