#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <typeinfo>

#include "tenure/check/cases.h"
#include "tenure/check/checks.h"
#include "tenure/check/expect-inl.h"
#include "tenure/graph/function.h"
#include "tenure/graph/graph.h"
#include "tenure/memory/fault.h"

namespace tenure::check {
namespace {

using ops::OpRecord;

/// Of another shape; elements come again from the beginning.
Input reshaped(const Input& input, const Shape& shape) {
  Input result = input;
  result.shape = shape;
  result.values.resize(static_cast<std::size_t>(count(shape)));
  for (std::size_t i = 0; i < result.values.size(); ++i) {
    result.values[i] = input.values.empty() ? 0 : input.values[i % input.values.size()];
  }
  return result;
}

/// Shapes near that of an input, some of which its op refuses.
std::vector<Shape> shapes_near(const Shape& shape) {
  std::vector<Shape> shapes;
  for (int axis = 0; axis < shape.size(); ++axis) {
    shapes.push_back(shape);
    ++shapes.back()[axis];
  }
  if (shape.size() < kMaxRank) {
    shapes.push_back(shape);
    shapes.back().push_back(2);
  }
  if (!shape.empty()) {
    shapes.push_back(shape);
    shapes.back().erase(shape.size() - 1);
  }
  return shapes;
}

/// Calls like `c` with one input of another shape. The op refuses some of them.
std::vector<Case> other_shapes(const Case& c) {
  std::vector<Case> cases;
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    for (const Shape& shape : shapes_near(c.inputs[i].shape)) {
      cases.push_back(c);
      cases.back().inputs[i] = reshaped(c.inputs[i], shape);
    }
  }
  return cases;
}

/// With inputs of a type that the op does not take, and with indices beyond every axis.
std::vector<Case> wrong_elements(const Case& c) {
  std::vector<Case> cases;
  for (int t = 0; t < kDTypes; ++t) {
    const auto dtype = static_cast<DType>(t);
    if (c.op->takes(dtype)) continue;
    cases.push_back(c);
    for (Input& input : cases.back().inputs) {
      if (input.dtype == c.inputs[0].dtype) input.dtype = dtype;
      std::fill(input.values.begin(), input.values.end(), 1.0L);
    }
  }
  for (std::size_t i = 0; c.op->may_fail && i < c.inputs.size(); ++i) {
    if (!is_integral(c.inputs[i].dtype) || size_of(c.inputs[i].dtype) < 4) continue;
    cases.push_back(c);
    std::vector<long double>& values = cases.back().inputs[i].values;
    std::fill(values.begin(), values.end(), 1000000.0L);
  }
  return cases;
}

std::vector<Operand> operands_at(const std::vector<Tensor>& tensors, Site site) {
  std::vector<Operand> operands;
  for (const Tensor& tensor : tensors) operands.emplace_back(tensor, site);
  return operands;
}

/// The type of the error that ends the call; nullptr: it is none.
using Refusal = const std::type_info*;

Refusal expect_named(const char* mode, const Case& c, Site site,
                     const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    const std::string text = error.what();
    CHECK_TRUE(text.find(to_string(site)) != std::string::npos) << mode << ": " << text;
    CHECK_TRUE(text.find(c.op->name) != std::string::npos) << mode << ": " << text;
    return &typeid(error);
  }
  return nullptr;
}

Refusal check_eager(const Case& c, const std::vector<Tensor>& inputs, Site site) {
  expect_named("without memory", c, site, [&] {
    const FaultInjection fault(1);
    run(c, operands_at(inputs, site), site);
  });
  return expect_named("eager", c, site, [&] { run(c, operands_at(inputs, site), site); });
}

/// Writes the call down, which asks the op's rules and computes nothing.
void check_graph(const Case& c, Site site) {
  expect_named("graph", c, site, [&] {
    Graph graph;
    std::vector<Tensor> symbols;
    for (const Input& input : c.inputs) {
      const std::string name = fmt::format("x{}", symbols.size());
      symbols.push_back(graph.placeholder(name, input.dtype, input.shape, site));
    }
    run(c, operands_at(symbols, site), site);
  });
}

Refusal check_function(const Case& c, const std::vector<Tensor>& inputs, Site site) {
  return expect_named("function", c, site, [&] {
    const auto f =
        function([&](const std::vector<Tensor>& in) { return run(c, operands_at(in, site), site); },
                 {.name = c.op->name}, site);
    f(inputs);
  });
}

}  // namespace

void check_error_sites(const OpRecord& op) {
  constexpr std::int64_t kSmall = 1024;
  std::string last;
  for (const Case& c : cases_of(op)) {
    if (c.sample == last || c.inputs.empty()) continue;  // types take the same paths
    last = c.sample;
    std::int64_t elements = 0;
    for (const Input& input : c.inputs) elements += count(input.shape);
    if (elements > kSmall) continue;
    // An op of which only public functions make sense of the attributes may compute anything with
    // other shapes; its rules have to say so where they can.
    const Site site = Site::current();
    for (const Case& other : other_shapes(c)) {
      CHECK_WITHIN(describe(other));
      check_graph(other, site);
      if (op.elementwise != nullptr) check_eager(other, make_all(other), site);
    }
    for (const Case& wrong : wrong_elements(c)) {
      CHECK_WITHIN(describe(wrong));
      const std::vector<Tensor> inputs = make_all(wrong);
      const Refusal refusal = check_eager(wrong, inputs, site);
      check_graph(wrong, site);
      const Refusal in_function = check_function(wrong, inputs, site);
      if (refusal == nullptr) continue;
      CHECK_TRUE(in_function != nullptr && *in_function == *refusal)
          << "a function takes what an eager call refuses, or refuses it with another error";
    }
    check_eager(c, make_all(c), site);  // for want of memory
  }
}

}  // namespace tenure::check
