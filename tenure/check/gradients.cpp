#include <bit>
#include <cmath>
#include <functional>
#include <optional>
#include <random>

#include "tenure/autograd/tape.h"
#include "tenure/check/cases.h"
#include "tenure/check/checks.h"
#include "tenure/check/expect-inl.h"
#include "tenure/graph/function.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/elementwise.h"
#include "tenure/ops/operators.h"
#include "tenure/ops/reduce_ops.h"
#include "tenure/ops/shape_ops.h"

namespace tenure::check {
namespace {

using ops::OpRecord;

/// The element type of all floats that go in; nullopt: there are none, or several.
std::optional<DType> float_type(const Case& c) {
  std::optional<DType> type;
  for (const Input& input : c.inputs) {
    if (!is_floating(input.dtype)) continue;
    if (type && *type != input.dtype) return std::nullopt;
    type = input.dtype;
  }
  return type;
}

/// What results in the type are held to, relative to their size.
double precision_of(DType type) {
  return type == DType::float64 ? 1e-12 : type == DType::float32 ? 1e-4 : 0.1;
}

/// Cases with something to differentiate by and into: in float64, or in another type if the op does
/// not take that.
std::vector<Case> differentiable_cases(const OpRecord& op) {
  std::vector<Case> doubles;
  std::vector<Case> others;
  for (const Case& c : cases_of(op)) {
    const std::optional<DType> type = float_type(c);
    if (!type || (*type != DType::float64 && !doubles.empty())) continue;
    const std::vector<Tensor> outputs = run(c, make_all(c));
    const auto is_such = [&](const Tensor& output) { return output.dtype() == *type; };
    if (std::none_of(outputs.begin(), outputs.end(), is_such)) continue;
    (*type == DType::float64 ? doubles : others).push_back(c);
  }
  return doubles.empty() ? others : doubles;
}

/// Numbers around 1, for weights and directions.
Tensor weights(const Shape& shape, std::mt19937_64& random) {
  std::vector<double> values(static_cast<std::size_t>(count(shape)));
  for (double& value : values) {
    value = (random() % 2 == 0 ? 1 : -1) * (0.5 + static_cast<double>(random() % 1024) / 1024);
  }
  return tensor(values, shape);
}

/// A function of tensors with one number as its result.
using Scalarized = std::function<Tensor(const std::vector<Tensor>&)>;

/// The weighted sum of an op's float outputs.
Scalarized scalarized(const Case& c, std::uint64_t seed) {
  return [&c, seed](const std::vector<Tensor>& inputs) {
    std::mt19937_64 random(seed);
    Tensor total = zeros({}, DType::float64);
    for (const Tensor& output : run(c, inputs)) {
      if (output.dtype() != *float_type(c)) continue;
      total = total + sum(output * weights(output.shape(), random));
    }
    return total;
  };
}

std::vector<Tensor> float_inputs(const std::vector<Tensor>& inputs) {
  std::vector<Tensor> floats;
  for (const Tensor& input : inputs) {
    if (is_floating(input.dtype())) floats.push_back(input);
  }
  return floats;
}

std::vector<Tensor> gradients_of(const Scalarized& f, const std::vector<Tensor>& inputs) {
  const std::vector<Tensor> sources = float_inputs(inputs);
  GradientTape tape;
  tape.watch(sources);
  return tape.gradient(f(inputs), sources, {.unconnected = Unconnected::zero});
}

/// The slope of f along a direction of one input, by gradients and by differences.
void expect_slopes(const Scalarized& f, const std::vector<Tensor>& inputs, const char* order) {
  const std::vector<Tensor> gradients = gradients_of(f, inputs);
  constexpr double kStep = 1e-6;
  std::mt19937_64 random(7);
  const double size = std::abs(f(inputs).item<double>());
  std::size_t at = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].dtype() != DType::float64) continue;
    const Tensor& gradient = gradients[at++];
    REQUIRE_EQ(gradient.shape(), inputs[i].shape());
    REQUIRE_EQ(gradient.dtype(), inputs[i].dtype());
    const Tensor direction = weights(inputs[i].shape(), random);
    std::vector<Tensor> moved = inputs;
    const auto at_step = [&](double steps) {
      moved[i] = inputs[i] + direction * (steps * kStep);
      return f(moved).item<double>();
    };
    // Exact to the fourth order.
    const double expected =
        (8 * (at_step(1) - at_step(-1)) - (at_step(2) - at_step(-2))) / (12 * kStep);
    const double got = sum(gradient * direction).item<double>();
    const double scale = sum(abs(gradient)).item<double>();
    CHECK_NEAR(got, expected, 2e-5 * scale + 1e-8 * (1 + size))
        << order << " derivative by input " << i;
  }
}

