#include "tests/support/lowered_program.h"

#include <string>
#include <utility>

#include "tenure/graph/passes/lower.h"
#include "tenure/graph/passes/prepare.h"
#include "tenure/graph/passes/simplify.h"
#include "tenure/graph/trace/state.h"
#include "tests/support/random_program.h"

namespace tenure::test {

std::unique_ptr<graph::Lowered> lower_ops(const std::vector<ops::Spec>& inputs,
                                          const TracedOps& ops, std::vector<bool> donated,
                                          const graph::CompileOptions& options) {
  using graph::GraphState;
  const Site site = Site::current();
  const auto state = std::make_shared<GraphState>(GraphState::Kind::graph, "g", site);
  std::vector<Tensor> symbols;
  std::vector<graph::Given> given;
  for (const ops::Spec& spec : inputs) {
    symbols.push_back(state->input(std::to_string(symbols.size()), spec.dtype, spec.shape, site));
    given.push_back({.value = state->value_of(symbols.back(), "test", site), .spec = spec});
  }
  std::vector<graph::Value> fetches;
  for (const Tensor& fetch : ops(symbols)) {
    fetches.push_back(state->value_of(fetch, "test", site));
  }
  return state->read([&](const graph::Program& program) {
    graph::Request request = graph::specialize(program, fetches, given, site);
    request.donated = std::move(donated);
    request.options = options;
    return graph::lower(graph::prepare(graph::simplify(std::move(request))));
  });
}

std::unique_ptr<graph::Lowered> lowered_program(std::uint64_t seed, bool donating,
                                                const graph::CompileOptions& options) {
  const RandomProgram program(seed);
  std::vector<ops::Spec> specs;
  std::vector<bool> donated;
  for (const Tensor& input : program.inputs()) {
    if (donating) donated.push_back((specs.size() + seed) % 2 == 0);
    specs.push_back({input.dtype(), input.shape()});
  }
  return lower_ops(specs, program, std::move(donated), options);
}

std::unique_ptr<graph::Lowered> deep_program(int layers, const graph::CompileOptions& options) {
  const auto ops = [layers](const std::vector<Tensor>& inputs) {
    const Tensor& x = inputs[0];
    std::vector<Tensor> activations{x};
    for (int i = 0; i < layers; ++i) activations.push_back(tanh(matmul(activations.back(), x)));
    Tensor back = activations.back();
    for (int i = layers; i-- > 0;) {
      back = matmul(back * activations[static_cast<std::size_t>(i)], x);
    }
    return std::vector<Tensor>{back};
  };
  return lower_ops({{DType::float32, {64, 64}}}, ops, {}, options);
}

}  // namespace tenure::test
