#include <fmt/format.h>

#include <algorithm>

#include "tenure/base/error.h"
#include "tenure/graph/program.h"
#include "tenure/graph/variable_state.h"
#include "tenure/tensor/symbol.h"

namespace tenure::graph {
namespace {

using ops::Spec;

std::vector<Spec> infer_elementwise(const ops::OpRecord& op,
                                    std::span<const ArgumentSpec> arguments) {
  std::vector<ops::OperandType> types;
  Shape shape;
  for (const ArgumentSpec& argument : arguments) {
    if (argument.number) {
      types.push_back(
          {.dtype = argument.number->dtype(), .is_number = true, .kind = argument.number->kind});
      continue;
    }
    types.push_back({.dtype = argument.spec.dtype});
    shape = broadcast(shape, argument.spec.shape, op.name);
  }
  const DType result = ops::elementwise_types(op, types).result;
  check_shape(shape, size_of(result), op.name);
  return {{result, shape}};
}

std::vector<Spec> infer_structured(const ops::OpRecord& op, std::span<const ArgumentSpec> arguments,
                                   const ops::Attributes& attributes, Site site) {
  if (op.data_dependent) {
    throw GraphError(
        fmt::format("{}: the shape of its result depends on data, so it cannot be planned; call it "
                    "outside the graph",
                    op.name),
        site);
  }
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
  for (const Spec& spec : specs) check_shape(spec.shape, size_of(spec.dtype), op.name);
  return {specs.begin(), specs.end()};
}

std::vector<Spec> infer_known(const ops::OpRecord& op, std::span<const ArgumentSpec> arguments,
                              const ops::Attributes& attributes, Site site) {
  return op.elementwise != nullptr ? infer_elementwise(op, arguments)
                                   : infer_structured(op, arguments, attributes, site);
}

bool has_unknown(const Shape& shape) {
  return std::find(shape.begin(), shape.end(), kUnknown) != shape.end();
}

std::vector<ArgumentSpec> with_unknown_as(std::span<const ArgumentSpec> arguments,
                                          std::int64_t size) {
  std::vector<ArgumentSpec> known(arguments.begin(), arguments.end());
  for (ArgumentSpec& argument : known) {
    std::replace(argument.spec.shape.begin(), argument.spec.shape.end(), kUnknown, size);
  }
  return known;
}

}  // namespace

// With unknown dimensions the rule is asked twice, for two sizes that nobody has. What differs
// between the answers is unknown in the result. A run asks again with the real sizes.
std::vector<Spec> infer_call(const ops::OpRecord& op, std::span<const ArgumentSpec> arguments,
                             const ops::Attributes& attributes, Site site) {
  const bool unknown = std::any_of(arguments.begin(), arguments.end(), [](const auto& argument) {
    return has_unknown(argument.spec.shape);
  });
  if (!unknown) return infer_known(op, arguments, attributes, site);
  constexpr std::int64_t kSizes[] = {8191, 131071};
  const auto ask = [&](std::int64_t size) {
    try {
      return infer_known(op, with_unknown_as(arguments, size), attributes, site);
    } catch (Error& error) {
      if (std::string(error.what()).find(std::to_string(size)) != std::string::npos) {
        error.add_line(fmt::format("{} stands for a size that is known only in a run", size));
      }
      throw;
    }
  };
  std::vector<Spec> specs = ask(kSizes[0]);
  const std::vector<Spec> others = ask(kSizes[1]);
  for (std::size_t i = 0; i < specs.size(); ++i) {
    for (int d = 0; d < specs[i].shape.size(); ++d) {
      if (specs[i].shape[d] != others[i].shape[d]) specs[i].shape[d] = kUnknown;
    }
  }
  return specs;
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

std::size_t program_bytes(const Program& program) {
  std::size_t bytes = program.nodes.capacity() * sizeof(Node);
  for (const Node& node : program.nodes) {
    bytes += node.arguments.capacity() * sizeof(Argument) +
             node.outputs.capacity() * sizeof(ops::Spec) + node.name.capacity() +
             node.scope.capacity();
    if (node.attributes != nullptr) bytes += sizeof(ops::Attributes);
    if (node.fixed) bytes += node.data.nbytes();
  }
  return bytes;
}

std::string describe(const ops::Spec& spec) {
  std::string sizes;
  for (const std::int64_t d : spec.shape) {
    sizes +=
        fmt::format("{}{}", sizes.empty() ? "" : ", ", d == kUnknown ? "?" : std::to_string(d));
  }
  return fmt::format("{}[{}]", name_of(spec.dtype), sizes);
}

std::string describe(const Node& node) {
  std::string text;
  switch (node.kind) {
    case Node::Kind::input:
      text = fmt::format("placeholder \"{}\"", node.name);
      break;
    case Node::Kind::constant:
      text = "constant";
      break;
    case Node::Kind::variable:
      text = fmt::format("variable \"{}\"", node.variable->path());
      break;
    case Node::Kind::assign:
      text = fmt::format("assignment to variable \"{}\"", node.variable->path());
      break;
    case Node::Kind::call:
      text = node.op->name;
      break;
  }
  text += fmt::format(", made at {}", to_string(node.site));
  if (!node.scope.empty()) text += fmt::format(" in scope {}", node.scope);
  return text;
}

}  // namespace tenure::graph
