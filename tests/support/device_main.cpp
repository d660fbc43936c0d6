#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tenure/kernels/cuda/cuda.h"
#include "tenure/memory/default_device.h"
#include "tenure/tensor/device_error.h"
#include "tests/support/test_device.h"
#ifdef TENURE_EMULATED_CUDA
#include "tests/cuda/prepare.h"
#endif

// main() of the test programs that can run on another device: with TENURE_TEST_DEVICE=1 all that
// names no device is on the test device, with TENURE_TEST_DEVICE=cuda on the first GPU.

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const char* const asked = std::getenv("TENURE_TEST_DEVICE");
  if (asked != nullptr && std::string_view(asked) == "1") {
    tenure::test::test_device();
    tenure::set_default_device(tenure::test::kTestDevice);
    std::puts("on the test device");
  } else if (asked != nullptr && std::string_view(asked) == "cuda") {
    try {
      tenure::set_default_device(tenure::cuda());
    } catch (const tenure::DeviceError& error) {
      std::puts(error.what());
      return 77;  // skipped
    }
#ifdef TENURE_EMULATED_CUDA
    tenure::test::prepare_every_kernel(tenure::cuda());
#endif
    std::puts("on the GPU");
  }
  return RUN_ALL_TESTS();
}
