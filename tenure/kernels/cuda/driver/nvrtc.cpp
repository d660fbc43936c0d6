#include <fmt/format.h>

#include "tenure/base/lasting.h"
#include "tenure/kernels/cuda/driver/driver-inl.h"
#include "tenure/kernels/cuda/driver/nvrtc-inl.h"

namespace tenure::kernels::cuda {
namespace {

Nvrtc load_version(const char* name) {
  Nvrtc found;
  NvrtcFunctions& functions = found.functions;
  const Symbol symbols[] = {TENURE_NVRTC_FUNCTIONS(TENURE_SYMBOL)};
  found.library = open_library({name}, symbols);
  if (!found.library.is_usable()) return found;
  int major = 0;
  int minor = 0;
  functions.nvrtcVersion(&major, &minor);
  found.version = 1000 * major + 10 * minor;
  return found;
}

Nvrtc load_nvrtc() {
  // What it makes is understood by drivers of its own major version and by newer ones.
  const int newest = driver().library.is_usable() ? driver().version / 1000 : 13;
  Nvrtc first;
  for (int major = newest >= 13 ? 13 : newest; major >= 12; --major) {
    Nvrtc found = load_version(fmt::format("libnvrtc.so.{}", major).c_str());
    if (found.library.is_usable()) return found;
    if (first.library.problem.empty()) first = std::move(found);
  }
  return first;
}

}  // namespace

const Nvrtc& nvrtc() {
  static constinit Lasting<const Nvrtc> one;
  return one.get([] { return new const Nvrtc(load_nvrtc()); });
}

}  // namespace tenure::kernels::cuda
