#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tenure/kernels/cuda/create/create_arguments.h"
#include "tenure/kernels/cuda/launch/gpu.h"
#include "tenure/kernels/cuda/table.h"
#include "tests/cuda/emulated.h"
#include "tests/support/expect.h"
#include "tests/support/make.h"
#include "tests/support/same_bits.h"

// What holds of a GPU, on the emulated one: its numbers are the CPU's, its memory is in the books,
// and its faults are errors.

namespace tenure {
namespace {

using test::counting;
using test::emulated_gpu;
using test::expect_elements;
using test::expect_same_bits;
using test::expect_throws;

constexpr DType kAll[] = {boolean, uint8,   int8,     int16,   int32,
                          int64,   float16, bfloat16, float32, float64};

/// What `f` makes of inputs there has the bits of what it makes of them here.
template <class F, class... T>
void expect_same_there(const F& f, const T&... inputs) {
  const Device device = emulated_gpu();
  const Tensor there = f(copy_to(inputs, device)...);
  EXPECT_TRUE(there.device() == device);
  expect_same_bits(there, f(inputs...));
}

TEST(Gpu, GivesBackWhatWasCopiedToIt) {
  const Device device = emulated_gpu();
  const Tensor x = counting({4, 6});
  for (const Tensor& here : {x, transpose(x), flip(x), index(x, {2}), broadcast_to(x, {2, 4, 6})}) {
    const Tensor there = copy_to(here, device);
    expect_same_bits(there, here);
    expect_same_bits(copy_to(there, device), here);
    expect_same_bits(copy_to(flip(there), cpu), flip(here));
  }
  const Tensor large = counting({3, 1 << 20});  // more than the staging memory has at once
  expect_same_bits(copy_to(copy_to(large, device), cpu), large);
}

TEST(Gpu, CopiesToAnother) {
  const Tensor x = counting({5, 7});
  const Tensor there = copy_to(x, emulated_gpu(0));
  expect_same_bits(copy_to(transpose(there), emulated_gpu(1)), transpose(x));
}

TEST(Gpu, ConvertsAsTheCpuDoes) {
  const Tensor numbers = tensor({0.0, 1.0, -1.5, 300.7, -70000.0, 65504.0, 1e-8, 3e9, -1e30, 0.1});
  for (const DType from : kAll) {
    const Tensor given = cast(numbers, from);
    for (const DType to : kAll) {
      SCOPED_TRACE(testing::Message() << name_of(from) << " to " << name_of(to));
      expect_same_there([&](const Tensor& x) { return cast(x, to); }, given);
    }
  }
}

TEST(Gpu, MovesElementsInAnyLayout) {
  const Tensor x = counting({3, 4, 5});
  expect_same_there([](const Tensor& t) { return contiguous(transpose(t)); }, x);
  expect_same_there([](const Tensor& t) { return reshape(transpose(t), {10, 6}); }, x);
  expect_same_there([](const Tensor& t) { return concat({t, flip(t)}, 1); }, x);
  expect_same_there([](const Tensor& t) { return stack({t, flip(t)}, -1); }, x);
  expect_same_there([](const Tensor& t) { return concat({t, cast(t, int32)}, 0); }, x);
}

TEST(Gpu, MakesTensors) {
  const Device device = emulated_gpu();
  for (const DType type : kAll) {
    const auto make = [&](int what) {
      if (what == 0) return zeros({3, 5}, type);
      if (what == 1) return ones({3, 5}, type);
      if (what == 2 || type == boolean) return full({7}, 3, type);
      return arange(0, 9, 2, type);
    };
    for (int what = 0; what < 4; ++what) {
      SCOPED_TRACE(testing::Message() << name_of(type) << ' ' << what);
      const Tensor here = make(what);
      const DeviceScope scope(device);
      expect_same_bits(make(what), here);
    }
  }
}

TEST(Gpu, ComputesElementwiseInEveryLayoutAndMixOfTypes) {
  const Tensor a = counting({4, 6});
  const Tensor row = counting({6});
  const auto f = [](const Tensor& x, const Tensor& y) { return x * y - 0.5; };
  expect_same_there(f, a, a);
  expect_same_there(f, a, row);
  expect_same_there([&](const Tensor& x) { return f(transpose(x), x[1]); }, counting({6, 6}));
  expect_same_there(f, cast(a, bfloat16), cast(row, bfloat16));
  expect_same_there(f, cast(a, float16), cast(row, int32));
  expect_same_there(f, cast(a, int16), cast(row, uint8));
  expect_same_there([](const Tensor& x) { return where(x > 7, x, -x); }, a);
  expect_same_there([](const Tensor& x) { return slice(x, 0, 1, 23) + 1; }, counting({24}));
  expect_same_there([](const Tensor& x) { return x + 1; }, zeros({0, 3}));
}

TEST(Gpu, RunsProgramsWithTheirLoopsJoined) {
  const auto f = function([](const Tensor& x, const Tensor& y) {
    return where(x > y, x * 2 + y, maximum(x, y) - 0.25) * x;
  });
  expect_same_there([&](const Tensor& x, const Tensor& y) { return f(x, y); }, counting({33, 5}),
                    counting({5}));
}

TEST(Gpu, RefusesWhatTheCpuRefuses) {
  const Device device = emulated_gpu();
  const Tensor a = copy_to(tensor({6, 7, 8}), device);
  const Tensor b = copy_to(tensor({3, 0, 2}), device);
  expect_throws<ValueError>([&] { floor_divide(a, b); },
                            {"floor_divide: integer division by zero"});
  expect_throws<ValueError>([&] { floor_divide(a, 0); }, {"integer division by zero"});
  expect_throws<ValueError>([&] { pow(a, b - 1); }, {"negative integer power"});
  expect_elements<std::int64_t>(floor_divide(a, b + 1), {3}, {1, 7, 2});
}

TEST(Gpu, NamesBothTensorsOfTwoDevices) {
  const Tensor there = copy_to(ones({2}), emulated_gpu());
  expect_throws<DeviceError>(
      [&] { return there + ones({2}); },
      {"cuda:0", "cpu", "made by copy_to at gpu_test.cpp", "made by ones at"});
}

TEST(GpuMemory, IsInTheBooks) {
  const Device device = emulated_gpu();
  const std::int64_t before = memory(device).bytes;
  {
    const LeakGuard guard("part");
    const Tensor x = ones({1024}, float32);
    const Tensor there = copy_to(x, device);
    EXPECT_EQ(memory(device).bytes, before + 4096);
  }
  EXPECT_EQ(memory(device).bytes, before);
  // What the emulated driver says that its context takes.
  EXPECT_EQ(cuda_memory_outside(device), std::int64_t{48} << 20);
}

/// What copies go through is counted apart.
TEST(GpuMemory, HasItsPinnedMemoryInTheBooks) {
  const Device device = emulated_gpu();
  const Tensor large = counting({3, 1 << 20});
  expect_same_bits(copy_to(copy_to(large, device), cpu), large);
  const MemoryStats pinned = memory(cuda_pinned(device));
  EXPECT_GE(pinned.bytes, std::int64_t{6} << 20);  // four places to write from, two to read to
  EXPECT_LT(pinned.bytes, std::int64_t{7} << 20);
  EXPECT_EQ(pinned.bytes, pinned[Category::workspace].bytes);
  EXPECT_GE(pinned.reserved_bytes, pinned.bytes);
  static_cast<void>(copy_to(large, device));
  EXPECT_EQ(memory(cuda_pinned(device)).bytes, pinned.bytes) << "it is used again";
  const DeviceScope scope(cuda_pinned(device));
  expect_throws<DeviceError>([] { return ones({2}); }, {"pinned:0"});
}

TEST(Gpu, IsInStepWithStreamsOfOthers) {
  const Device device = emulated_gpu();
  EXPECT_NE(cuda_stream(device), 0u);
  for (const std::uintptr_t stream : {std::uintptr_t{1}, std::uintptr_t{2}, cuda_stream(device)}) {
    EXPECT_NO_THROW(cuda_let_wait(stream, device));
    EXPECT_NO_THROW(cuda_wait_for(stream, device));
  }
  expect_throws<DeviceError>([] { return cuda_stream(cpu); }, {"cuda_stream: cpu is no GPU"});
}

/// A profiler sees which op launches what.
TEST(Gpu, NamesItsLaunchesForProfilers) {
  const Tensor x = copy_to(ones({4}), emulated_gpu());
  static_cast<void>(floor_divide(x, 2));
  void* const library =
      dlopen(TENURE_EMULATED_CUDA "/libnvtx3interop.so.1", RTLD_NOW | RTLD_NOLOAD);
  ASSERT_NE(library, nullptr);
  const auto names = reinterpret_cast<const char* (*)()>(dlsym(library, "emulated_range_names"));
  const auto depth = reinterpret_cast<int (*)()>(dlsym(library, "emulated_range_depth"));
  EXPECT_NE(std::string(names()).find("floor_divide\n"), std::string::npos);
  EXPECT_EQ(depth(), 0);
}

TEST(Gpu, HasAName) {
  const Device device = emulated_gpu();
  EXPECT_TRUE(device_named("cuda") == device);
  EXPECT_TRUE(device_named("cuda:1") == emulated_gpu(1));
  EXPECT_TRUE(device_named("cpu") == cpu);
  for (const char* const wrong : {"", "gpu", "cuda:", "cuda:x", "cuda:99", "cpu:1"}) {
    expect_throws<ValueError>([&] { return device_named(wrong); }, {"names no device", "cuda:0"});
  }
}

TEST(GpuMemory, EndsInATypedErrorAndTheProcessGoesOn) {
  const Device device = emulated_gpu();
  const DeviceScope scope(device);
  expect_throws<OutOfMemory>([] { return zeros({std::int64_t{1} << 40}, uint8); }, {"cuda:0"});
  std::vector<Tensor> held;
  try {
    while (true) held.push_back(zeros({64 << 20}, uint8));
  } catch (const OutOfMemory&) {
  }
  EXPECT_EQ(held.size(), 7u);  // 512 MiB less what the context takes
  held.clear();
  trim();
  // All of it can be had again, for one tensor: nothing is lost to pieces.
  const Tensor whole = zeros({450 << 20}, uint8);
  EXPECT_EQ(whole.device().index, 0);
}

TEST(GpuMemory, KeepsToBudgets) {
  const Device device = emulated_gpu();
  const DeviceScope scope(device);
  const Budget budget("part", 1 << 20, device);
  expect_throws<OutOfMemory>([] { return zeros({2 << 20}, uint8); }, {"part"});
  const Tensor fits = zeros({1000}, uint8);
}

/// Memory that is freed goes to others, and back to the driver, while the GPU has not come to what
/// was queued before: each finds what was there in its turn.
TEST(GpuMemory, IsUsedAgainInTheOrderOfTheQueue) {
  const Device device = emulated_gpu();
  const DeviceScope scope(device);
  Tensor sum = zeros({1 << 17}, float32);
  for (int i = 0; i < 40; ++i) {
    const Tensor part = full({1 << 17}, i, float32);
    sum = sum + part;
    if (i % 5 == 0) trim();
  }
  EXPECT_EQ(sum.to_vector<float>()[12345], 780.0f);
}

/// Threads that use a GPU have it do their work in turn, each in its own order.
TEST(GpuMemory, IsOfAllThreads) {
  const Device device = emulated_gpu();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([device, t] {
      const DeviceScope scope(device);
      const Tensor step = full({5000}, t + 1, float32);
      for (int turn = 0; turn < 10; ++turn) {
        Tensor sum = zeros({5000}, float32);
        for (int i = 0; i < 10; ++i) sum = sum + step;
        expect_same_bits(sum, step * 10);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// A child of a fork gets an error for whatever it asks of the GPU, and ends in good order; the
/// parent goes on.
TEST(GpuFaults, AChildOfAForkIsToldSo) {
  const Tensor there = copy_to(ones({4}), emulated_gpu());
  const pid_t child = fork();
  if (child == 0) {
    int status = 1;
    try {
      static_cast<void>(there + 1);
    } catch (const DeviceError& error) {
      status = std::string(error.what()).find("forked") == std::string::npos ? 2 : 0;
    }
    _exit(status);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  expect_elements<float>(there + 1, {4}, {2, 2, 2, 2});
}

/// A kernel that writes to an address of the host's: told once, with its op; the device is lost,
/// and the other one is not.
TEST(GpuFaults, AKernelThatFaultsIsToldOnceWithItsOp) {
  const Device device = emulated_gpu(1);
  kernels::cuda::Gpu& gpu = kernels::cuda::gpu(device);
  const Tensor there = copy_to(ones({4}), device);
  gpu.wait();
  const kernels::cuda::TypedKernel* const fill = kernels::cuda::creation_family().kernels.front();
  int of_host = 0;
  gpu.launch("bad_op", *fill, int32, {.blocks = 1, .threads = 32},
             kernels::cuda::FillArguments{.out = &of_host, .n = 1, .bytes = 1});
  expect_throws<DeviceError>([&] { there.to_vector<float>(); },
                             {"cuda:1", "in bad_op", "CUDA_ERROR_ILLEGAL_ADDRESS", "new process"});
  expect_throws<DeviceError>([&] { there.to_vector<float>(); },
                             {"cuda:1 was lost before", "in bad_op"});
  expect_throws<DeviceError>([&] { return there + 1; }, {"cuda:1 was lost"});
  expect_elements<float>(copy_to(ones({2}), emulated_gpu(0)) + 1, {2}, {2, 2});
}

}  // namespace
}  // namespace tenure
