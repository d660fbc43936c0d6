#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "tenure/memory/region.h"
#include "tenure/tensor/pending.h"
#include "tenure/tenure.h"
#include "tests/support/second_memory.h"

// Calls on tensors of a device that has memory and no kernels: whoever computed there all the same
// would end the process.

namespace tenure {
namespace {

using test::kSecond;

Tensor on_second(const Shape& shape, DType dtype = DType::float32) {
  test::second_memory();
  PendingTensor pending(mem::this_thread(), kSecond, dtype, shape);
  return pending.finish("on_second", Site::current());
}

/// An error of this op, which names a device, and after which nothing is left but what was there.
void expect_device_error(const std::string& op, const std::function<Tensor()>& call) {
  SCOPED_TRACE(op);
  const MemoryRegion around;
  try {
    static_cast<void>(call());
    ADD_FAILURE() << "nothing was thrown";
  } catch (const DeviceError& error) {
    EXPECT_EQ(error.op(), op);
    EXPECT_TRUE(error.device() == kSecond || error.device() == cpu);
    const std::string text = error.what();
    EXPECT_NE(text.find(op), std::string::npos) << text;
    EXPECT_NE(text.find(name_of(kSecond)), std::string::npos) << text;
  }
  EXPECT_EQ(around.left_bytes(), 0);
  EXPECT_EQ(around.left_tensors(), 0);
}

TEST(Device, WithoutKernelsIsAnErrorOfTheCall) {
  const Tensor x = on_second({4, 4});
  expect_device_error("add", [&] { return x + x; });
  expect_device_error("mul", [&] { return x * 2; });
  expect_device_error("tanh", [&] { return tanh(x); });
  expect_device_error("maximum", [&] { return maximum(x, transpose(x)); });
  expect_device_error("matmul", [&] { return matmul(x, x); });
  expect_device_error("sum", [&] { return sum(x); });
  expect_device_error("sort", [&] { return sort(x); });
  expect_device_error("nonzero", [&] { return nonzero(x); });
  expect_device_error("concat", [&] { return concat({x, x}); });
  expect_device_error("add", [&] { return Tensor(x) + on_second({4, 4}); });
}

TEST(Device, OfAViewIsThatOfItsInput) {
  const Tensor x = on_second({4, 6});
  EXPECT_TRUE(transpose(x).device() == kSecond);
  EXPECT_TRUE(reshape(x, {24}).device() == kSecond);
  EXPECT_TRUE(index(x, {1}).device() == kSecond);
}

TEST(Device, OfTheInputsOfACallIsOne) {
  const Tensor x = on_second({4, 4});
  const Tensor here = ones({4, 4});
  const Tensor places = on_second({2}, DType::int64);
  expect_device_error("add", [&] { return x + here; });
  expect_device_error("add", [&] { return here + x; });
  expect_device_error("add", [&] { return here + on_second({4}); });
  expect_device_error("matmul", [&] { return matmul(here, x); });
  expect_device_error("take", [&] { return take(here, places); });
  expect_device_error("concat", [&] { return concat({here, x}); });
}

TEST(Device, OfAProgramIsThatOfItsInputs) {
  const Tensor x = on_second({4, 4});
  const auto f = function([](const Tensor& a) { return a * 2 + 1; });
  static_cast<void>(f(ones({4, 4})));
  expect_device_error("", [&] { return f(x); });  // it would have to be compiled for it
  Graph graph;
  const Tensor s = graph.placeholder("s", float32, {4, 4});
  const Tensor y = tanh(s);
  Session session(graph);
  static_cast<void>(session.run(y, {{s, ones({4, 4})}}));
  expect_device_error("run", [&] { return session.run(y, {{s, x}}); });
}

}  // namespace
}  // namespace tenure
