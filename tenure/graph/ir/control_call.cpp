#include "tenure/graph/ir/control_call.h"

#include <fmt/format.h>

#include "tenure/base/error.h"
#include "tenure/graph/ir/control_ops.h"
#include "tenure/tensor/sizes.h"

namespace tenure::graph {
namespace {

using ops::Kernel;
using ops::Spec;
using ops::View;

const Bodies& bodies_of(const Kernel& kernel) {
  return static_cast<const Bodies&>(*kernel.attributes.opaque(ControlAttributes::bodies));
}

/// Throws DTypeError or ShapeError unless a body was written for such inputs.
void require_fit(const char* op, const Body& body, std::span<const Spec> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Spec& wanted = body.program.spec(body.inputs[i]);
    const Spec& given = inputs[i];
    bool fits = given.shape.size() == wanted.shape.size();
    for (int d = 0; d < wanted.shape.size() && fits; ++d) {
      fits = wanted.shape[d] == kUnknown || wanted.shape[d] == given.shape[d];
    }
    if (given.dtype == wanted.dtype && fits) continue;
    const std::string text = fmt::format("input {} of the {} is {}, and was {}", i, body.name,
                                         describe(given), describe(wanted));
    if (given.dtype != wanted.dtype) throw DTypeError(op, text);
    throw ShapeError(op, text, {given.shape.to_vector(), wanted.shape.to_vector()});
  }
}

}  // namespace

std::size_t carried(const Kernel& kernel) {
  return static_cast<std::size_t>(kernel.attributes.integer(ControlAttributes::carried));
}

std::span<const View> scanned_of(const Kernel& kernel) {
  const std::size_t carry = carried(kernel);
  return kernel.in.subspan(carry, kernel.in.size() - carry - bodies_of(kernel).captures());
}

std::int64_t scan_length(const Kernel& kernel) {
  std::vector<Spec> scanned;
  for (const View& view : scanned_of(kernel)) scanned.push_back(spec_of(view));
  return length_of(scanned);
}

ControlCall::ControlCall(const Kernel& kernel)
    : kernel(kernel), bodies(bodies_of(kernel)), specs_(bodies.specs(kernel)) {}

std::vector<Spec> ControlCall::infer(std::size_t body) const {
  const std::vector<Spec> inputs = bodies.inputs_of(body, operands(), captures());
  require_fit(kernel.op, bodies[body], inputs);
  return bodies[body].infer(inputs, {});
}

bool ControlCall::read(const void* flag) const {
  bool value = false;
  device().read(&value, flag, sizeof value);
  return value;
}

}  // namespace tenure::graph
