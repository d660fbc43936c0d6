#include "tenure/ops/core/loop.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "tenure/ops/core/backend.h"

// Elementwise work as data.

namespace tenure::ops {
namespace {

Loop alone(const char* name, DType common) {
  const OpRecord& op = *find_op(name);
  return loop_of(op, elementwise_types(op, common));
}

TEST(Loop, SaysWhatItComputes) {
  EXPECT_EQ(to_string(alone("add", DType::float32)), "float32, float32: 2 = add(0, 1) in float32");
  EXPECT_EQ(to_string(alone("add", DType::float16)),
            "float32, float32: 2 = add(0, 1) in float32; 3 = float16(2)");
  EXPECT_EQ(to_string(alone("less", DType::bfloat16)),
            "float32, float32: 2 = less(0, 1) in float32");
  EXPECT_EQ(to_string(alone("where", DType::int8)), "bool, int8, int8: 3 = where(0, 1, 2) in int8");
  EXPECT_EQ(to_string(alone("tanh", DType::int32)), "float32: 1 = tanh(0) in float32");
}

TEST(Loop, IsEqualToWhatComputesTheSame) {
  EXPECT_EQ(alone("add", DType::int32), alone("add", DType::int32));
  EXPECT_NE(alone("add", DType::int32), alone("mul", DType::int32));
  EXPECT_NE(alone("add", DType::float16), alone("add", DType::float32));
  Loop longer = alone("add", DType::float32);
  longer.steps.push_back(longer.steps[0]);
  EXPECT_NE(longer, alone("add", DType::float32));
  EXPECT_EQ(longer.cost(), 2 * alone("add", DType::float32).cost());
}

TEST(Loop, OfAnOpAloneIsPreparedOnceForATypeAndADevice) {
  for (const OpRecord* op : all_ops()) {
    if (op->elementwise == nullptr) continue;
    for (int i = 0; i < kDTypes; ++i) {
      const auto type = static_cast<DType>(i);
      if (!op->takes(type)) continue;
      const PreparedLoop& loop = loop_of(*op, cpu, type);
      EXPECT_EQ(&loop_of(*op, cpu, type), &loop) << op->name;
      EXPECT_GT(loop.bytes(), 0u);
    }
  }
}

TEST(Loop, OfAnOpAloneIsTheSameForAllThatAskAtOnce) {
  const OpRecord op = *find_op("add");  // a copy that nobody has asked for yet
  static constexpr ElementLoops kLoops = [] {
    ElementLoops loops{};
    loops[static_cast<std::size_t>(DType::float32)] = [](const void* const*, void*, std::size_t) {};
    return loops;
  }();
  static const KernelSlot slot{.loops = &kLoops};
  op.kernels.set(cpu, slot);
  std::vector<const PreparedLoop*> got(4);
  {
    std::vector<std::jthread> threads;
    for (const PreparedLoop*& loop : got) {
      threads.emplace_back([&] { loop = &loop_of(op, cpu, DType::float32); });
    }
  }
  for (const PreparedLoop* loop : got) EXPECT_EQ(loop, got[0]);
}

}  // namespace
}  // namespace tenure::ops
