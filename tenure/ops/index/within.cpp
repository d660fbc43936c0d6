#include "tenure/ops/index/within.h"

#include <fmt/format.h>

#include <limits>
#include <string>

#include "tenure/ops/check_ops.h"
#include "tenure/ops/core/define.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/index/attributes.h"
#include "tenure/ops/index/outside.h"

namespace tenure::ops {
namespace {

struct Within {
  static constexpr auto family = "indexing";
  static constexpr auto name = "within";
  static constexpr auto signature = "within(x, low, high)";
  static constexpr auto doc = "x, if its elements lie in [low, high]; else an error that names one";
  static constexpr auto memory = reuses(1);
  static constexpr auto types = kNumberTypes;
  static constexpr bool may_fail = true;
  static void backward(Backward& b) { b.results[0] = std::move(b.gradients[0]); }
  static constexpr GradientRule gradient = reads_nothing(backward);

  static Specs infer(const Kernel& k) { return {{k.in[0].dtype, k.in[0].shape}}; }
  static std::vector<Reference> reference(const std::vector<Reference>& in, const Attributes&) {
    return {in[0]};
  }
  static std::vector<Sample> samples() {
    const Attributes wide(-100.0, 100.0, false, std::string(name), std::string());
    return {{.inputs = {{.shape = {3, 4}}}, .attributes = wide},
            {.inputs = {{.shape = {}}}, .attributes = wide},
            {.inputs = {{.shape = {0, 2}}}, .attributes = wide}};
  }
};

/// The place of element `i`, counted in the order of rows.
Dims place_of(std::int64_t i, const Shape& shape) {
  Dims place = Dims::filled(shape.size(), 0);
  for (int axis = shape.size() - 1; axis >= 0; --axis) {
    place[axis] = i % shape[axis];
    i /= shape[axis];
  }
  return place;
}

}  // namespace

std::vector<const OpRecord*> check_ops() { return {&record<Within>()}; }

Tensor within(const Operand& x, double low, double high, const Requirement& requirement) {
  return call(record<Within>(), x,
              Attributes(low, high, requirement.is_index, std::string(requirement.op),
                         std::string(requirement.subject)));
}

void refuse_outside(const Kernel& k, const void* element, std::int64_t number) {
  using Names = WithinAttributes;
  std::int64_t index = 0;
  std::string shown;
  visit_dtype(k.in[0].dtype, [&]<class T>(TypeTag<T>) {
    const T value = *static_cast<const T*>(element);
    if constexpr (std::is_integral_v<T>) {
      index = static_cast<std::int64_t>(value);
      shown = fmt::format("{}", index);
    } else {
      shown = fmt::format("{}", static_cast<double>(value));
    }
  });
  const double low = k.attributes.number(Names::low);
  const double high = k.attributes.number(Names::high);
  const bool is_open = high == std::numeric_limits<double>::max();
  const std::string wanted = is_open ? fmt::format("no finite number from {} on", low)
                                     : fmt::format("not in [{}, {}]", low, high);
  const Shape& shape = k.in[0].shape;
  const std::string text =
      fmt::format("{}{}{} is {}", k.attributes.text(Names::subject), shown,
                  shape.empty() ? "" : " at " + to_string(place_of(number, shape)), wanted);
  const std::string& op = k.attributes.text(Names::op);
  if (k.attributes.flag(Names::is_index)) {
    throw IndexError(op, text, index, static_cast<std::int64_t>(high) + 1);
  }
  throw ValueError(op + ": " + text);
}

}  // namespace tenure::ops

namespace tenure {

Tensor within(const Operand& x, double low, double high) {
  return ops::within(x, low, high, {.op = "within"});
}

}  // namespace tenure
