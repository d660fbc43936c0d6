#include <algorithm>

#include "tenure/check/checks.h"
#include "tenure/check/compare.h"
#include "tenure/check/expect-inl.h"
#include "tenure/graph/function.h"
#include "tenure/memory/region.h"

namespace tenure::check {

void check_modes(const ops::OpRecord& op) {
  if (op.data_dependent || op.draws != nullptr) return;
  for (const Case& c : repeated_cases_of(op)) {
    CHECK_WITHIN(describe(c));
    const std::vector<Tensor> inputs = make_all(c);
    if (inputs.empty()) continue;
    const std::vector<Tensor> expected = run(c, inputs);
    const auto f = function([&](const std::vector<Tensor>& in) { return run(c, in); });
    const Plan plan = f.plan(inputs);
    std::vector<Tensor> got;
    std::int64_t peak = 0;
    {
      const MemoryRegion region;
      got = f(inputs);
      peak = region.peak_bytes();
    }
    CHECK_TRUE(equals(got, expected)) << "as a function";
    CHECK_EQ(peak, plan.peak);
  }
}

}  // namespace tenure::check
