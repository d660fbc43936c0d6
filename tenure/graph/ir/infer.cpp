#include "tenure/graph/ir/infer.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/base/error.h"
#include "tenure/graph/ir/composite.h"
#include "tenure/graph/ir/probe.h"
#include "tenure/tensor/symbol.h"

namespace tenure::graph {
namespace {

using ops::Spec;

/// "[?, 3]"
std::string text_of(const Shape& shape) { return to_string(Sizes(shape)); }

/// The shape that two meet in, some of whose sizes are unknown: a run finds out whether they fit.
Shape broadcast_unknown(const Shape& a, const Shape& b, const char* op) {
  Shape result = a.size() >= b.size() ? a : b;
  const Shape& shorter = a.size() >= b.size() ? b : a;
  const int lead = result.size() - shorter.size();
  for (int i = 0; i < shorter.size(); ++i) {
    const std::int64_t d = shorter[i];
    std::int64_t& r = result[lead + i];
    if (d == r || d == 1) continue;
    // A size of 1 gives way to the other, and to any other size than 1 an unknown one must.
    if (r == 1 || r == kUnknown) {
      r = d;
    } else if (d != kUnknown) {
      throw ShapeError(op, fmt::format("shapes {} and {} do not broadcast", text_of(a), text_of(b)),
                       {a.to_vector(), b.to_vector()});
    }
  }
  return result;
}

std::vector<Spec> infer_elementwise(const ops::OpRecord& op,
                                    std::span<const ArgumentSpec> arguments, bool unknown) {
  std::vector<ops::OperandType> types;
  Shape shape;
  for (const ArgumentSpec& argument : arguments) {
    if (argument.number) {
      types.push_back(
          {.dtype = argument.number->dtype(), .is_number = true, .kind = argument.number->kind});
      continue;
    }
    types.push_back({.dtype = argument.spec.dtype});
    shape = unknown ? broadcast_unknown(shape, argument.spec.shape, op.name)
                    : broadcast(shape, argument.spec.shape, op.name);
  }
  const DType result = ops::elementwise_types(op, types).result;
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
  std::vector<kernels::View> views;
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
  for (const Spec& spec : specs) {
    if (!has_unknown(spec.shape)) check_shape(spec.shape, size_of(spec.dtype), op.name);
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
  const bool unknown = std::any_of(arguments.begin(), arguments.end(), [](const auto& argument) {
    return has_unknown(argument.spec.shape);
  });
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
