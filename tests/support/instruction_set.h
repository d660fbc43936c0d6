#pragma once

#include <hwy/targets.h>

#include <cstdlib>
#include <string_view>

namespace tenure::testing_support {

/// TENURE_TEST_INSTRUCTIONS=avx2 or sse4 makes the kernels of this program use that instruction set
/// instead of the best one of the machine. Included by one source of a test program: the choice
/// comes before main(), since the records of ops keep what was chosen when they were made.
inline const bool kInstructionsChosen = [] {
  const char* const wanted = std::getenv("TENURE_TEST_INSTRUCTIONS");
  if (wanted == nullptr) return false;
  const auto target = std::string_view(wanted) == "avx2" ? HWY_AVX2 : HWY_SSE4;
  if ((hwy::SupportedTargets() & target) == 0) return false;
  hwy::SetSupportedTargetsForTest(target);
  return true;
}();

}  // namespace tenure::testing_support