/// The weighted sum of the reference's float outputs, as scalarized() weighs them.
long double reference_sum(const Case& c, const std::vector<Tensor>& outputs, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::vector<ops::Reference> expected = expected_of(c);
  long double total = 0;
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (outputs[o].dtype() != *float_type(c)) continue;
    const auto weight = weights(outputs[o].shape(), random).to_vector<double>();
    for (std::size_t k = 0; k < weight.size(); ++k) total += weight[k] * expected[o].values[k];
  }
  return total;
}

/// The same as expect_slopes(), of an op whose own results are too coarse for differences.
void expect_slopes_of_reference(const Case& c, const std::vector<Tensor>& inputs) {
  constexpr std::uint64_t kSeed = 1;
  constexpr long double kStep = 1e-5L;
  const std::vector<Tensor> gradients = gradients_of(scalarized(c, kSeed), inputs);
  const std::vector<Tensor> outputs = run(c, inputs);
  std::mt19937_64 random(7);
  std::size_t at = 0;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_floating(inputs[i].dtype())) continue;
    const Tensor& gradient = gradients[at++];
    REQUIRE_EQ(gradient.shape(), inputs[i].shape());
    REQUIRE_EQ(gradient.dtype(), inputs[i].dtype());
    const Tensor direction = weights(inputs[i].shape(), random);
    const auto steps = direction.to_vector<double>();
    const auto at_step = [&](int n) {
      Case moved = c;
      for (std::size_t k = 0; k < steps.size(); ++k) {
        moved.inputs[i].values[k] += n * kStep * steps[k];
      }
      return reference_sum(moved, outputs, kSeed);
    };
    const auto expected = static_cast<double>(
        (8 * (at_step(1) - at_step(-1)) - (at_step(2) - at_step(-2))) / (12 * kStep));
    const double got = sum(gradient * direction).item<double>();
    const double scale = 1 + sum(abs(cast(gradient, DType::float64))).item<double>();
    CHECK_NEAR(got, expected, precision_of(inputs[i].dtype()) * scale)
        << "first derivative by input " << i << ", against the reference";
  }
}

/// Of several inputs, each by itself: a rule then has what it declares for that one alone.
void expect_alone(const Scalarized& f, const std::vector<Tensor>& inputs) {
  const std::vector<Tensor> sources = float_inputs(inputs);
  if (sources.size() < 2) return;
  const std::vector<Tensor> together = gradients_of(f, inputs);
  for (std::size_t i = 0; i < sources.size(); ++i) {
    GradientTape tape;
    tape.watch(sources[i]);
    const Tensor alone = tape.gradient(f(inputs), sources[i], {.unconnected = Unconnected::zero});
    const auto got = cast(alone, DType::float64).to_vector<double>();
    const auto expected = cast(together[i], DType::float64).to_vector<double>();
    REQUIRE_EQ(got.size(), expected.size());
    for (std::size_t k = 0; k < got.size(); ++k) {
      if (std::isnan(got[k]) && std::isnan(expected[k])) continue;
      REQUIRE_NEAR(got[k], expected[k],
                   precision_of(sources[i].dtype()) * (1 + std::abs(expected[k])))
          << "first derivative by input " << i << ", asked for alone";
    }
  }
}

bool has_reference(const OpRecord& op) {
  return op.elementwise != nullptr ? op.elementwise->reference != nullptr : op.reference != nullptr;
}

/// The bits that the needs of wanted inputs have.
ops::GradientRule::Needs declared(const OpRecord& op, const std::vector<Tensor>& inputs) {
  ops::GradientRule::Needs all;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_floating(inputs[i].dtype())) continue;
    all.inputs |= op.gradient->needs_of(i).inputs;
    all.outputs |= op.gradient->needs_of(i).outputs;
  }
  const auto first = [](std::size_t n) { return n >= 32 ? ~0u : (1u << n) - 1; };
  all.inputs &= first(inputs.size());
  all.outputs &= first(static_cast<std::size_t>(op.outputs));
  return all;
}

