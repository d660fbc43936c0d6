#include "tenure/autograd/late.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "tenure/autograd/error.h"
#include "tenure/autograd/state.h"
#include "tenure/base/small_array.h"
#include "tenure/graph/ir/builder.h"
#include "tenure/graph/trace/state.h"
#include "tenure/ops/autocast.h"
#include "tenure/ops/core/define.h"
#include "tenure/ops/core/outputs.h"
#include "tenure/ops/creation.h"
#include "tenure/ops/size_ops.h"

namespace tenure::autograd {
namespace {

using ops::Attributes;
using ops::Backward;
using ops::OpRecord;
using ops::Spec;

/// How the operands of such a node become what a rule is given.
struct LateRule final : ops::Opaque {
  enum class Role : std::uint8_t { input, outline, output, gradient };
  struct Place {
    Role role;
    std::size_t index;  ///< among the inputs or the outputs
    friend bool operator==(const Place&, const Place&) = default;
  };

  const OpRecord* op = nullptr;
  Attributes attributes{};
  std::vector<Spec> specs{};  ///< of the inputs, as far as they were known
  std::vector<std::optional<Scalar>> numbers{};
  std::vector<bool> wanted{};  ///< the results are these inputs' gradients
  std::size_t outputs = 0;
  std::vector<Place> places{};  ///< of each operand
  Site site{};

  bool equals(const Opaque& other) const override {
    const auto* const late = dynamic_cast<const LateRule*>(&other);
    const auto same_specs = [](const Spec& a, const Spec& b) {
      return a.dtype == b.dtype && a.shape == b.shape;
    };
    const auto same_numbers = [](const std::optional<Scalar>& a, const std::optional<Scalar>& b) {
      return a.has_value() == b.has_value() && (!a || graph::same(*a, *b));
    };
    return late != nullptr && op == late->op && wanted == late->wanted &&
           outputs == late->outputs && places == late->places &&
           graph::same(attributes, late->attributes) &&
           std::equal(specs.begin(), specs.end(), late->specs.begin(), late->specs.end(),
                      same_specs) &&
           std::equal(numbers.begin(), numbers.end(), late->numbers.begin(), late->numbers.end(),
                      same_numbers);
  }
  std::size_t hash() const override {
    return std::hash<const void*>()(op) ^ places.size() << 8 ^ specs.size();
  }

  /// The specs, once the operands' shapes are known.
  template <class ShapeOf>
  std::vector<Spec> specs_from(const ShapeOf& shape_of) const {
    std::vector<Spec> found = specs;
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i].role == Role::input) found[places[i].index].shape = shape_of(i);
      if (places[i].role == Role::outline) {
        found[places[i].index].shape = ops::outlined(shape_of(i));
      }
    }
    return found;
  }
};

/// The only attribute of the op.
const LateRule& late_rule_of(const Attributes& attributes) {
  return static_cast<const LateRule&>(*attributes.opaque(0));
}

std::int64_t draws_so_far() {
  const auto* const trace = dynamic_cast<graph::GraphState*>(ops::current_trace());
  if (trace == nullptr) return 0;
  return trace->read([](const graph::Program& program) {
    return std::count_if(program.nodes.begin(), program.nodes.end(), [](const graph::Node& node) {
      return node.op != nullptr && node.op->draws != nullptr;
    });
  });
}

/// A composite has the gradient of its parts: they run again under a tape. In one program they are
/// the same nodes as before.
void go_back_through_parts(const OpRecord& op, Backward& b) {
  const auto tape = std::make_shared<TapeState>(false, false, b.site);
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < b.inputs.size(); ++i) operands.push_back(b.input(i));
  std::vector<Tensor> outputs;
  const std::int64_t draws = draws_so_far();
  {
    TapeState::begin(tape);
    struct Ending {
      const std::shared_ptr<TapeState>& tape;
      ~Ending() { TapeState::end(tape); }
    };
    const Ending ending{tape};
    for (std::size_t i = 0; i < b.inputs.size(); ++i) {
      if (b.wants(i)) tape->watch(b.inputs[i]);
    }
    outputs = op.expand(operands, b.attributes);
  }
  if (draws_so_far() != draws) {
    throw GradientError(
        "what draws random numbers inside a function that waits for sizes cannot be "
        "differentiated: the way back computes it again and would draw others; draw them before "
        "and pass them in",
        b.site);
  }
  std::vector<Value> targets;
  std::vector<Tensor> seeds;
  for (std::size_t o = 0; o < b.gradients.size(); ++o) {
    if (!b.gradients[o].defined()) continue;
    targets.push_back(tape->find(outputs[o]));
    seeds.push_back(b.gradients[o]);
  }
  std::vector<Value> sources;
  std::vector<std::size_t> inputs;
  std::set<std::uint64_t> seen;  // one tensor may be several inputs; its gradient is of all of them
  for (std::size_t i = 0; i < b.inputs.size(); ++i) {
    if (!b.wants(i) || !seen.insert(key_of(b.inputs[i])).second) continue;
    sources.push_back(tape->find(b.inputs[i]));
    inputs.push_back(i);
  }
  std::vector<Tensor> found = tape->go_back(targets, seeds, sources, false);
  for (std::size_t s = 0; s < found.size(); ++s) b.results[inputs[s]] = std::move(found[s]);
}

