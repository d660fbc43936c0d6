#include "tenure/ops/index/within.h"

#include <string>

#include "tenure/ops/check_ops.h"
#include "tenure/ops/core/define.h"
#include "tenure/ops/core/gradient.h"
#include "tenure/ops/core/reference.h"
#include "tenure/ops/index/attributes.h"

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

}  // namespace

std::vector<const OpRecord*> check_ops() { return {&record<Within>()}; }

Tensor within(const Operand& x, double low, double high, const Requirement& requirement) {
  return call(record<Within>(), x,
              Attributes(low, high, requirement.is_index, std::string(requirement.op),
                         std::string(requirement.subject)));
}

}  // namespace tenure::ops

namespace tenure {

Tensor within(const Operand& x, double low, double high) {
  return ops::within(x, low, high, {.op = "within"});
}

}  // namespace tenure
