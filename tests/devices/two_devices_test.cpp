#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tenure/memory/pool/pool.h"
#include "tenure/memory/region.h"
#include "tenure/tenure.h"
#include "tests/support/expect.h"
#include "tests/support/make.h"
#include "tests/support/random_program.h"
#include "tests/support/same_bits.h"
#include "tests/support/test_device.h"

// Two devices of one kind are two devices: each has its memory, its kernels and its programs, and
// what takes one for the other ends the process, as their addresses differ.

namespace tenure {
namespace {

using test::counting;
using test::expect_same_bits;
using test::expect_throws;
using test::kOtherTestDevice;
using test::kTestDevice;
using test::test_device;

class TwoDevices : public testing::Test {
 protected:
  void SetUp() override {
    test_device(0);
    test_device(1);
  }
  static constexpr Device kBoth[] = {kTestDevice, kOtherTestDevice};
};

TEST_F(TwoDevices, HaveMemoryOfTheirOwn) {
  const MemoryRegion first(kTestDevice);
  const MemoryRegion second(kOtherTestDevice);
  const MemoryRegion host(cpu);
  const Tensor x = counting({1024});
  Tensor here = copy_to(x, kTestDevice);
  EXPECT_EQ(first.left_bytes(), 4096);
  EXPECT_EQ(second.left_bytes(), 0);
  Tensor there = copy_to(x, kOtherTestDevice);
  there = there + 1;
  EXPECT_EQ(first.left_bytes(), 4096);
  EXPECT_EQ(second.left_bytes(), 4096);
  EXPECT_GE(second.peak_bytes(), 8192);
  EXPECT_EQ(first.peak_bytes(), 4096);
  EXPECT_EQ(host.left_bytes(), 4096);
  const std::size_t reserved = mem::pool_stats(kTestDevice).reserved;
  const Tensor large = copy_to(zeros({8 << 20}), kOtherTestDevice);
  EXPECT_EQ(mem::pool_stats(kTestDevice).reserved, reserved);
  EXPECT_GE(mem::pool_stats(kOtherTestDevice).reserved, std::size_t{32} << 20);
  const Budget budget("there", 1000, kOtherTestDevice);
  static_cast<void>(exp(here));
  expect_throws<OutOfMemory>([&] { static_cast<void>(exp(there)); }, {"test:1"});
}

TEST_F(TwoDevices, CopyToEachOther) {
  const Tensor x = counting({4, 6});
  for (const Device from : kBoth) {
    for (const Device to : kBoth) {
      const Tensor y = copy_to(x, from);
      for (const auto& of : std::vector<Tensor (*)(const Tensor&)>{
               [](const Tensor& t) { return t; }, [](const Tensor& t) { return transpose(t); },
               [](const Tensor& t) { return flip(t); },
               [](const Tensor& t) { return index(t, {2}); },
               [](const Tensor& t) { return slice(t, 1, 1, 1); }}) {
        const Tensor moved = copy_to(of(y), to);
        EXPECT_TRUE(moved.device() == to);
        expect_same_bits(copy_to(moved, cpu), of(x));
      }
    }
  }
  GradientTape tape;  // there and back
  const Tensor y = copy_to(x, kTestDevice);
  tape.watch(y);
  const Tensor loss = sum(square(copy_to(y, kOtherTestDevice)));
  const Tensor gradient = tape.gradient(loss, y);
  EXPECT_TRUE(gradient.device() == kTestDevice);
  expect_same_bits(copy_to(gradient, cpu), x * 2);
}

TEST_F(TwoDevices, DoNotMix) {
  const Tensor here = copy_to(ones({3}), kTestDevice);
  const Tensor there = copy_to(ones({3}), kOtherTestDevice);
  const auto f = function([](const Tensor& a, const Tensor& b) { return a + b; });
  const Variable variable(there);
  const auto reads_variable = function([&](const Tensor& a) { return a + variable.value(); });
  const std::vector<std::string> both{"test:0", "test:1"};
  expect_throws<DeviceError>([&] { static_cast<void>(here + there); }, both);
  expect_throws<DeviceError>([&] { static_cast<void>(matmul(there, here)); }, both);
  expect_throws<DeviceError>([&] { static_cast<void>(concat({here, there})); }, both);
  expect_throws<DeviceError>([&] { static_cast<void>(f(here, there)); }, both);
  expect_throws<DeviceError>([&] { static_cast<void>(reads_variable(here)); }, both);
  test::expect_elements<float>(there, {3}, {1, 1, 1});
}

/// Whoever came first: kernels, loops alone and fused, measured sizes, control flow.
TEST_F(TwoDevices, HaveKernelsAndProgramsOfTheirOwn) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const test::RandomProgram program(seed);
    const std::vector<Tensor> expected = program(program.inputs());
    const auto compiled =
        function([&](const std::vector<Tensor>& inputs) { return program(inputs); });
    for (const std::size_t i : {seed % 2, (seed + 1) % 2}) {
      std::vector<Tensor> inputs;
      for (const Tensor& input : program.inputs()) inputs.push_back(copy_to(input, kBoth[i]));
      const std::size_t others = test_device(1 - i).queued();
      for (const std::vector<Tensor>& got : {program(inputs), compiled(inputs), compiled(inputs)}) {
        ASSERT_EQ(got.size(), expected.size());
        for (std::size_t r = 0; r < got.size(); ++r) {
          EXPECT_TRUE(got[r].device() == kBoth[i]);
          expect_same_bits(copy_to(got[r], cpu), expected[r]);
        }
      }
      EXPECT_EQ(test_device(1 - i).queued(), others);
    }
    EXPECT_EQ(compiled.traces().size(), 2u);
  }
}

TEST_F(TwoDevices, PrepareLoopsOfTheirOwn) {
  const auto f = function([](const Tensor& x) { return exp(x * 0.5) - x; });
  for (const Device device : kBoth) {
    const std::size_t before = test_device(device.index).prepared();
    const std::size_t others = test_device(1 - device.index).prepared();
    const Tensor x = copy_to(counting({5}), device);
    expect_same_bits(copy_to(f(x), cpu), f(counting({5})));
    EXPECT_GT(test_device(device.index).prepared(), before);
    EXPECT_EQ(test_device(1 - device.index).prepared(), others);
  }
}

/// What has no tensors to go by.
TEST_F(TwoDevices, AFunctionWithoutTensorsRunsOnTheDefaultDevice) {
  const Variable variable(copy_to(counting({3}), kOtherTestDevice));
  const auto f = function([](double number) { return full({3}, number) + 1; });
  const auto reads_variable = function([&] { return variable.value() * 2; });
  EXPECT_TRUE(f(2.0).device() == cpu);
  expect_throws<DeviceError>([&] { static_cast<void>(reads_variable()); }, {"cpu", "test:1"});
  for (const Device device : kBoth) {
    const DeviceScope scope(device);
    EXPECT_TRUE(f(2.0).device() == device);
    test::expect_elements<float>(f(2.0), {3}, {3, 3, 3});
  }
  EXPECT_TRUE(f(2.0).device() == cpu);
  EXPECT_EQ(f.traces().size(), 3u);  // one for each device
  const DeviceScope scope(kOtherTestDevice);
  test::expect_elements<float>(reads_variable(), {3}, {0, 2, 4});
}

}  // namespace
}  // namespace tenure