std::vector<Tensor> run_late(std::span<const Operand> operands, const Attributes& attributes) {
  const auto& late = late_rule_of(attributes);
  std::vector<Tensor> inputs(late.specs.size());
  std::vector<Tensor> outputs(late.outputs);
  std::vector<Tensor> gradients(late.outputs);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const auto [role, index] = late.places[i];
    if (role == LateRule::Role::outline) continue;
    (role == LateRule::Role::input    ? inputs
     : role == LateRule::Role::output ? outputs
                                      : gradients)[index] = operands[i].tensor();
  }
  const std::vector<Spec> specs =
      late.specs_from([&](std::size_t i) { return Shape(operands[i].tensor().shape()); });
  SmallArray<bool, 8> wanted(specs.size());
  std::copy(late.wanted.begin(), late.wanted.end(), wanted.begin());
  std::vector<Tensor> results(specs.size());
  Backward b{.inputs = inputs,
             .outputs = outputs,
             .gradients = gradients,
             .specs = specs,
             .numbers = late.numbers,
             .attributes = late.attributes,
             .wanted = {wanted.data(), wanted.size()},
             .site = late.site,
             .results = results};
  const Autocast off(DType::float32);  // as where rules run at once
  if (late.op->gradient == nullptr) {
    go_back_through_parts(*late.op, b);
  } else {
    late.op->gradient->run(b);
  }
  std::vector<Tensor> found;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (!late.wanted[i]) continue;
    if (results[i].defined() && !may_be_equal(results[i].shape(), specs[i].shape)) {
      throw ShapeError("gradient",
                       fmt::format("of input {} of {} is {}, the input {}", i, late.op->name,
                                   to_string(results[i].shape()), to_string(specs[i].shape)),
                       {results[i].shape().to_vector(), specs[i].shape.to_vector()});
    }
    found.push_back(results[i].defined() ? std::move(results[i])
                                         : zeros(specs[i].shape, specs[i].dtype, late.site));
  }
  return found;
}

ops::Specs infer_late(const ops::Kernel& k) {
  const auto& late = late_rule_of(k.attributes);
  const std::vector<Spec> specs = late.specs_from([&](std::size_t i) { return k.in[i].shape; });
  std::vector<Spec> results;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    if (late.wanted[i]) results.push_back(specs[i]);
  }
  return ops::Specs(std::move(results));
}

struct Gradient {
  static constexpr auto family = "control";
  static constexpr auto name = "gradient";
  static constexpr auto signature = "gradient(call)";
  static constexpr auto doc = "the gradient of a call whose sizes are known only in a run";
  static constexpr auto memory = ops::allocates().with_workspace();
  static constexpr auto types = ops::kAllTypes;
  static constexpr int outputs = ops::kAnyOutputs;
  static constexpr bool folds = false;
  static constexpr double ulp = 4;
  static constexpr auto infer = infer_late;
  static constexpr auto expand = run_late;

