#include "tenure/eager/instead.h"

#include <algorithm>
#include <optional>

#include "tenure/ops/core/dispatch.h"
#include "tenure/ops/shape/meet.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::eager {
namespace {

const TensorBody* body_of(const Operand& operand) {
  return operand.is_scalar() ? nullptr : operand.tensor().body_or_null();
}

/// What all floats of a call become, if they do not stay what they are.
std::optional<DType> type_for(const ops::OpRecord& op, std::span<const Operand> given) {
  const auto any_of = [&](DType dtype) {
    return std::any_of(given.begin(), given.end(), [&](const Operand& operand) {
      const TensorBody* const body = body_of(operand);
      return body != nullptr && body->dtype == dtype;
    });
  };
  if (any_of(DType::float64)) return std::nullopt;
  switch (op.precision) {
    case ops::Precision::narrow:
      return ops::call_context().autocast;
    case ops::Precision::wide:
      return DType::float32;
    case ops::Precision::given:
    case ops::Precision::beside:
      break;
  }
  // Elementwise ops promote by themselves; others want one type.
  const int narrow_types = any_of(DType::bfloat16) + any_of(DType::float16);
  if (op.precision == ops::Precision::beside && narrow_types == 1) {
    const TensorBody* const first = body_of(given.front());
    if (first != nullptr && is_narrow_float(first->dtype)) return std::nullopt;
  }
  const int types = narrow_types + any_of(DType::float32);
  const bool is_mixed = op.elementwise == nullptr && op.view == nullptr && types > 1;
  return is_mixed ? std::optional(DType::float32) : std::nullopt;
}

}  // namespace

template <class Changes, class Make>
Instead Instead::of(std::span<const Operand> given, const Changes& changes, const Make& make) {
  Instead instead;
  const auto n = static_cast<std::size_t>(std::count_if(given.begin(), given.end(), changes));
  instead.made_.reserve(n);  // operands refer to its elements
  for (const Operand& operand : given) {
    if (n == 0) break;
    if (!changes(operand)) {
      instead.operands_.push_back(operand);
      continue;
    }
    instead.made_.push_back(make(operand));
    instead.operands_.emplace_back(std::move(instead.made_.back()), operand.site());
  }
  return instead;
}

Instead Instead::by_precision(const ops::OpRecord& op, std::span<const Operand> given) {
  const std::optional<DType> type = type_for(op, given);
  if (!type) return {};
  return of(
      given,
      [&](const Operand& operand) {
        const TensorBody* const body = body_of(operand);
        return body != nullptr && is_floating(body->dtype) && body->dtype != *type;
      },
      [&](const Operand& operand) {
        return cast(Operand(operand.tensor(), operand.site()), *type);
      });
}

Instead Instead::by_device(const ops::OpRecord& op, std::span<const Operand> given) {
  const std::optional<Device> place = ops::meeting_place(given);
  if (!place) return {};
  const ops::ActingFor acting(op.name);  // what is wrong with one is an error of the call
  return of(
      given,
      [&](const Operand& operand) {
        const TensorBody* const body = body_of(operand);
        return body != nullptr && body->device() != *place;
      },
      [&](const Operand& operand) {
        return ops::brought_to(operand.tensor(), *place, operand.site());
      });
}

}  // namespace tenure::eager
