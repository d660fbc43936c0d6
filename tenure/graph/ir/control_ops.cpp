#include "tenure/graph/ir/control_ops.h"

#include <fmt/format.h>

#include "tenure/base/error.h"
#include "tenure/graph/ir/control_call.h"
#include "tenure/graph/ir/control_kernels.h"
#include "tenure/graph/ir/control_samples.h"
#include "tenure/ops/core/define.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/core/outputs.h"
#include "tenure/tensor/sizes.h"

namespace tenure::graph {
namespace {

using ops::Kernel;
using ops::OpRecord;
using ops::Spec;
using ops::Specs;
using ops::View;

/// The way back computes everything again, from the same operands.
constexpr ops::GradientRule reads_inputs(void (*rule)(ops::Backward&)) {
  constexpr ops::GradientRule::Needs kAll{.inputs = ~0u};
  return {.needs = {{kAll, kAll, kAll, kAll}}, .run = rule};
}

/// What all of them have in common.
struct ControlOp {
  static constexpr auto family = "control";
  static constexpr auto memory = ops::allocates().with_workspace();
  static constexpr int outputs = ops::kAnyOutputs;
  static constexpr double ulp_of_largest = 4;  // of the samples: an op is as exact as its bodies
  static constexpr bool may_fail = true;       // its body may, and a loop may not end
  static constexpr bool folds = false;         // its body may draw random numbers
};

struct Cond : ControlOp {
  static constexpr auto name = "cond";
  static constexpr auto signature = "cond(predicate, then, else, operands...)";
  static constexpr auto doc = "one of two branches; as a node, when it runs";
  static constexpr auto types = 1u << static_cast<int>(DType::boolean);
  static constexpr ops::GradientRule gradient = reads_inputs(gradient_of_cond);
  static constexpr auto samples = cond_samples;
  static constexpr auto reference = cond_reference;
  static Specs infer(const Kernel& k) {
    const ControlCall call(k);
    require_predicate("cond", spec_of(k.in[0]));
    std::vector<Spec> specs = call.infer(0);
    require_same("cond", specs, call.bodies[0].name, call.infer(1), call.bodies[1].name);
    return Specs(std::move(specs));
  }
};

struct While : ControlOp {
  static constexpr auto name = "while_loop";
  static constexpr auto signature = "while_loop(condition, body, state, max_iterations)";
  static constexpr auto doc = "the body again and again while the condition holds";
  static constexpr auto types = ops::kAllTypes;
  static constexpr ops::GradientRule gradient = reads_inputs(gradient_of_while);
  static constexpr auto samples = while_samples;
  static constexpr auto reference = while_reference;
  static Specs infer(const Kernel& k) {
    const ControlCall call(k);
    const std::vector<Spec> flags = call.infer(0);
    if (flags.size() != 1) throw ShapeError("while_loop", "the condition gives one tensor");
    require_predicate("while_loop", flags[0]);
    require_same("while_loop", call.operands(), "the state", call.infer(1), "what the body gives");
    return Specs(std::vector<Spec>(call.operands().begin(), call.operands().end()));
  }
};

struct Scan : ControlOp {
  static constexpr auto name = "scan";
  static constexpr auto signature = "scan(body, carry, xs)";
  static constexpr auto doc = "the body for each element along the first axis of xs";
  static constexpr auto types = ops::kAllTypes;
  static constexpr ops::GradientRule gradient = reads_inputs(gradient_of_scan);
  static constexpr auto samples = scan_samples;
  static constexpr auto reference = scan_reference;
  static Specs infer(const Kernel& k) {
    const std::int64_t n = scan_length(k);
    const ControlCall call(k);
    std::vector<Spec> specs = call.infer(0);
    const std::size_t carry = carried(k);
    if (specs.size() < carry) throw ShapeError("scan", "the body gives less than the carry");
    require_same("scan", call.operands().first(carry), "the carry", std::span(specs).first(carry),
                 "what the body gives");
    for (Spec& spec : std::span(specs).subspan(carry)) {
      Shape stacked{n};
      for (const std::int64_t d : spec.shape) stacked.push_back(d);
      spec.shape = stacked;
    }
    return Specs(std::move(specs));
  }
};

template <class Op>
const OpRecord& record_with(const ops::KernelSlot& kernel) {
  static const OpRecord& record = [&]() -> const OpRecord& {
    ops::record<Op>().kernels.set_everywhere(kernel);
    return ops::record<Op>();
  }();
  return record;
}

}  // namespace

std::vector<Spec> cond_specs(const Kernel& k) {
  std::vector<Spec> specs;
  for (const View& view : k.in.subspan(1)) specs.push_back(spec_of(view));
  return specs;
}

std::vector<Spec> while_specs(const Kernel& k) {
  std::vector<Spec> specs;
  for (const View& view : k.in) specs.push_back(spec_of(view));
  return specs;
}

std::vector<Spec> scan_specs(const Kernel& k) {
  std::vector<Spec> specs = while_specs(k);
  for (Spec& spec : std::span(specs).subspan(carried(k), scanned_of(k).size())) {
    spec = element_of(spec);
  }
  return specs;
}

const OpRecord& cond_record() { return record_with<Cond>(cond_kernel()); }
const OpRecord& while_record() { return record_with<While>(while_kernel()); }
const OpRecord& scan_record() { return record_with<Scan>(scan_kernel()); }

std::vector<const OpRecord*> control_ops() {
  return {&cond_record(), &while_record(), &scan_record()};
}

void require_same(const char* op, std::span<const Spec> wanted, const std::string& wanted_in,
                  std::span<const Spec> got, const std::string& got_in) {
  if (wanted.size() != got.size()) {
    throw ValueError(fmt::format("{}: {} tensors in {}, {} in {}", op, wanted.size(), wanted_in,
                                 got.size(), got_in));
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (wanted[i].dtype != got[i].dtype) {
      throw DTypeError(
          op, fmt::format("tensor {} is {} in {}, {} in {}", i, name_of(wanted[i].dtype), wanted_in,
                          name_of(got[i].dtype), got_in));
    }
    if (!(wanted[i].shape == got[i].shape)) {
      throw ShapeError(
          op,
          fmt::format("tensor {} has shape {} in {}, {} in {}", i, to_string(wanted[i].shape),
                      wanted_in, to_string(got[i].shape), got_in),
          {wanted[i].shape.to_vector(), got[i].shape.to_vector()});
    }
  }
}

void require_predicate(const char* op, const Spec& spec) {
  if (spec.dtype != DType::boolean) {
    throw DTypeError(op, fmt::format("the predicate is {}, not bool", name_of(spec.dtype)));
  }
  if (count(spec.shape) != 1) {
    throw ShapeError(
        op, fmt::format("the predicate has shape {}, not one element", to_string(spec.shape)),
        {spec.shape.to_vector()});
  }
}

std::int64_t length_of(std::span<const Spec> scanned) {
  if (scanned.empty()) throw ValueError("scan: nothing to scan");
  for (const Spec& spec : scanned) {
    if (spec.shape.empty()) throw ShapeError("scan", "a number has no axis to scan along");
    if (spec.shape[0] != scanned[0].shape[0]) {
      throw ShapeError("scan",
                       fmt::format("lengths {} and {} along the first axis differ",
                                   scanned[0].shape[0], spec.shape[0]),
                       {scanned[0].shape.to_vector(), spec.shape.to_vector()});
    }
  }
  return scanned[0].shape[0];
}

Spec element_of(const Spec& scanned) {
  Spec element{scanned.dtype, {}};
  for (int d = 1; d < scanned.shape.size(); ++d) element.shape.push_back(scanned.shape[d]);
  return element;
}

void throw_runaway(std::int64_t iterations) {
  throw ValueError(fmt::format(
      "while_loop: the condition still holds after {} iterations, the most allowed", iterations));
}

}  // namespace tenure::graph
