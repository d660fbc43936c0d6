#include <gtest/gtest.h>

#include <optional>

#include "tenure/tenure.h"
#include "tests/support/expect.h"

// Models without data: nn::PlanOnly.

namespace tenure {
namespace {

struct Network {
  explicit Network(nn::TrainerOptions options, DType dtype = float32)
      : hidden(24, 40, {.dtype = dtype}),
        model(hidden, nn::Gelu(), nn::Dropout(0.1), nn::Dense(40, 7, {.dtype = dtype})),
        adam(model.trainable()),
        trainer(
            model, [](const Tensor& y, const Tensor& t) { return cross_entropy(y, t); }, adam,
            std::move(options)) {}
  nn::Dense hidden;
  nn::Sequential model;
  nn::Adam adam;
  nn::Trainer trainer;
};

TEST(PlanOnly, TellsWhatTheModelWithDataTakes) {
  const Tensor x = spec({32, 24});
  const Tensor target = spec({32}, int64);
  for (const nn::TrainerOptions& options :
       {nn::TrainerOptions{}, nn::TrainerOptions{.accumulate = 2, .clip_norm = 1.0},
        nn::TrainerOptions{.precision = bfloat16}, nn::TrainerOptions{.precision = float16}}) {
    const Network real(options);
    const nn::StepPlan expected = real.trainer.plan(x, target);
    const std::int64_t before = memory(default_device()).bytes;
    std::optional<nn::PlanOnly> scope(std::in_place);
    const Network planned(options);
    scope.reset();  // what was made stays what it is
    const nn::StepPlan plan = planned.trainer.plan(x, target);
    EXPECT_EQ(plan.peak(), expected.peak());
    EXPECT_EQ(plan.parameters, expected.parameters);
    EXPECT_EQ(plan.optimizer, expected.optimizer);
    EXPECT_EQ(plan.plan.flops, expected.plan.flops);
    EXPECT_GT(plan.plan.flops, 3 * 2.0 * 32 * (24 * 40 + 40 * 7) - 2.0 * 32 * 24 * 40 - 1);
    EXPECT_LT(memory(default_device()).bytes - before, 1024) << "numbers of the optimizer";
    EXPECT_EQ(nn::summarize(planned.trainer, x, target).parameters,
              nn::summarize(real.trainer, x, target).parameters);
  }
}

TEST(PlanOnly, OfAModelOf16BitsHasMasters) {
  const Network real({}, bfloat16);
  const nn::PlanOnly scope;
  const Network planned({}, bfloat16);
  const Tensor x = spec({8, 24}, bfloat16);
  EXPECT_EQ(planned.trainer.plan(x, spec({8}, int64)).peak(),
            real.trainer.plan(x, spec({8}, int64)).peak());
}

TEST(PlanOnly, LargerThanAnyMemory) {
  const nn::PlanOnly scope;
  const nn::Dense layer(std::int64_t{1} << 24, std::int64_t{1} << 24);  // 1 PiB
  nn::Sgd sgd(layer.trainable(), 0.1);
  const nn::Trainer trainer(
      layer, [](const Tensor& y, const Tensor& t) { return mse_loss(y, t); }, sgd);
  const Tensor x = spec({1, std::int64_t{1} << 24});
  EXPECT_GT(trainer.plan(x, x).peak(), std::int64_t{1} << 50);
}

TEST(PlanOnly, HasNothingToReadOrRun) {
  std::optional<nn::PlanOnly> scope(std::in_place);
  Network planned({});
  scope.reset();
  const Variable kernel = planned.hidden.kernel();
  EXPECT_FALSE(kernel.has_data());
  EXPECT_FALSE(kernel.is_disposed());
  EXPECT_EQ(kernel.shape(), Shape({24, 40}));
  test::expect_throws<SymbolError>([&] { return kernel.value(); },
                                   {"a spec has no data: it is a shape and a type to plan with"});
  EXPECT_THROW(kernel.assign(zeros({24, 40})), SymbolError);
  EXPECT_THROW(kernel.assign_add(1), SymbolError);
  EXPECT_THROW(planned.model(zeros({2, 24})), SymbolError);
  EXPECT_THROW(planned.trainer.step(zeros({2, 24}), zeros({2}, int64)), SymbolError);
  EXPECT_THROW(planned.trainer.predict(zeros({2, 24})), SymbolError);
  EXPECT_THROW(nn::save_weights(planned.model, "/dev/null"), SymbolError);
  EXPECT_THROW(planned.adam.apply({zeros({24, 40}), Tensor(), Tensor(), Tensor()}), Error);
  kernel.dispose();  // there is nothing to free
  EXPECT_TRUE(nn::Dense(2, 2).kernel().has_data());
  const nn::PlanOnly again;
  nn::Dense moved(2, 2);
  moved.to(cpu);
  EXPECT_EQ(moved.kernel().device(), cpu);
}

}  // namespace
}  // namespace tenure
