#include <gtest/gtest.h>

#include <cstring>
#include <optional>
#include <vector>

#include "tenure/kernels/cpu/elementwise/fused.h"
#include "tenure/kernels/cpu/table.h"
#include "tests/kernels/random_views.h"

// Loops as the CPU runs them: what steps give one after the other is what they give together.

namespace tenure::kernels {
namespace {

using ops::Loop;
using ops::LoopInputs;
using ops::LoopStep;
using ops::OpRecord;
using test::make_dense;
using test::Owned;
using test::RandomViews;

using PreparedLoop = std::shared_ptr<const ops::PreparedLoop>;

/// Steps that compute in float32 or int32, with conversions between them where they must be.
Loop random_loop(RandomViews& random, int inputs, int steps) {
  static const std::vector<const OpRecord*> ops{ops::find_op("add"),     ops::find_op("sub"),
                                                ops::find_op("maximum"), ops::find_op("neg"),
                                                ops::find_op("abs"),     ops::find_op("square")};
  Loop loop;
  std::vector<DType> types;
  for (int i = 0; i < inputs; ++i) types.push_back(random.chance(0.7) ? float32 : int32);
  loop.in_types = types;
  const auto add = [&](const LoopStep& step) {
    loop.steps.push_back(step);
    types.push_back(step.out_type);
    return static_cast<int>(types.size()) - 1;
  };
  for (int s = 0; s < steps; ++s) {
    const auto last = static_cast<int>(types.size()) - 1;
    const DType compute = types[static_cast<std::size_t>(last)];
    LoopStep step{.op = ops[static_cast<std::size_t>(random.integer(0, 5))],
                  .compute = compute,
                  .out_type = compute};
    for (int k = 0; k < step.op->elementwise->arity; ++k) {
      // What came last is read, so that all steps count.
      const auto from = k == 0 ? last : static_cast<int>(random.integer(0, last));
      step.in[static_cast<std::size_t>(k)] = types[static_cast<std::size_t>(from)] == compute
                                                 ? from
                                                 : add({.in = {from}, .out_type = compute});
    }
    add(step);
  }
  return loop;
}

/// Small numbers, so that sums and squares of integers stay in range.
Owned counting(RandomViews& random, DType dtype, const Shape& shape) {
  Owned view = make_dense(dtype, shape);
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    for (std::int64_t i = 0; i < view.count(); ++i) {
      view.as<T>()[i] = static_cast<T>(static_cast<float>(random.integer(-2, 2)));
    }
  });
  return view;
}

/// One step after the other, each as a loop of its own over whole tensors.
std::vector<std::byte> one_by_one(const Loop& loop, const std::vector<Owned>& inputs,
                                  const Shape& shape) {
  std::vector<Owned> values(inputs.begin(), inputs.end());
  for (const LoopStep& step : loop.steps) {
    Loop single;
    LoopStep own = step;
    std::vector<View> in;
    for (int k = 0; k < step.arity(); ++k) {
      const Owned& value = values[static_cast<std::size_t>(step.in[static_cast<std::size_t>(k)])];
      in.push_back(value);
      single.in_types.push_back(value.dtype);
      own.in[static_cast<std::size_t>(k)] = k;
    }
    single.steps = {own};
    const Owned out = make_dense(step.out_type, shape);
    cpu_backend().prepare(single)->run({.views = in}, out);
    values.push_back(out);
  }
  return values.back().bytes();
}

TEST(CpuLoop, ComputesWhatItsStepsComputeOneByOne) {
  RandomViews random(11);
  for (int round = 0; round < 300; ++round) {
    const auto n_in = static_cast<int>(random.integer(1, 5));
    const Loop loop = random_loop(random, n_in, static_cast<int>(random.integer(1, 7)));
    const PreparedLoop prepared = cpu_backend().prepare(loop);
    ASSERT_NE(prepared, nullptr) << to_string(loop);
    // Few elements, more than a tile, more than a thread takes.
    const std::int64_t rows = random.chance(0.1) ? 700 : random.integer(1, 60);
    const Shape shape{rows, random.integer(0, 40)};
    std::vector<Owned> inputs;
    std::vector<View> views;
    std::vector<const void*> flat;
    for (const DType type : loop.in_types) {
      inputs.push_back(counting(random, type, shape));
      views.push_back(inputs.back());
      flat.push_back(inputs.back().data);
    }
    const std::vector<std::byte> expected = one_by_one(loop, inputs, shape);
    const Owned out = make_dense(loop.out_type(), shape);
    prepared->run({.views = views}, out);
    EXPECT_EQ(out.bytes(), expected) << to_string(loop);
    const Owned again = make_dense(loop.out_type(), shape);
    prepared->run_flat(flat.data(), 0, again.data, static_cast<std::size_t>(again.count()));
    EXPECT_EQ(again.bytes(), expected) << to_string(loop);
    // In the place of the first input, if that has elements of the result's size.
    if (inputs[0].dtype != loop.out_type()) continue;
    prepared->run_flat(flat.data(), 0, inputs[0].data, static_cast<std::size_t>(out.count()));
    EXPECT_EQ(inputs[0].bytes(), expected) << to_string(loop);
  }
}

TEST(CpuLoop, RepeatsNumbersAndConvertsOtherTypes) {
  const OpRecord& op = *ops::find_op("sub");
  const PreparedLoop prepared =
      cpu_backend().prepare(loop_of(op, ops::elementwise_types(op, float32)));
  for (const std::int64_t n : {1, 300, 3000}) {
    const Owned x = make_dense(int16, {n});
    for (std::int64_t i = 0; i < n; ++i) x.as<std::int16_t>()[i] = static_cast<std::int16_t>(i);
    float number = 0.5F;
    const std::vector<View> in{x, {.dtype = float32, .data = &number}};
    const Owned out = make_dense(float32, {n});
    prepared->run({.views = in, .numbers = 2}, out);
    for (std::int64_t i = 0; i < n; ++i) {
      ASSERT_EQ(out.as<float>()[i], static_cast<float>(i) - 0.5F);
    }
  }
}

/// A graph makes several of it then.
TEST(CpuLoop, IsNotPreparedOfTooManyInputs) {
  const OpRecord& add = *ops::find_op("add");
  const ops::LoopLimits limits = cpu_backend().loop_limits();
  for (const int inputs : {limits.inputs, limits.inputs + 1}) {
    Loop loop;
    loop.in_types.assign(static_cast<std::size_t>(inputs), float32);
    for (int s = 0; s + 1 < inputs; ++s) {
      loop.steps.push_back({.op = &add,
                            .compute = float32,
                            .in = {s == 0 ? 0 : inputs + s - 1, s + 1},
                            .out_type = float32});
    }
    EXPECT_EQ(cpu_backend().prepare(loop) != nullptr, inputs == limits.inputs);
  }
}

}  // namespace
}  // namespace tenure::kernels
