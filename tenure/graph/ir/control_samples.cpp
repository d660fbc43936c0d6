#include "tenure/graph/ir/control_samples.h"

#include <iterator>
#include <utility>

#include "tenure/graph/ir/body.h"
#include "tenure/graph/ir/control_ops.h"
#include "tenure/ops/core/expected.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/operators.h"
#include "tenure/tensor/sizes.h"

namespace tenure::graph {
namespace {

using ops::Attributes;
using ops::Reference;
using ops::Sample;
using ops::Spec;
using References = std::vector<Reference>;
using Tensors = std::vector<Tensor>;

constexpr DType kTypes[] = {DType::float64, DType::float32, DType::int32};

// Bodies are written for any sizes.
Shape row() { return {kUnknown}; }
Shape rows() { return {kUnknown, kUnknown}; }

/// A body for operands, and captures behind them, of these types and shapes.
Body body_of(const char* name, const std::vector<Spec>& inputs, const BodyFunction& f) {
  const Site site = Site::current();
  const auto outer = std::make_shared<GraphState>(GraphState::Kind::trace, name, site);
  return trace_body(outer, name, inputs, f, site).body;
}

std::shared_ptr<const ops::Opaque> bodies_of(std::vector<Body> bodies,
                                             std::vector<std::size_t> captures, BodySpecs specs) {
  return std::make_shared<const Bodies>(std::move(bodies), std::move(captures), specs);
}

/// x c x and x + x, or x - c; c is captured by either.
Sample cond_sample(bool predicate, const Shape& predicate_shape, const Shape& x, DType dtype) {
  const std::vector<Spec> specs{{dtype, rows()}, {dtype, row()}};
  const auto then = [](const Tensors& in) { return Tensors{in[0] * in[1] * in[0], in[0] + in[0]}; };
  const auto otherwise = [](const Tensors& in) { return Tensors{in[0] - in[1], in[0] * in[0]}; };
  return {.inputs = {{.shape = predicate_shape,
                      .dtype = DType::boolean,
                      .values = {predicate ? 1.0 : 0.0}},
                     {.shape = x, .dtype = dtype},
                     {.shape = {3}, .dtype = dtype},
                     {.shape = {3}, .dtype = dtype}},
          .attributes = Attributes(bodies_of(
              {body_of("then branch", specs, then), body_of("else branch", specs, otherwise)},
              {1, 1}, cond_specs))};
}

/// As long as i < n: i + 1, x c. n and c are captured.
Sample while_sample(int iterations, const Shape& x, DType dtype) {
  const Spec number{DType::int32, {}};
  const auto condition = [](const Tensors& in) { return Tensors{in[0] < in[2]}; };
  const auto body = [](const Tensors& in) { return Tensors{in[0] + 1, in[1] * in[2]}; };
  const std::int64_t most = 5;
  return {
      .inputs = {{.shape = {}, .dtype = DType::int32, .values = {0}},
                 {.shape = x, .dtype = dtype},
                 {.shape = {}, .dtype = DType::int32, .values = {static_cast<double>(iterations)}},
                 {.shape = {3}, .low = 0.5, .high = 1.5, .dtype = dtype}},
      .attributes = Attributes(
          bodies_of({body_of("condition", {number, {dtype, rows()}, number}, condition),
                     body_of("loop body", {number, {dtype, rows()}, {dtype, row()}}, body)},
                    {1, 1}, while_specs),
          most)};
}

/// carry w + x, and carry x; w is captured.
Sample scan_sample(std::int64_t length, DType dtype) {
  const Spec element{dtype, row()};
  const auto body = [](const Tensors& in) { return Tensors{in[0] * in[2] + in[1], in[0] * in[1]}; };
  const std::int64_t carried = 1;
  return {.inputs = {{.shape = {3}, .dtype = dtype},
                     {.shape = {length, 3}, .dtype = dtype},
                     {.shape = {3}, .low = -1, .high = 1, .dtype = dtype}},
          .attributes = Attributes(
              bodies_of({body_of("loop body", {element, element, element}, body)}, {1}, scan_specs),
              carried)};
}

const Bodies& bodies_in(const Attributes& attributes) {
  return static_cast<const Bodies&>(*attributes.opaque(ControlAttributes::bodies));
}

/// What a body computes, by the references of its ops.
References run_reference(const Body& body, const References& inputs) {
  std::vector<References> values(body.program.nodes.size());
  const auto at = [&](Value value) -> const Reference& {
    return values[static_cast<std::size_t>(value.node)][static_cast<std::size_t>(value.output)];
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    values[static_cast<std::size_t>(body.inputs[i].node)] = {inputs[i]};
  }
  for (std::size_t n = 0; n < body.program.nodes.size(); ++n) {
    const Node& node = body.program.nodes[n];
    if (node.kind != Node::Kind::call) continue;
    References in;
    for (const Argument& argument : node.arguments) {
      in.push_back(argument.number ? Reference{.shape = {}, .values = {argument.number->floating}}
                                   : at(argument.value));
    }
    values[n] = ops::expected_of(*node.op, in, node.attribute_list());
  }
  References results;
  for (const Value result : body.results) results.push_back(at(result));
  return results;
}

/// Body i for these operands, and for the captures that are last in a call's inputs.
References run_reference(const Bodies& bodies, std::size_t i, const References& operands,
                         const References& in) {
  const auto captures = std::span<const Reference>(in).last(bodies.captures());
  return run_reference(bodies[i], bodies.inputs_of<Reference>(i, operands, captures));
}

References part(const References& all, std::size_t begin, std::size_t end) {
  return {all.begin() + static_cast<std::ptrdiff_t>(begin),
          all.begin() + static_cast<std::ptrdiff_t>(end)};
}

Shape without_first(const Shape& shape) {
  Shape rest = shape;
  rest.erase(0);
  return rest;
}

Reference row_of(const Reference& x, std::int64_t i) {
  const Shape shape = without_first(x.shape);
  const auto n = static_cast<std::ptrdiff_t>(count(shape));
  return {.shape = shape, .values = {x.values.begin() + i * n, x.values.begin() + (i + 1) * n}};
}

}  // namespace

std::vector<Sample> cond_samples() {
  std::vector<Sample> samples;
  for (const DType dtype : kTypes) {
    for (const bool predicate : {true, false}) {
      samples.push_back(cond_sample(predicate, {}, {2, 3}, dtype));
    }
  }
  samples.push_back(cond_sample(true, {1, 1}, {0, 3}, DType::float64));
  return samples;
}

References cond_reference(const References& in, const Attributes& attributes) {
  const Bodies& bodies = bodies_in(attributes);
  return run_reference(bodies, in[0].values[0] != 0 ? 0 : 1,
                       part(in, 1, in.size() - bodies.captures()), in);
}

std::vector<Sample> while_samples() {
  std::vector<Sample> samples;
  for (const DType dtype : kTypes) samples.push_back(while_sample(3, {2, 3}, dtype));
  samples.push_back(while_sample(0, {2, 3}, DType::float64));
  samples.push_back(while_sample(5, {0, 3}, DType::float64));
  return samples;
}

References while_reference(const References& in, const Attributes& attributes) {
  const Bodies& bodies = bodies_in(attributes);
  References state = part(in, 0, in.size() - bodies.captures());
  while (run_reference(bodies, 0, state, in)[0].values[0] != 0) {
    state = run_reference(bodies, 1, state, in);
  }
  return state;
}

std::vector<Sample> scan_samples() {
  std::vector<Sample> samples;
  for (const DType dtype : kTypes) samples.push_back(scan_sample(4, dtype));
  samples.push_back(scan_sample(1, DType::float64));
  samples.push_back(scan_sample(0, DType::float64));
  return samples;
}

References scan_reference(const References& in, const Attributes& attributes) {
  const Bodies& bodies = bodies_in(attributes);
  const auto carried = static_cast<std::size_t>(attributes.integer(ControlAttributes::carried));
  const References xs = part(in, carried, in.size() - bodies.captures());
  const std::int64_t length = xs[0].shape[0];
  References carry = part(in, 0, carried);
  // What a step gives for zeros tells the shapes.
  References zeros = carry;
  for (const Reference& x : xs) {
    zeros.push_back(ops::make_reference(without_first(x.shape), [](const Dims&) { return 0.0L; }));
  }
  const References shapes = run_reference(bodies, 0, zeros, in);
  References stacks;
  for (std::size_t y = carried; y < shapes.size(); ++y) {
    Shape shape = shapes[y].shape;
    shape.insert(0, length);
    stacks.push_back({.shape = shape, .values = {}});
  }
  for (std::int64_t i = 0; i < length; ++i) {
    References operands = carry;
    for (const Reference& x : xs) operands.push_back(row_of(x, i));
    const References results = run_reference(bodies, 0, operands, in);
    carry = part(results, 0, carried);
    for (std::size_t y = 0; y < stacks.size(); ++y) {
      const std::vector<long double>& row = results[carried + y].values;
      stacks[y].values.insert(stacks[y].values.end(), row.begin(), row.end());
    }
  }
  carry.insert(carry.end(), std::make_move_iterator(stacks.begin()),
               std::make_move_iterator(stacks.end()));
  return carry;
}

}  // namespace tenure::graph
