#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tenure/memory/default_device.h"
#include "tests/support/test_device.h"

// main() of the test programs that can run on the test device: with TENURE_TEST_DEVICE=1 all that
// names no device is there.

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const char* const asked = std::getenv("TENURE_TEST_DEVICE");
  if (asked != nullptr && std::string_view(asked) == "1") {
    tenure::test::test_device();
    tenure::set_default_device(tenure::test::kTestDevice);
    std::puts("on the test device");
  }
  return RUN_ALL_TESTS();
}