  static std::shared_ptr<LateRule> rule_of(const char* op, std::vector<Spec> specs,
                                           std::vector<LateRule::Place> places) {
    auto late = std::make_shared<LateRule>();
    late->op = ops::find_op(op);
    late->specs = std::move(specs);
    late->wanted.assign(late->specs.size(), true);
    late->outputs = 1;
    late->places = std::move(places);
    return late;
  }
  /// Of a product, whose second factor is repeated, and of tanh, which reads its output.
  static std::vector<ops::Sample> samples() {
    using Role = LateRule::Role;
    constexpr DType kType = DType::float64;
    const Shape shape{3, 4};
    const std::shared_ptr<const ops::Opaque> of_mul =
        rule_of("mul", {{kType, shape}, {kType, {4}}},
                {{Role::input, 0}, {Role::input, 1}, {Role::gradient, 0}});
    const std::shared_ptr<const ops::Opaque> of_tanh = rule_of(
        "tanh", {{kType, shape}}, {{Role::outline, 0}, {Role::output, 0}, {Role::gradient, 0}});
    return {{.inputs = {{.shape = shape, .dtype = kType},
                        {.shape = {4}, .dtype = kType},
                        {.shape = shape, .dtype = kType}},
             .attributes = Attributes(of_mul)},
            {.inputs = {{.shape = {0, 3, 4}, .dtype = DType::boolean},
                        {.shape = shape, .low = -1, .high = 1, .dtype = kType},
                        {.shape = shape, .dtype = kType}},
             .attributes = Attributes(of_tanh)}};
  }
  static std::vector<ops::Reference> reference(const std::vector<ops::Reference>& in,
                                               const Attributes& attributes) {
    const auto& late = late_rule_of(attributes);
    const std::vector<long double>& gradient = in[2].values;
    ops::Reference first = in[2];
    if (late.specs.size() == 1) {
      for (std::size_t i = 0; i < gradient.size(); ++i) {
        first.values[i] *= 1 - in[1].values[i] * in[1].values[i];
      }
      return {first};
    }
    ops::Reference second{.shape = in[1].shape,
                          .values = std::vector<long double>(in[1].values.size())};
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      const std::size_t k = i % in[1].values.size();
      first.values[i] *= in[1].values[k];
      second.values[k] += gradient[i] * in[0].values[i];
    }
    return {first, second};
  }
};

bool has_open_size(const Tensor& tensor) { return tensor.defined() && !tensor.shape().is_known(); }

}  // namespace

std::vector<const OpRecord*> gradient_ops() { return {&ops::record<Gradient>()}; }

bool may_be_equal(const Shape& a, const Shape& b) {
  bool fits = a.size() == b.size();
  for (int d = 0; d < a.size() && fits; ++d) {
    fits = a[d] == b[d] || a[d] == kUnknown || b[d] == kUnknown;
  }
  return fits;
}

bool is_outlined(const Tensor& input) { return has_open_size(input) && input.rank() < kMaxRank; }

bool waits_for_sizes(const Backward& b) {
  return std::any_of(b.specs.begin(), b.specs.end(),
                     [](const Spec& spec) { return has_unknown(spec.shape); }) ||
         std::any_of(b.gradients.begin(), b.gradients.end(), has_open_size) ||
         std::any_of(b.outputs.begin(), b.outputs.end(), has_open_size);
}

void go_back_later(const Node& node, Backward& b) {
  auto late = std::make_shared<LateRule>();
  late->op = node.op;
  late->attributes = b.attributes;
  late->specs.assign(b.specs.begin(), b.specs.end());
  late->numbers.assign(b.numbers.begin(), b.numbers.end());
  late->wanted.assign(b.wanted.begin(), b.wanted.end());
  late->outputs = b.gradients.size();
  late->site = b.site;
  std::vector<Tensor> operands;
  const auto add = [&](LateRule::Role role, std::size_t index, const Tensor& tensor) {
    late->places.push_back({.role = role, .index = index});
    operands.push_back(tensor);
  };
  for (std::size_t i = 0; i < b.specs.size(); ++i) {
    const Tensor& held = b.inputs[i];
    if (!held.defined()) continue;  // a number, or known and not read
    const bool is_input = has_bit(node.needed_inputs, i) || held.rank() == b.specs[i].shape.size();
    if (!is_input) {
      add(LateRule::Role::outline, i, held);
    } else if (has_bit(node.needed_inputs, i) || has_unknown(b.specs[i].shape)) {
      add(LateRule::Role::input, i, held);
    }
  }
  for (std::size_t o = 0; o < b.outputs.size(); ++o) {
    if (b.outputs[o].defined()) add(LateRule::Role::output, o, b.outputs[o]);
    if (b.gradients[o].defined()) add(LateRule::Role::gradient, o, b.gradients[o]);
  }
  std::vector<Operand> list;
  for (const Tensor& operand : operands) list.emplace_back(operand, b.site);
  const std::shared_ptr<const ops::Opaque> rule = std::move(late);
  std::vector<Tensor> results =
      ops::run_many_now(ops::record<Gradient>(), list, Attributes(rule), b.site);
  std::size_t next = 0;
  for (std::size_t i = 0; i < b.specs.size(); ++i) {
    if (b.wants(i)) b.results[i] = std::move(results[next++]);
  }
}

}  // namespace tenure::autograd
