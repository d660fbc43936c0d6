#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "tests/fuzz/formats.h"

// What libFuzzer calls.

namespace {

const tenure::fuzz::Format* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* const name = std::getenv("TENURE_FUZZ");
  for (const tenure::fuzz::Format& format : tenure::fuzz::formats()) {
    if (name != nullptr && format.name == name) chosen = &format;
  }
  if (chosen != nullptr) return 0;
  std::fputs("TENURE_FUZZ must name a format, one of:", stderr);
  for (const tenure::fuzz::Format& format : tenure::fuzz::formats()) {
    std::fprintf(stderr, " %s", std::string(format.name).c_str());
  }
  std::fputs("\n", stderr);
  std::exit(2);
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  try {
    tenure::fuzz::survive(*chosen, {reinterpret_cast<const char*>(bytes), size});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    std::abort();
  }
  return 0;
}