/// Runs the rule with what it declares, `disposed` of it without data. True if it missed that.
bool misses(const Case& c, const ops::GradientRule::Needs& needs, bool is_output,
            std::size_t disposed) {
  const std::vector<Tensor> inputs = make_all(c);
  const std::vector<Tensor> outputs = run(c, inputs);
  std::vector<Tensor> saved_inputs(inputs.size());
  std::vector<Tensor> saved_outputs(outputs.size());
  std::vector<ops::Spec> specs;
  const auto wanted = std::make_unique<bool[]>(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    specs.push_back({inputs[i].dtype(), inputs[i].shape()});
    wanted[i] = is_floating(inputs[i].dtype());
    if ((needs.inputs >> i & 1) != 0) saved_inputs[i] = clone(inputs[i]);
  }
  std::vector<Tensor> gradients(outputs.size());
  for (std::size_t o = 0; o < outputs.size(); ++o) {
    if (is_floating(outputs[o].dtype())) gradients[o] = ones_like(outputs[o]);
    if ((needs.outputs >> o & 1) != 0) saved_outputs[o] = clone(outputs[o]);
  }
  (is_output ? saved_outputs : saved_inputs)[disposed].dispose();
  std::vector<Tensor> results(inputs.size());
  ops::Backward backward{.inputs = saved_inputs,
                         .outputs = saved_outputs,
                         .gradients = gradients,
                         .specs = specs,
                         .numbers = {},
                         .attributes = c.attributes,
                         .wanted = {wanted.get(), inputs.size()},
                         .site = Site::current(),
                         .results = results};
  try {
    c.op->gradient->run(backward);
  } catch (const DisposedError&) {
    return true;
  }
  return false;
}

/// The gradient of f by one input alone.
Tensor gradient_by(const Scalarized& f, const std::vector<Tensor>& inputs, std::size_t i) {
  GradientTape tape;
  tape.watch(inputs[i]);
  return tape.gradient(f(inputs), inputs[i], {.unconnected = Unconnected::zero});
}

/// Whether a gradient reads no index, as it is zero or what came from behind: f = scalarized(c, 1).
bool reads_no_index(const Case& c, const std::vector<Tensor>& inputs, const Tensor& gradient) {
  const auto values = cast(gradient, DType::float64).to_vector<double>();
  if (std::all_of(values.begin(), values.end(), [](double value) { return value == 0; })) {
    return true;
  }
  std::mt19937_64 random(1);
  const Tensor output = run(c, inputs)[0];
  return output.shape() == gradient.shape() &&
         weights(output.shape(), random).to_vector<double>() == values;
}

template <class F>
bool throws_index_error(const F& f) {
  try {
    static_cast<void>(f());
  } catch (const IndexError&) {
    return true;
  } catch (const Error&) {  // the op refuses it as something else
  }
  return false;
}

/// A program has no call whose results nobody reads: that the op looks at its indices does not mean
/// that anybody does where its gradient alone is computed.
void expect_refusals(const Case& c, const std::vector<Tensor>& inputs, const Scalarized& f,
                     const char* order) {
  constexpr double kFar = 1'000'003;
  for (std::size_t at = 0; at < inputs.size(); ++at) {
    const DType type = inputs[at].dtype();
    if ((type != DType::int32 && type != DType::int64) || inputs[at].size() == 0) continue;
    for (const double wrong : {-1.0, kFar, -kFar}) {
      std::vector<Tensor> refused = inputs;
      auto values = inputs[at].to_vector<double>();
      values.back() = wrong;
      refused[at] = cast(tensor(values, inputs[at].shape()), type);
      if (!throws_index_error([&] { return run(c, refused); })) continue;
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!is_floating(inputs[i].dtype())) continue;
        const auto traced =
            function([&](const std::vector<Tensor>& x) { return gradient_by(f, x, i); });
        if (reads_no_index(c, inputs, traced(inputs))) continue;
        CHECK_TRUE(throws_index_error([&] { return traced(refused); }))
            << order << " derivative by input " << i << " in a trace: input " << at << " is "
            << wrong << ", which eager calls refuse";
      }
    }
  }
}

