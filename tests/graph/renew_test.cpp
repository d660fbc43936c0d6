#include "tenure/graph/place/renew.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tenure/graph/passes/rematerialize.h"
#include "tenure/graph/place/arrange.h"
#include "tenure/graph/place/ladder_cache.h"
#include "tenure/tenure.h"
#include "tests/support/lowered_program.h"
#include "tests/support/same_bits.h"
#include "tests/support/sanitized.h"

// Results of loops that are made again, from what is held anyway: less memory, next to no time, the
// same bits, and no search.

namespace tenure::graph {
namespace {

/// Layers whose products outweigh their activations by far, and the gradients by all weights.
struct Layers {
  explicit Layers(std::int64_t width, std::int64_t batch) {
    inputs.push_back(normal({batch, width}));
    for (int i = 0; i < 4; ++i) inputs.push_back(normal({width, width}, 0, 0.05));
  }
  static std::vector<Tensor> gradients(const std::vector<Tensor>& in) {
    GradientTape tape;
    for (std::size_t i = 1; i < in.size(); ++i) tape.watch(in[i]);
    Tensor x = in[0];
    for (std::size_t i = 1; i < in.size(); ++i) x = gelu(matmul(x, in[i]));
    // One number for each: the gradients themselves would outlive all.
    std::vector<Tensor> sums;
    for (const Tensor& gradient :
         tape.gradient(mean(square(x)), std::vector<Tensor>(in.begin() + 1, in.end()))) {
      sums.push_back(sum(square(gradient)));
    }
    return sums;
  }
  std::vector<Tensor> inputs;
};

TEST(Renew, ActivationsAreNotKeptWhereTheirInputsAre) {
  seed(3);
  const Layers layers(768, 96);
  const auto plain = function(Layers::gradients);
  const auto renewing = function(Layers::gradients, {.recompute = kNearlyFree});
  const std::int64_t searches = ladders_made();
  const Plan kept = plain.plan(layers.inputs);
  const Plan renewed = renewing.plan(layers.inputs);
  EXPECT_EQ(ladders_made(), searches);
  EXPECT_EQ(kept.recomputed, 0);
  EXPECT_GT(renewed.recomputed, 0);
  EXPECT_LE(renewed.recomputed, kNearlyFree);
  // Of the four, the last one's is read again at once.
  const std::int64_t activation = 96 * 768 * 4;
  EXPECT_LE(renewed.peak, kept.peak - 2 * activation);
  const std::vector<Tensor> expected = plain(layers.inputs);
  const MemoryRegion region;
  const std::vector<Tensor> results = renewing(layers.inputs);
  EXPECT_EQ(region.peak_bytes(), renewed.peak);
  for (std::size_t i = 0; i < results.size(); ++i) {
    test::expect_same_bits(results[i], expected[i]);
  }
}

/// What any program is promised that may spend next to nothing.
void check_renewal(std::unique_ptr<Lowered> (*make)(int, const CompileOptions&), int number) {
  const auto original = make(number, {});
  const Rung plain = plain_rung(*original, place(*original));
  const std::optional<Rung> rung = renewed_rung(*original, plain);
  if (!rung) return;
  EXPECT_LT(rung->peak, plain.peak);
  const auto made = program_of(*original, *rung);
  EXPECT_EQ(validate(*made, rung->placement), std::nullopt);
  EXPECT_EQ(validate(*original, *made), std::nullopt);
  const Arranged arranged = arrange(make(number, {.recompute = kNearlyFree}), 0);
  EXPECT_GT(arranged.recomputed, 0);
  EXPECT_LE(arranged.recomputed, kNearlyFree);
  const std::int64_t peak = peak_of(*arranged.lowered, arranged.placement);
  EXPECT_LE(peak, rung->peak);
  std::int64_t inputs = 0;
  for (const ops::Spec& spec : original->inputs) inputs += bytes_of(spec);
  const Arranged held = arrange(make(number, {.budget = inputs + peak}), 0);
  EXPECT_LE(held.recomputed, arranged.recomputed);
}

/// Wide layers of loops of many kinds, forward and back, drawn at random; nothing is computed.
std::unique_ptr<Lowered> wide_layers(int number, const CompileOptions& options) {
  std::mt19937_64 random(static_cast<std::uint64_t>(number));
  const auto draw = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
  const std::int64_t rows = 1024 + 512 * draw(8);
  std::vector<ops::Spec> specs{{DType::float32, {rows, 2048}}};
  std::vector<std::int64_t> kinds;
  for (std::int64_t i = 0; i < 2 + draw(6); ++i) {
    const std::int64_t width = specs.back().shape[1];
    specs.push_back({DType::float32, {width, 2048 + 256 * draw(4)}});
    kinds.push_back(draw(5));
  }
  const auto ops = [&](const std::vector<Tensor>& in) {
    GradientTape tape;
    for (std::size_t i = 1; i < in.size(); ++i) tape.watch(in[i]);
    Tensor x = in[0];
    for (std::size_t i = 1; i < in.size(); ++i) {
      const Tensor y = matmul(x, in[i]);
      x = kinds[i - 1] == 0   ? gelu(y)
          : kinds[i - 1] == 1 ? silu(y) * 2
          : kinds[i - 1] == 2 ? tanh(y)
          : kinds[i - 1] == 3 ? softmax(y) * y
                              : relu(y) + sin(y);
    }
    std::vector<Tensor> sums{sum(x)};
    for (const Tensor& gradient :
         tape.gradient(mean(square(x)), std::vector<Tensor>(in.begin() + 1, in.end()))) {
      sums.push_back(sum(square(gradient)));
    }
    return sums;
  };
  return test::lower_ops(specs, ops, {}, options);
}

TEST(Renew, KeepsWhatPlansPromise) {
  int renewed = 0;
  const int programs = test::rounds(12);
  for (int i = 0; i < programs && !testing::Test::HasFailure(); ++i) {
    SCOPED_TRACE(i);
    check_renewal(wide_layers, i);
    const auto original = wide_layers(i, {});
    renewed += renewed_rung(*original, plain_rung(*original, place(*original))) ? 1 : 0;
  }
  EXPECT_GT(renewed, programs / 3);
}

TEST(Renew, SmallProgramsAndThoseThatForbidItStayAsTheyAre) {
  seed(4);
  const Layers layers(32, 16);
  const auto plan = [&](double recompute) {
    return function(Layers::gradients, {.recompute = recompute}).plan(layers.inputs);
  };
  EXPECT_EQ(plan(kNearlyFree).recomputed, 0);  // where to begin a loop costs more
  EXPECT_EQ(plan(kNearlyFree).peak, plan(0).peak);
  const Layers large(768, 96);
  EXPECT_EQ(function(Layers::gradients).plan(large.inputs).recomputed, 0);
}

}  // namespace
}  // namespace tenure::graph
