#include "tenure/ops/core/cost.h"

#include <gtest/gtest.h>

#include <vector>

#include "tenure/tenure.h"

namespace tenure {
namespace {

ops::Cost cost_of(const char* name, const std::vector<Shape>& in, const Shape& out,
                  const ops::Attributes& attributes = {}) {
  const auto view = [](const Shape& shape) {
    return ops::View{.dtype = DType::float32,
                     .shape = shape,
                     .strides = contiguous_strides(shape),
                     .data = nullptr};
  };
  std::vector<ops::View> inputs;
  for (const Shape& shape : in) inputs.push_back(view(shape));
  const std::vector<ops::View> outputs{view(out)};
  return ops::cost_of(*ops::find_op(name),
                      {.op = name, .in = inputs, .out = outputs, .attributes = attributes});
}

TEST(Cost, CountsWhatAProductMultipliesAndAdds) {
  const ops::Cost cost = cost_of("matmul", {{3, 4}, {4, 5}}, {3, 5});
  EXPECT_EQ(cost.flops, 2 * 3 * 4 * 5);
  EXPECT_EQ(cost.bytes, 4 * (12 + 20 + 15));
  EXPECT_EQ(cost_of("matmul", {{7, 3, 4}, {4, 5}}, {7, 3, 5}).flops, 7 * 2 * 3 * 4 * 5);
}

TEST(Cost, OfElementwiseOpsGrowsWithTheirWork) {
  const ops::Cost sum = cost_of("add", {{8}, {8}}, {8});
  EXPECT_EQ(sum.flops, 8);
  EXPECT_EQ(sum.bytes, 4 * 3 * 8);
  EXPECT_GT(cost_of("tanh", {{8}}, {8}).flops, sum.flops);
}

TEST(Cost, OfAReductionIsThatOfReading) { EXPECT_EQ(cost_of("sum", {{8, 8}}, {}).flops, 64); }

TEST(Cost, OfAViewIsNothing) {
  const ops::Cost view =
      cost_of("transpose", {{2, 3}}, {3, 2}, ops::Attributes(std::int64_t{0}, std::int64_t{1}));
  EXPECT_EQ(view.flops, 0);
  EXPECT_EQ(view.bytes, 0);
}

}  // namespace
}  // namespace tenure