/// The weighted sum of the gradients of f, as a function of the inputs.
Scalarized slope_of(const Scalarized& f) {
  return [&f](const std::vector<Tensor>& at) {
    std::mt19937_64 random(2);
    Tensor total = zeros({}, DType::float64);
    for (const Tensor& gradient : gradients_of(f, at)) {
      total = total + sum(gradient * weights(gradient.shape(), random));
    }
    return total;
  };
}

}  // namespace

void check_gradient(const OpRecord& op) {
  const std::vector<Case> cases = differentiable_cases(op);
  if (cases.empty()) return;
  const bool is_double = *float_type(cases[0]) == DType::float64;
  CHECK_TRUE(op.gradient != nullptr || op.expand != nullptr || op.data_dependent || !is_double)
      << op.name << " takes floats and gives floats, but states no gradient";
  if (op.gradient == nullptr && op.expand == nullptr) return;
  const bool stops = op.gradient != nullptr && op.gradient->run == nullptr && op.view != nullptr;
  if (stops) return;  // on purpose
  for (const Case& c : cases) {
    CHECK_WITHIN(describe(c));
    const std::vector<Tensor> inputs = make_all(c);
    const Scalarized f = scalarized(c, 1);
    expect_alone(f, inputs);
    if (!is_double) {
      if (has_reference(op)) expect_slopes_of_reference(c, inputs);
      continue;
    }
    expect_slopes(f, inputs, "first");
    expect_slopes(slope_of(f), inputs, "second");
  }
}

void check_saved(const OpRecord& op) {
  if (op.gradient == nullptr || op.gradient->run == nullptr) return;
  std::uint32_t unread_inputs = 0;
  std::uint32_t unread_outputs = 0;
  std::uint32_t read_inputs = 0;
  std::uint32_t read_outputs = 0;
  for (const Case& c : differentiable_cases(op)) {
    CHECK_WITHIN(describe(c));
    const std::vector<Tensor> inputs = make_all(c);
    const ops::GradientRule::Needs needs = declared(op, inputs);
    GradientTape tape;
    tape.watch(float_inputs(inputs));
    const std::vector<Tensor> outputs = run(c, inputs);
    const int saved = std::popcount(needs.inputs) + std::popcount(needs.outputs);
    CHECK_EQ(static_cast<int>(tape.saved().tensors.size()), saved);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if ((needs.inputs >> i & 1) == 0 || inputs[i].size() == 0) continue;
      (misses(c, needs, false, i) ? read_inputs : unread_inputs) |= 1u << i;
    }
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      if ((needs.outputs >> o & 1) == 0) continue;
      (misses(c, needs, true, o) ? read_outputs : unread_outputs) |= 1u << o;
    }
  }
  CHECK_EQ(unread_inputs & ~read_inputs, 0u) << op.name << " saves inputs that it never reads";
  CHECK_EQ(unread_outputs & ~read_outputs, 0u) << op.name << " saves outputs that it never reads";
}

void check_gradient_modes(const OpRecord& op) {
  if (op.data_dependent || (op.gradient == nullptr && op.expand == nullptr)) return;
  for (const Case& c : differentiable_cases(op)) {
    CHECK_WITHIN(describe(c));
    const std::vector<Tensor> inputs = make_all(c);
    const Scalarized f = scalarized(c, 1);
    const std::vector<Tensor> expected = gradients_of(f, inputs);
    const auto traced = function([&](const std::vector<Tensor>& x) { return gradients_of(f, x); });
    const std::vector<Tensor> got = traced(inputs);
    REQUIRE_EQ(got.size(), expected.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      const auto a = got[i].to_vector<double>();
      const auto b = expected[i].to_vector<double>();
      REQUIRE_EQ(a.size(), b.size());
      for (std::size_t k = 0; k < a.size(); ++k) {
        if (std::isnan(a[k]) && std::isnan(b[k])) continue;
        REQUIRE_NEAR(a[k], b[k], precision_of(*float_type(c)) * (1 + std::abs(b[k])))
            << "gradient " << i;
      }
    }
    // An op that refuses nothing has its indices from another one of the library.
    if (!op.may_fail && op.expand == nullptr) continue;
    expect_refusals(c, inputs, f, "first");
    // A composite's parts have second derivatives of their own.
    if (op.gradient != nullptr) expect_refusals(c, inputs, slope_of(f), "second");
  }
}

}  // namespace tenure::check
