#include <cmath>
#include <limits>

#include "tenure/check/checks.h"
#include "tenure/check/compare.h"
#include "tenure/check/expect-inl.h"
#include "tenure/check/numbers.h"
#include "tenure/ops/core/backend.h"

namespace tenure::check {
namespace {

using ops::OpRecord;
using ops::TypeRule;

/// The type that a rule gives, of inputs of one type.
DType result_type(TypeRule rule, DType dtype) {
  switch (rule) {
    case TypeRule::comparison:
    case TypeRule::logic:
      return DType::boolean;
    case TypeRule::floating:
      return is_floating(dtype) ? dtype : DType::float32;
    default:
      return dtype;
  }
}

std::vector<long double> special_values(DType dtype) {
  constexpr long double kInfinity = std::numeric_limits<long double>::infinity();
  std::vector<long double> values{std::numeric_limits<long double>::quiet_NaN()};
  const long double end = largest(dtype);
  for (const long double value :
       {0.0L, smallest(dtype), smallest_normal(dtype) - smallest(dtype), smallest_normal(dtype),
        3 * smallest_normal(dtype), 0.5L, 1.0L, 1.5L, 3.0L, 100.0L, end / 2, end, kInfinity}) {
    values.push_back(nearest(dtype, value));
    values.push_back(nearest(dtype, -value));
  }
  return values;
}

/// All combinations of special values in one call.
Case special_case(const OpRecord& op, DType dtype) {
  Case c{.op = &op, .sample = "of special values"};
  std::vector<std::vector<long double>> choices;
  std::size_t n = 1;
  for (int i = 0; i < op.elementwise->arity; ++i) {
    const bool is_condition = op.elementwise->rule == TypeRule::select && i == 0;
    choices.push_back(is_condition ? std::vector<long double>{0, 1} : special_values(dtype));
    const double limit = op.elementwise->last_limit;
    if (limit > 0 && i + 1 == op.elementwise->arity) {
      std::erase_if(choices.back(), [&](long double value) { return std::abs(value) > limit; });
    }
    n *= choices.back().size();
    c.inputs.push_back({.dtype = is_condition ? DType::boolean : dtype});
  }
  std::size_t period = 1;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    c.inputs[i].shape = {static_cast<std::int64_t>(n)};
    for (std::size_t at = 0; at < n; ++at) {
      c.inputs[i].values.push_back(choices[i][at / period % choices[i].size()]);
    }
    period *= choices[i].size();
  }
  return c;
}

}  // namespace

void check_record(const OpRecord& op) {
  CHECK_TRUE(op.samples != nullptr && !op.samples().empty()) << op.name << " has no samples";
  const bool has_reference =
      op.elementwise != nullptr ? op.elementwise->reference != nullptr : op.reference != nullptr;
  CHECK_TRUE(has_reference) << op.name << " has no reference";
  for (const char* text : {op.name, op.family, op.signature, op.doc}) {
    CHECK_TRUE(text != nullptr && *text != '\0') << op.name << " lacks a text";
  }
  CHECK_NE(op.dtypes, 0u) << op.name << " takes no element type";
  CHECK_FALSE(cases_of(op).empty()) << op.name << ": no sample suits any of its types";
  if (!ops::needs_kernel(op)) return;
  const ops::KernelSlot* const slot = ops::find_kernel(op, cpu);
  CHECK_TRUE(slot != nullptr) << op.name << " has no kernel";
  if (slot == nullptr) return;
  CHECK_EQ(op.memory.workspace, slot->workspace != nullptr)
      << op.name << ": its memory effect and its workspace do not agree";
}

void check_numerics(const OpRecord& op) {
  for (const Case& c : cases_of(op)) {
    CHECK_WITHIN(describe(c));
    const std::vector<Tensor> got = run(c, make_all(c));
    expect_reference(c, got, expected_of(c));
    if (op.elementwise == nullptr) continue;
    CHECK_EQ(got[0].dtype(), result_type(op.elementwise->rule, c.inputs.back().dtype));
  }
}

void check_special_values(const OpRecord& op) {
  if (op.elementwise == nullptr) return;
  for (int i = 0; i < kDTypes; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (!is_floating(dtype) || !op.takes(dtype)) continue;
    const Case c = special_case(op, dtype);
    CHECK_WITHIN(describe(c));
    expect_reference(c, run(c, make_all(c)), expected_of(c), true);
  }
}

}  // namespace tenure::check
