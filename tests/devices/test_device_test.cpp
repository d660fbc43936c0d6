#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tenure/memory/region.h"
#include "tenure/tenure.h"
#include "tests/support/expect.h"
#include "tests/support/make.h"
#include "tests/support/same_bits.h"
#include "tests/support/test_device.h"
#include "tests/support/training_faults.h"

// What holds on any device, on one that computes later and whose memory the host cannot touch. The
// program's default device is the CPU here: what is elsewhere was put there.

namespace tenure {
namespace {

using test::counting;
using test::expect_elements;
using test::expect_same_bits;
using test::expect_throws;
using test::kTestDevice;
using test::test_device;

Tensor there(const Tensor& x) {
  test_device();
  return copy_to(x, kTestDevice);
}

/// While it lives the device does nothing.
class Held {
 public:
  Held() { test_device().hold(true); }
  ~Held() { test_device().hold(false); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
};

TEST(TestDevice, GivesBackWhatWasCopiedToIt) {
  const Tensor x = counting({4, 6});
  for (const Tensor& here : {x, transpose(x), flip(x), index(x, {2}), broadcast_to(x, {2, 4, 6})}) {
    const Tensor moved = there(here);
    EXPECT_TRUE(moved.device() == kTestDevice);
    EXPECT_TRUE(moved.is_contiguous());
    expect_same_bits(moved, here);
    expect_same_bits(copy_to(moved, cpu), here);
    expect_same_bits(copy_to(moved, kTestDevice), here);
  }
  const Tensor y = there(x);
  for (const Tensor& strided : {transpose(y), flip(y), index(y, {2}), slice(y, 1, 1, 4)}) {
    const Tensor back = copy_to(strided, cpu);
    EXPECT_TRUE(back.device() == cpu);
    expect_same_bits(back, strided);
  }
}

/// Whatever memory is left.
TEST(TestDevice, LetsTheHostReadANumber) {
  const Tensor x = there(counting({2, 3}));
  const Tensor last = index(x, {1, 2});
  const FaultInjection fault(1);
  EXPECT_EQ(last.item<float>(), 5);
  EXPECT_FALSE(fault.fired());
}

/// A step that has no memory, at each of its allocations, can be had again.
TEST(TestDevice, TrainsOnAfterEveryFault) {
  test_device();
  EXPECT_GT(test::survive_faults_in_training(kTestDevice), 20);
}

TEST(TestDevice, LetsTheHostReadThroughCopies) {
  const Tensor x = there(counting({2, 3}));
  EXPECT_EQ(index(x, {1, 2}).item<float>(), 5);
  EXPECT_EQ(transpose(x).to_vector<int>(), (std::vector{0, 3, 1, 4, 2, 5}));
  std::ostringstream text;
  text << x;
  EXPECT_EQ(text.str(), to_string(counting({2, 3})));
  expect_throws<DeviceError>([&] { static_cast<void>(x.span<float>()); },
                             {"span()", "test:0", "copy_to(x, cpu)"});
  expect_throws<DeviceError>([&] { static_cast<void>(x.mutable_span<float>()); },
                             {"mutable_span()", "test:0", "copy_to(x, cpu)"});
  EXPECT_EQ(there(zeros({0, 3})).to_vector<float>().size(), 0u);
}

TEST(TestDevice, ComputesLaterAndInOrder) {
  const Tensor x = there(ones({256}));
  Tensor y = x;
  const std::size_t before = test_device().queued();
  {
    const Held held;
    for (int i = 0; i < 64; ++i) y = y + x;  // blocks of earlier sums are given out again
    y = sum(y * 2);
    EXPECT_GE(test_device().queued(), before + 66);
  }
  EXPECT_EQ(y.item<float>(), 256 * 65 * 2);
}

TEST(TestDevice, CountsAtOnceWhatItFreesLater) {
  const Tensor x = there(ones({1024}));
  const MemoryRegion region(kTestDevice);
  {
    const Held held;
    Tensor y = exp(x);
    EXPECT_EQ(region.left_bytes(), 4096);
    y.dispose();
    EXPECT_EQ(region.left_bytes(), 0);
  }
  for (int i = 0; i < 100; ++i) static_cast<void>(tanh(x) + x);
  EXPECT_EQ(region.left_bytes(), 0);
  EXPECT_LE(region.peak_bytes(), 3 * 4096);
}

TEST(TestDevice, HasTheNumbersOfItsCalls) {
  const Tensor x = counting({5});
  const Tensor y = there(x);
  expect_same_bits(y * 2 + 0.5, x * 2 + 0.5);
  expect_same_bits(1 / (y + 1), 1 / (x + 1));
  expect_same_bits(where(y > 2, y, -1), where(x > 2, x, -1));
  expect_same_bits(cast(y, int32) / 2, cast(x, int32) / 2);
  expect_same_bits(clamp(y, 1, 3), clamp(x, 1, 3));
  EXPECT_TRUE((y * 2).device() == kTestDevice);
  EXPECT_TRUE((y > 2).device() == kTestDevice);
}

TEST(TestDevice, HasWhatIsMadeLikeItsTensors) {
  const Tensor x = there(counting({2, 3}));
  for (const Tensor& made :
       {zeros_like(x), ones_like(x), full_like(x, 3), dropout(x, 0.5), one_hot(cast(x, int64), 7),
        softmax(x), mean(x, 0), pad(x, {{1, 1}, {0, 2}}),
        scatter(x, 1, there(tensor({{0}, {2}})), 0.5), size(x)}) {
    EXPECT_TRUE(made.device() == kTestDevice) << made.op();
    static_cast<void>(made.to_vector<float>());
  }
}

TEST(TestDevice, IsWhereTheDefaultSays) {
  test_device();
  EXPECT_TRUE(default_device() == cpu);
  {
    const DeviceScope scope(kTestDevice);
    EXPECT_TRUE(default_device() == kTestDevice);
    for (const Tensor& made :
         {zeros({2}), tensor({1, 2}), tensor(std::vector<float>{1, 2}), uniform({2}), arange(2),
          eye(2), tensor(std::vector<bool>{true, false}), empty({2})}) {
      EXPECT_TRUE(made.device() == kTestDevice) << made.op();
    }
    expect_elements<std::int64_t>(tensor({{1, 2}, {3, 4}}), {2, 2}, {1, 2, 3, 4});
    std::thread([] { EXPECT_TRUE(ones({2}).device() == cpu); }).join();
    {
      const DeviceScope inner(cpu);
      EXPECT_TRUE(ones({2}).device() == cpu);
      EXPECT_TRUE((copy_to(tensor(3.0), kTestDevice) * 2).device() == kTestDevice);
    }
    EXPECT_TRUE(ones({2}).device() == kTestDevice);
  }
  EXPECT_TRUE(ones({2}).device() == cpu);
  constexpr Device kAbsent{.kind = Device::Kind::test, .index = 9};
  EXPECT_THROW(DeviceScope scope(kAbsent), ValueError);
  EXPECT_THROW(set_default_device(kAbsent), ValueError);
  EXPECT_THROW(copy_to(ones({2}), kAbsent), ValueError);
  EXPECT_TRUE(default_device() == cpu);
}

TEST(TestDevice, TakesNoTensorsOfTheHost) {
  const Tensor x = there(ones({3}));
  const Tensor here = ones({3});
  EXPECT_THROW(x + here, DeviceError);
  EXPECT_THROW(matmul(here, x), DeviceError);
  EXPECT_THROW(concat({x, here}), DeviceError);
  EXPECT_THROW(take(x, tensor({0, 1})), DeviceError);
  expect_elements<float>(x, {3}, {1, 1, 1});
}

TEST(TestDevice, ThrowsBeforeItWrites) {
  const Tensor x = there(counting({4}));
  const MemoryRegion region(kTestDevice);
  const Tensor places = there(tensor({0, 7}));
  EXPECT_THROW(take(x, places), IndexError);
  const Tensor a = there(tensor({1, 2}));
  const Tensor b = there(tensor({1, 0}));
  Tensor moved = there(tensor({5, 6}));
  EXPECT_THROW(floor_divide(std::move(moved), b), ValueError);
  EXPECT_EQ(moved.to_vector<int>(), (std::vector{5, 6}));
  EXPECT_THROW(pow(a, there(tensor({-1, 2}))), ValueError);
  expect_elements<std::int64_t>(a, {2}, {1, 2});
  expect_elements<float>(x, {4}, {0, 1, 2, 3});
}

TEST(TestDevice, MeasuresWhatDependsOnData) {
  const Tensor x = counting({7}) * 3;
  const Tensor y = there(x);
  expect_same_bits(nonzero(y), nonzero(x));
  expect_same_bits(index(y, {y > 4}), index(x, {x > 4}));
}

TEST(TestDevice, HasGradientsWhereTheInputsAre) {
  const auto gradient = [](const Tensor& x) {
    GradientTape tape;
    tape.watch(x);
    return tape.gradient(sum(tanh(x) * x + mean(x)), x);
  };
  const Tensor x = counting({3, 2}) * 0.25;
  const Tensor found = gradient(there(x));
  EXPECT_TRUE(found.device() == kTestDevice);
  expect_same_bits(found, gradient(x));
  GradientTape tape;  // back over a copy
  tape.watch(x);
  const Tensor loss = sum(square(copy_to(x, kTestDevice)));
  const Tensor back = tape.gradient(loss, x);
  EXPECT_TRUE(back.device() == cpu);
  expect_same_bits(back, x * 2);
}

TEST(TestDevice, RefusesMoreThanABudget) {
  const Tensor x = there(ones({1024}));
  const Budget budget("there", 6000, kTestDevice);
  const Tensor y = exp(x);
  expect_throws<OutOfMemory>([&] { static_cast<void>(exp(x)); }, {"test:0"});
  static_cast<void>(ones({4096}));  // the CPU has its own
  EXPECT_EQ(sum(y).to_vector<float>().size(), 1u);
}

}  // namespace
}  // namespace tenure
