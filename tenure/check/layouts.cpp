#include <algorithm>

#include "tenure/check/checks.h"
#include "tenure/check/compare.h"
#include "tenure/check/expect-inl.h"

namespace tenure::check {
namespace {

using ops::OpRecord;

Operand number(const Input& input) {
  const long double value = input.values[0];
  if (input.dtype == DType::boolean) return value != 0;
  if (is_integral(input.dtype)) return static_cast<std::int64_t>(value);
  return static_cast<double>(value);
}

/// Replaces input i by its first element, once as a number and once as a tensor of rank 0.
void expect_scalar_is_tensor(const Case& c, std::size_t i) {
  CHECK_WITHIN(Message() << describe(c) << ", number instead of input " << i);
  Input element{.dtype = c.inputs[i].dtype, .shape = {}, .values = {c.inputs[i].values[0]}};
  std::vector<Tensor> tensors = make_all(c);
  std::vector<Operand> operands(tensors.begin(), tensors.end());
  operands[i] = number(element);
  const std::vector<Tensor> got = run(c, operands);
  tensors[i] = make(element);
  CHECK_TRUE(equals(got, run(c, tensors)));
}

}  // namespace

void check_layouts(const OpRecord& op) {
  const bool is_exact = op.elementwise != nullptr || op.stages;
  for (const Case& original : repeated_cases_of(op)) {
    std::vector<ops::Reference> expected;
    if (!is_exact) expected = expected_of(original);
    for (const LayoutKind layout : kStridedLayouts) {
      const bool repeats = layout >= LayoutKind::first_still;
      Case c = original;
      std::vector<Tensor> strided;
      for (Input& input : c.inputs) {
        const LayoutKind own = repeats && !input.is_random ? LayoutKind::contiguous : layout;
        input = suited(input, own);
        strided.push_back(make(input, own));
      }
      CHECK_WITHIN(Message() << describe(c) << ", " << name_of(layout));
      const std::vector<Tensor> got = run(c, strided);
      if (is_exact) {
        CHECK_TRUE(equals(got, run(c, make_all(c))));
      } else {  // sums may be taken in the order in which the elements lie
        expect_reference(c, got, repeats ? expected_of(c) : expected);
      }
    }
  }
}

void check_scalars(const OpRecord& op) {
  if (op.elementwise == nullptr || op.elementwise->arity < 2) return;
  for (const Case& c : cases_of(op)) {
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      if (!c.inputs[i].values.empty()) expect_scalar_is_tensor(c, i);
    }
  }
}

}  // namespace tenure::check
