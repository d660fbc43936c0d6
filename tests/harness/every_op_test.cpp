#include <gtest/gtest.h>

#include <cstdlib>

#include "tenure/check/cases.h"
#include "tenure/check/checks.h"
#include "tests/harness/passes.h"
#include "tests/support/sanitized.h"

namespace tenure::check {
namespace {

class EveryOp : public testing::TestWithParam<const ops::OpRecord*> {
 protected:
  static void SetUpTestSuite() {
    if (test::kSanitized || std::getenv("TENURE_TEST_DEVICE") != nullptr) take_types_in_turn();
  }
};

TEST_P(EveryOp, HasACompleteRecord) { expect(check_record, *GetParam()); }
TEST_P(EveryOp, IsWithinItsErrorBound) { expect(check_numerics, *GetParam()); }
TEST_P(EveryOp, TakesAnyLayout) { expect(check_layouts, *GetParam()); }
TEST_P(EveryOp, TakesSpecialValues) { expect(check_special_values, *GetParam()); }
TEST_P(EveryOp, TakesNumbers) { expect(check_scalars, *GetParam()); }
TEST_P(EveryOp, KeepsToItsMemoryEffect) { expect(check_memory, *GetParam()); }
TEST_P(EveryOp, WritesWhatIsItsOwn) { expect(check_bounds, *GetParam()); }
TEST_P(EveryOp, LeavesNothingOnTheHeap) { expect(check_heap, *GetParam()); }
TEST_P(EveryOp, RejectsWrongInputs) { expect(check_errors, *GetParam()); }
TEST_P(EveryOp, NamesTheLineOfWrongCalls) { expect(check_error_sites, *GetParam()); }
TEST_P(EveryOp, SurvivesFailedAllocations) { expect(check_faults, *GetParam()); }
TEST_P(EveryOp, DoesTheSameInEveryMode) { expect(check_modes, *GetParam()); }
TEST_P(EveryOp, TakesSizesThatARunKnows) { expect(check_unknown_sizes, *GetParam()); }
TEST_P(EveryOp, GivesTheSameBitsInParts) { expect(check_parts, *GetParam()); }
TEST_P(EveryOp, HasTheGradientOfDifferences) { expect(check_gradient, *GetParam()); }
TEST_P(EveryOp, SavesWhatItsGradientReads) { expect(check_saved, *GetParam()); }
TEST_P(EveryOp, GivesTheSameBitsOnAnyNumberOfThreads) { expect(check_threads, *GetParam()); }
TEST_P(EveryOp, HasTheSameGradientInATrace) { expect(check_gradient_modes, *GetParam()); }

INSTANTIATE_TEST_SUITE_P(Ops, EveryOp, testing::ValuesIn(ops::all_ops()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace tenure::check
