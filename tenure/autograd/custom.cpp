#include "tenure/autograd/custom.h"

#include <fmt/format.h>

#include <algorithm>

#include "tenure/autograd/error.h"
#include "tenure/autograd/late.h"
#include "tenure/autograd/state.h"
#include "tenure/ops/core/dispatch.h"
#include "tenure/ops/core/list.h"

namespace tenure::autograd {
namespace {

class CustomCall final : public CustomRule {
 public:
  explicit CustomCall(CustomBackward backward) : backward_(std::move(backward)) {}

  const char* name() const override { return "custom gradient"; }
  void run(ops::Backward& b) const override {
    const std::size_t first = b.specs.size() + b.gradients.size();
    const std::vector<Tensor> saved(b.inputs.begin() + static_cast<std::ptrdiff_t>(first),
                                    b.inputs.end());
    std::vector<Tensor> results = backward_(saved, b.gradients[0]);
    if (results.size() != b.specs.size()) {
      throw GradientError(fmt::format("a custom gradient gave {} gradients for {} inputs",
                                      results.size(), b.specs.size()),
                          b.site);
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      if (!results[i].defined() || !b.wants(i)) continue;
      if (!may_be_equal(results[i].shape(), b.specs[i].shape) ||
          results[i].dtype() != b.specs[i].dtype) {
        throw GradientError(
            fmt::format("a custom gradient of input {} is {}{}, the input is {}{}", i,
                        name_of(results[i].dtype()), to_string(results[i].shape()),
                        name_of(b.specs[i].dtype), to_string(Sizes(b.specs[i].shape))),
            b.site);
      }
      b.results[i] = std::move(results[i]);
    }
  }

 private:
  CustomBackward backward_;
};

}  // namespace

Tensor call_custom(const CustomIdentity& identity, const std::vector<Tensor>& inputs,
                   const CustomForward& forward, CustomBackward backward, Site site) {
  Saves saves;
  Tensor output;
  {
    const PauseAll pause;
    output = forward(saves);
    const auto is_output = [&](const Tensor& input) { return key_of(input) == key_of(output); };
    if (output.is_symbolic() || std::any_of(inputs.begin(), inputs.end(), is_output)) {
      // A tensor of its own, so that tapes can tell it from the input and from other calls.
      static constinit ops::NamedOp same("stop_gradient");
      output = ops::call(*same, Operand(output, site), ops::Attributes(identity));
    }
  }
  if (auto* const tape = static_cast<TapeState*>(ops::current_tape())) {
    tape->note_custom(std::make_shared<CustomCall>(std::move(backward)), inputs, {&output, 1},
                      saves.tensors(), site);
  }
  return output;
}

}  // namespace tenure::autograd
