#include "tenure/ops/core/backend.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tenure/kernels/cpu/table.h"
#include "tenure/memory/region.h"
#include "tenure/ops/core/dispatch.h"
#include "tenure/tenure.h"
#include "tests/support/expect.h"

// What devices have for ops.

namespace tenure {
namespace {

using ops::Kernel;
using ops::OpRecord;
using ops::Specs;

constexpr Device kCuda{.kind = Device::Kind::cuda};

/// A record that no device has a kernel for.
OpRecord without_kernel() {
  OpRecord record;
  record.name = "nobody_computes_it";
  record.dtypes = ops::kAllTypes;
  record.infer = [](const Kernel& k) { return Specs{{k.in[0].dtype, k.in[0].shape}}; };
  return record;
}

TEST(Backend, TheCpuHasAKernelForEveryOpThatNeedsOne) {
  for (const OpRecord* op : ops::all_ops()) {
    const ops::KernelSlot* const slot = ops::find_kernel(*op, cpu);
    EXPECT_EQ(slot != nullptr, ops::needs_kernel(*op)) << op->name;
    if (slot == nullptr) continue;
    EXPECT_EQ(slot->run == nullptr, op->elementwise != nullptr) << op->name;
    EXPECT_EQ(slot->measure != nullptr, op->data_dependent) << op->name;
    EXPECT_EQ(slot->workspace != nullptr, op->memory.workspace) << op->name;
    if (op->elementwise != nullptr) {
      EXPECT_EQ(slot->check != nullptr, op->may_fail) << op->name;
    }
  }
}

TEST(Backend, EveryKernelOfTheCpuIsForAnotherOp) {
  std::set<std::string> names;
  for (const kernels::KernelRow& row : kernels::cpu_kernels()) {
    EXPECT_TRUE(names.insert(row.op).second) << row.op;
    const OpRecord* const op = ops::find_op(row.op);
    ASSERT_NE(op, nullptr) << row.op;
    EXPECT_EQ(ops::kernel_of(*op, cpu).run, row.slot.run) << row.op;
  }
}

TEST(Backend, AnOpWithoutAKernelIsAnErrorThatNamesOpAndDevice) {
  const OpRecord record = without_kernel();
  EXPECT_EQ(ops::find_kernel(record, cpu), nullptr);
  for (int again = 0; again < 2; ++again) {
    try {
      ops::kernel_of(record, cpu);
      FAIL() << "nobody has a kernel for it";
    } catch (const DeviceError& error) {
      EXPECT_EQ(error.op(), "nobody_computes_it");
      EXPECT_TRUE(error.device() == cpu);
      const std::string text = error.what();
      EXPECT_NE(text.find("nobody_computes_it"), std::string::npos) << text;
      EXPECT_NE(text.find("cpu"), std::string::npos) << text;
    }
  }
}

/// Now and when a function is compiled, and nothing is left behind.
TEST(Backend, ACallWithoutAKernelChangesNothing) {
  const OpRecord record = without_kernel();
  Tensor x = ones({3});
  const MemoryRegion around;
  const auto call = [&](const Operand& operand) {
    return ops::run_now(record, {&operand, 1}, ops::kNoAttributes, Site::current());
  };
  EXPECT_THROW(static_cast<void>(call(std::move(x))), DeviceError);
  EXPECT_TRUE(x.defined());
  {
    const auto f = function([&](const Tensor& a) { return call(a); });
    EXPECT_THROW(static_cast<void>(f(x)), DeviceError);
  }
  EXPECT_EQ(around.left_bytes(), 0);
  EXPECT_EQ(around.left_tensors(), 0);
  test::expect_elements<float>(x, {3}, {1, 1, 1});
}

TEST(Backend, AnElementwiseOpWithoutAKernelIsAnErrorAloneAndAmongOthers) {
  OpRecord record = *ops::find_op("abs");
  record.name = "nobody_computes_it";
  const Tensor x = ones({3});
  const auto call = [&](const Operand& operand) {
    return ops::run_now(record, {&operand, 1}, ops::kNoAttributes, Site::current());
  };
  const auto f = function([&](const Tensor& a) { return relu(call(a + 1)) * 2; });
  for (int again = 0; again < 2; ++again) {
    EXPECT_THROW(static_cast<void>(call(x)), DeviceError);
    EXPECT_THROW(static_cast<void>(f(x)), DeviceError);
  }
}

TEST(Backend, ADeviceThatIsNotThereIsAnError) {
  EXPECT_THROW(ops::backend(kCuda), DeviceError);
  try {
    ops::kernel_of(*ops::find_op("matmul"), kCuda);
    FAIL() << "there is no such device";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.op(), "matmul");
    EXPECT_TRUE(error.device() == kCuda);
    EXPECT_NE(std::string(error.what()).find("cuda"), std::string::npos) << error.what();
  }
}

/// Else a copy with another kernel would run that of the first.
TEST(Backend, ACopyOfARecordLooksForItsOwnKernel) {
  static constexpr ops::KernelSlot kSlot{.run = [](const Kernel&) {}};
  const OpRecord record = without_kernel();
  record.kernels.set(cpu, kSlot);
  EXPECT_EQ(&ops::kernel_of(record, cpu), &kSlot);
  OpRecord copy = record;
  EXPECT_EQ(ops::find_kernel(copy, cpu), nullptr);
  copy.kernels.set(cpu, kSlot);
  copy = *ops::find_op("matmul");
  EXPECT_EQ(ops::find_kernel(copy, cpu), nullptr);
  EXPECT_NE(ops::find_kernel(*ops::find_op("matmul"), cpu), nullptr);
}

}  // namespace
}  // namespace tenure
