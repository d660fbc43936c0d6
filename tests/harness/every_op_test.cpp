#include <gtest/gtest.h>

#include "tests/harness/checks.h"
#include "tests/support/instruction_set.h"

namespace tenure::harness {
namespace {

class EveryOp : public testing::TestWithParam<const ops::OpRecord*> {};

TEST_P(EveryOp, HasACompleteRecord) { check_record(*GetParam()); }
TEST_P(EveryOp, IsWithinItsErrorBound) { check_numerics(*GetParam()); }
TEST_P(EveryOp, TakesAnyLayout) { check_layouts(*GetParam()); }
TEST_P(EveryOp, TakesSpecialValues) { check_special_values(*GetParam()); }
TEST_P(EveryOp, StreamsWhatItStores) { check_streaming(*GetParam()); }
TEST_P(EveryOp, TakesNumbers) { check_scalars(*GetParam()); }
TEST_P(EveryOp, KeepsToItsMemoryEffect) { check_memory(*GetParam()); }
TEST_P(EveryOp, RejectsWrongInputs) { check_errors(*GetParam()); }
TEST_P(EveryOp, SurvivesFailedAllocations) { check_faults(*GetParam()); }
TEST_P(EveryOp, HasTheGradientOfDifferences) { check_gradient(*GetParam()); }
TEST_P(EveryOp, SavesWhatItsGradientReads) { check_saved(*GetParam()); }
TEST_P(EveryOp, HasTheSameGradientInATrace) { check_gradient_modes(*GetParam()); }

INSTANTIATE_TEST_SUITE_P(Ops, EveryOp, testing::ValuesIn(ops::all_ops()),
                         [](const auto& info) { return std::string(info.param->name); });

}  // namespace
}  // namespace tenure::harness
