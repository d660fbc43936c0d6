#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "tenure/ops/core/dispatch.h"
#include "tenure/ops/nn/attention.h"
#include "tests/cuda/emulated.h"
#include "tests/support/same_bits.h"

// Attention where a GPU cuts it into tiles: rows and columns that fill none, tiles that some or no
// query sees, heads as views of layers. The CPU's results in float64 are the measure.

namespace tenure {
namespace {

using test::emulated_gpu;
using test::expect_same_bits;

struct AttentionCase {
  std::int64_t queries, keys, d, e;
  bool causal = false;
  std::optional<DType> mask{};  ///< boolean, or float32: as the others
  std::optional<double> scale{};
};

/// [batch, length, heads, width], as layers make them, seen by heads.
Tensor by_heads(const Tensor& made) { return transpose(made, 1, 2); }

/// Attention and its gradients by q, k and v.
std::vector<Tensor> attention_and_gradients(const std::vector<Tensor>& made, const Tensor& mask,
                                            const AttentionCase& c) {
  const Tensor q = by_heads(made[0]);
  const Tensor k = by_heads(made[1]);
  const Tensor v = by_heads(made[2]);
  const Tensor dy = by_heads(made[3]);
  std::vector<Operand> operands{q, k, v, dy};
  if (mask.defined()) operands.emplace_back(mask);
  std::vector<Tensor> results = ops::run_many_now(
      ops::attention_gradient_record(), operands,
      ops::Attributes(c.causal, c.scale.has_value(), c.scale.value_or(0.0)), Site::current());
  const AttentionOptions options{.causal = c.causal, .scale = c.scale};
  results.push_back(mask.defined() ? attention(q, k, v, mask, options)
                                   : attention(q, k, v, options));
  return results;
}

void expect_results_of_cpu(DType type, Device device) {
  const double tolerance = type == DType::bfloat16 ? 0.02 : type == DType::float16 ? 2e-3 : 4e-6;
  Generator generator(5);
  for (const AttentionCase& c :
       {AttentionCase{150, 150, 16, 16, true}, AttentionCase{70, 130, 64, 64, true},
        AttentionCase{90, 40, 7, 5, true}, AttentionCase{33, 65, 24, 72},
        AttentionCase{40, 70, 128, 96, true}, AttentionCase{40, 70, 130, 8},
        AttentionCase{65, 65, 8, 8, true, DType::boolean},
        AttentionCase{20, 70, 8, 8, false, DType::float32},
        AttentionCase{20, 20, 8, 8, true, {}, -0.5}}) {
    const auto make = [&](std::int64_t length, std::int64_t width) {
      return cast(normal({2, length, 2, width}, 0, 1, DType::float32, &generator), type);
    };
    const std::vector<Tensor> made{make(c.queries, c.d), make(c.keys, c.d), make(c.keys, c.e),
                                   make(c.queries, c.e)};
    Tensor mask;
    if (c.mask) mask = normal({c.queries, c.keys}, 1, 1, DType::float32, &generator);
    if (c.mask) mask = *c.mask == DType::boolean ? mask > 0 : cast(mask, type);
    const auto run = [&](const auto& there) {
      std::vector<Tensor> operands;
      for (const Tensor& x : made) operands.push_back(there(x));
      return attention_and_gradients(operands, mask.defined() ? there(mask) : Tensor(), c);
    };
    const auto to_gpu = [&](const Tensor& x) { return copy_to(x, device); };
    const auto widened = [](const Tensor& x) {
      return x.dtype() == DType::boolean ? x : cast(x, DType::float64);
    };
    const std::vector<Tensor> got = run(to_gpu);
    const std::vector<Tensor> again = run(to_gpu);
    const std::vector<Tensor> expected = run(widened);
    for (std::size_t i = 0; i < got.size(); ++i) {
      const std::string what = fmt::format("result {} of {} queries, {} keys, {} and {} columns", i,
                                           c.queries, c.keys, c.d, c.e);
      const Tensor here = copy_to(got[i], cpu);
      expect_same_bits(copy_to(again[i], cpu), here);
      const double largest = max(abs(expected[i])).item<double>();
      const double off = max(abs(cast(here, DType::float64) - expected[i])).item<double>();
      EXPECT_LE(off, tolerance * largest) << what;
    }
  }
}

class TiledAttention : public testing::TestWithParam<DType> {};

TEST_P(TiledAttention, HasTheResultsOfTheCpu) { expect_results_of_cpu(GetParam(), emulated_gpu()); }

INSTANTIATE_TEST_SUITE_P(Types, TiledAttention,
                         testing::Values(DType::bfloat16, DType::float16, DType::float32),
                         [](const auto& info) { return std::string(name_of(info.param)); });

/// Only GPUs of one generation have products of four warps.
TEST(OtherAttention, HasTheResultsOfTheCpuOnANewerGpu) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        setenv("TENURE_EMULATED_CAPABILITY", "12", 1);
        test::use_emulated_cuda();
        expect_results_of_cpu(DType::bfloat16, cuda(0));
        std::exit(testing::Test::HasFailure() ? 1 : 0);
      },
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tenure
