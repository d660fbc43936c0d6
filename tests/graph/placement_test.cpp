#include "tenure/graph/placement.h"

#include <gtest/gtest.h>

#include <random>

#include "tenure/graph/passes/simplify.h"
#include "tenure/graph/state.h"
#include "tests/support/random_program.h"

namespace tenure::graph {
namespace {

/// With every other input donated, or none.
std::unique_ptr<Lowered> lowered_program(std::uint64_t seed, bool donating) {
  const test::RandomProgram program(seed);
  const auto state = std::make_shared<GraphState>(GraphState::Kind::graph, "g", Site::current());
  std::vector<Tensor> symbols;
  std::vector<Given> given;
  for (const Tensor& input : program.inputs()) {
    symbols.push_back(state->input(std::to_string(symbols.size()), input.dtype(), input.shape(),
                                   Site::current()));
    given.push_back({.value = state->value_of(symbols.back(), "test", Site::current()),
                     .spec = {input.dtype(), input.shape()}});
  }
  std::vector<Value> fetches;
  for (const Tensor& fetch : program(symbols)) {
    fetches.push_back(state->value_of(fetch, "test", Site::current()));
  }
  return state->read([&](const Program& p) {
    Request request = specialize(p, fetches, given, Site::current());
    for (std::size_t i = 0; i < given.size() && donating; ++i) {
      request.donated.push_back((i + seed) % 2 == 0);
    }
    return lower(simplify(std::move(request)));
  });
}

TEST(Placement, EveryUnitFindsWhatWasWrittenForIt) {
  for (std::uint64_t seed = 0; seed < 500; ++seed) {
    const auto lowered = lowered_program(seed, seed % 3 != 0);
    const auto problem = validate(*lowered, place(*lowered));
    ASSERT_FALSE(problem) << seed << ": " << *problem;
  }
}

TEST(Placement, ValidatorSeesWrongOnes) {
  std::mt19937 random(1);
  int mutated = 0;
  int refused = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto lowered = lowered_program(seed, seed % 2 != 0);
    Placement placement = place(*lowered);
    if (placement.order.size() < 2) continue;
    ++mutated;
    switch (random() % 3) {
      case 0:  // the last unit first
        std::rotate(placement.order.begin(), placement.order.end() - 1, placement.order.end());
        break;
      case 1:
        placement.order.pop_back();
        break;
      case 2: {  // the first result where the last one is
        const auto place_of = [&](int u) -> Place& {
          return placement.buffers[static_cast<std::size_t>(
              lowered->units[static_cast<std::size_t>(u)].out[0].buffer)];
        };
        place_of(placement.order.front()) = {.base = 0, .offset = placement.arena};
        break;
      }
    }
    refused += validate(*lowered, placement).has_value() ? 1 : 0;
  }
  EXPECT_GT(mutated, 50);
  // A unit that needs nothing of the others may well come first.
  EXPECT_GT(refused, mutated * 7 / 10);
}

}  // namespace
}  // namespace tenure::graph
