#include "tenure/graph/ir/infer.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/base/error.h"
#include "tenure/graph/ir/composite.h"
#include "tenure/graph/ir/probe.h"
#include "tenure/ops/core/outputs.h"
#include "tenure/tensor/symbol.h"

namespace tenure::graph {
namespace {

using ops::Spec;

bool has_unknown(std::span<const ArgumentSpec> arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const auto& argument) { return has_unknown(argument.spec.shape); });
}

std::vector<Spec> infer_elementwise(const ops::OpRecord& op,
                                    std::span<const ArgumentSpec> arguments, bool unknown) {
  std::vector<ops::OperandType> types;
  for (const ArgumentSpec& argument : arguments) {
    if (argument.number) {
      types.push_back(
          {.dtype = argument.number->dtype(), .is_number = true, .kind = argument.number->kind});
    } else {
      types.push_back({.dtype = argument.spec.dtype});
    }
  }
  const DType result = ops::elementwise_types(op, types).result;
  Shape shape;
  for (const ArgumentSpec& argument : arguments) {
    if (!argument.number) shape = broadcast(shape, argument.spec.shape, op.name);
  }
  if (!unknown) check_shape(shape, size_of(result), op.name);
  return {{result, shape}};
}

std::vector<Spec> infer_composite(const ops::OpRecord& op, std::span<const ArgumentSpec> arguments,
                                  const ops::Attributes& attributes, Site site) {
  std::vector<Spec> inputs;
  for (const ArgumentSpec& argument : arguments) inputs.push_back(argument.spec);
  if (!inputs.empty()) ops::require_type(op, inputs[0].dtype);
  const Body body = write_out(op, inputs, attributes, site);
  std::vector<Spec> specs;
  for (const Value result : body.results) specs.push_back(body.program.spec(result));
  return specs;
}

std::vector<Spec> infer_structured(const ops::OpRecord& op, std::span<const ArgumentSpec> arguments,
                                   const ops::Attributes& attributes) {
  std::vector<ops::View> views;
  for (const ArgumentSpec& argument : arguments) {
    const Spec& spec = argument.spec;
    views.push_back({.dtype = spec.dtype,
                     .shape = spec.shape,
                     .strides = contiguous_strides(spec.shape),
                     .data = nullptr});
  }
  if (!views.empty()) ops::require_type(op, views[0].dtype);
  const ops::Kernel kernel{
      .op = op.name, .in = views, .out = {}, .attributes = attributes, .workspace = {}};
  if (op.view != nullptr) {
    if (const auto spec = op.view(kernel)) return {{views[0].dtype, spec->shape}};
  }
  const ops::Specs specs = op.infer(kernel);
  if (specs.size() == 0 && op.outputs != ops::kAnyOutputs) {
    throw ValueError(fmt::format("{}: its infer gives no output", op.name));
  }
  // Only what reads unknown sizes has some.
  const bool is_known = !has_unknown(arguments);
  for (const Spec& spec : specs) {
    if (is_known || !has_unknown(spec.shape)) {
      check_shape(spec.shape, size_of(spec.dtype), op.name);
    }
  }
  return {specs.begin(), specs.end()};
}

}  // namespace

std::vector<Spec> infer_call(const ops::OpRecord& op, std::span<const ArgumentSpec> arguments,
                             const ops::Attributes& attributes, Site site) {
  if (op.data_dependent) {
    throw GraphError(
        fmt::format("{}: the shape of its result depends on data, so it cannot be planned; call it "
                    "outside the graph",
                    op.name),
        site);
  }
  const bool unknown = has_unknown(arguments);
  if (op.elementwise != nullptr) return infer_elementwise(op, arguments, unknown);
  // A composite's rule, if it has one, takes sizes as they are.
  const bool is_written_out = op.expand != nullptr && op.infer == nullptr;
  const auto known = [&](std::span<const ArgumentSpec> given) {
    return is_written_out ? infer_composite(op, given, attributes, site)
                          : infer_structured(op, given, attributes);
  };
  if (!unknown || (op.expand != nullptr && op.infer != nullptr)) return known(arguments);
  return probe(known, arguments, attributes, op, site);
}

std::vector<Spec> infer_call(const Program& program, const ops::OpRecord& op,
                             std::span<const Argument> arguments, const ops::Attributes& attributes,
                             Site site) {
  std::vector<ArgumentSpec> specs;
  for (const Argument& argument : arguments) {
    specs.push_back(argument.number ? ArgumentSpec{.number = argument.number}
                                    : ArgumentSpec{.spec = program.spec(argument.value)});
  }
  return infer_call(op, specs, attributes, site);
}

}  // namespace tenure::graph
